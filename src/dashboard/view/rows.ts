// What the server sends to the page: one row per cluster, Service and import. Plain data; it imports nothing, because the
// browser loads it too.

/** How urgent a finding is: broken now, about to break or incomplete, or worth knowing. */
export type Level = 'error' | 'warning' | 'info';

/** A problem or notice about a row. */
export interface Finding {
  readonly level: Level;
  /** A reason as in conditions and Events, such as `Conflict`. */
  readonly reason: string;
  readonly text: string;
}

/** Endpoints by state. Terminating ones are not counted as ready or not ready. */
export interface EndpointCounts {
  readonly ready: number;
  readonly notReady: number;
  readonly terminating: number;
}

export interface ClusterRow {
  readonly kind: 'cluster';
  readonly id: string;
  readonly cluster: string;
  /** `reading`: not completely read yet. `lost`: it does not answer; its rows are the last known ones. */
  readonly state: 'reading' | 'ok' | 'lost';
  readonly server: string;
  readonly version?: string;
  /** How long the last probe took. */
  readonly answerMs?: number;
  readonly findings: readonly Finding[];
}

export interface PortRow {
  readonly name: string;
  /** As in `80/TCP`. */
  readonly port: string;
  readonly nodePort?: number;
  /** The SRV name, such as `_http._tcp`; absent for ports without one. */
  readonly srv?: string;
  /** Why the load balancer does not serve the port. */
  readonly error?: string;
}

export interface ServiceRow {
  readonly kind: 'service';
  readonly id: string;
  readonly cluster: string;
  readonly namespace: string;
  readonly name: string;
  /** `Headless` for a cluster IP of `None`. */
  readonly type: 'ClusterIP' | 'NodePort' | 'LoadBalancer' | 'ExternalName' | 'Headless';
  readonly labels: Readonly<Record<string, string>>;
  readonly addresses: readonly string[];
  /** Addresses and names of its load balancer. */
  readonly external: readonly string[];
  readonly externalName?: string;
  /** Names outside the cluster that its annotations ask for. */
  readonly published: readonly string[];
  readonly ports: readonly PortRow[];
  /** Absent if the viewer may not read endpoints, and for aliases. */
  readonly endpoints?: EndpointCounts;
  /** Present if it is exported. */
  readonly exported?: 'accepted' | 'pending' | 'conflict' | 'invalid';
  /** The import that it was derived from, as `namespace/name`. */
  readonly derivedFrom?: string;
  readonly findings: readonly Finding[];
}

export interface SourceRow extends EndpointCounts {
  readonly cluster: string;
}

export interface ImportRow {
  readonly kind: 'import';
  readonly id: string;
  readonly cluster: string;
  readonly namespace: string;
  readonly name: string;
  readonly isHeadless: boolean;
  readonly addresses: readonly string[];
  /** The name outside the clusters, if it has one. */
  readonly published: readonly string[];
  readonly ports: readonly PortRow[];
  /** The exporting clusters. The counts are 0 if the viewer may not read endpoints. */
  readonly sources: readonly SourceRow[];
  readonly findings: readonly Finding[];
}

export type Row = ClusterRow | ServiceRow | ImportRow;

/** An Event of Kubernetes. */
export interface EventRow {
  readonly id: string;
  readonly cluster: string;
  readonly namespace: string;
  /** As in `Service shop/web`. */
  readonly object: string;
  readonly isWarning: boolean;
  readonly reason: string;
  readonly text: string;
  /** RFC 3339. */
  readonly at: string;
}

/** One message of the stream. */
export interface Delta {
  /** The page removes all rows first. */
  readonly isReset?: true;
  /** The initial rows are complete. */
  readonly isComplete?: true;
  readonly set?: readonly Row[];
  readonly gone?: readonly string[];
  readonly events?: readonly EventRow[];
}
