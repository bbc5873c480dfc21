/** The node that routes are for. */
export interface ThisNode {
  readonly name: string;
  /** Undefined: the node is not known (yet), and so are its labels. */
  readonly labels: Readonly<Record<string, string>> | undefined;
  /** The id of its cluster where clusters are joined; unknown: imported endpoints are never taken for this node's. */
  readonly cluster?: string | undefined;
  /** Its addresses that node ports are served on, canonical text. */
  readonly nodePortAddresses: readonly string[];
}

/** How routes are made, where Kubernetes and its proposals differ. */
export interface RouteOptions {
  /**
   * Ports that a load balancer says it could not open: `status` lets nothing through (LB-7), `ignore` serves them as
   * kube-proxy does.
   */
  readonly lbPortGate: 'status' | 'ignore';
  /** Where listeners relay connections, and can add to them: at every address, or at loopback beside rules of the kernel. */
  readonly relays: 'everywhere' | 'loopback';
}

/** What holds unless told otherwise. */
export const defaultRouteOptions: RouteOptions = { lbPortGate: 'status', relays: 'everywhere' };
