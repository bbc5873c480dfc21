/** The node of the proxy. */
export interface ThisNode {
  readonly name: string;
  /** Undefined: the Node object is not known. */
  readonly labels: Readonly<Record<string, string>> | undefined;
  /** The id of its cluster in the cluster set; undefined: imported endpoints never count as local. */
  readonly cluster?: string | undefined;
  /** The addresses of node ports, canonical text. */
  readonly nodePortAddresses: readonly string[];
}

/** Options of routes where Kubernetes and its proposals differ. */
export interface RouteOptions {
  /**
   * Ports that a load balancer reports as not open: `status` drops their traffic (LB-7), `ignore` serves them as
   * kube-proxy does.
   */
  readonly lbPortGate: 'status' | 'ignore';
  /** Where listeners relay connections and can add a header: at all addresses, or only at loopback. */
  readonly relays: 'everywhere' | 'loopback';
}

/** The defaults. */
export const defaultRouteOptions: RouteOptions = { lbPortGate: 'status', relays: 'everywhere' };
