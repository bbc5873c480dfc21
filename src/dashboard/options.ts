// What the dashboard is started with.
import type { Client } from '../client/client.ts';
import type { DnsOptions } from '../dns/inspect.ts';
import type { ControllerOptions, MemberEntry } from '../multicluster/inspect.ts';
import type { ProxyOptions } from '../proxy/inspect.ts';

/** A cluster that the dashboard shows, and how its parts are configured: they are not asked, but computed. */
export interface ClusterSource {
  readonly name: string;
  /** URL of the API server, for people. */
  readonly server: string;
  /** A client with the rights of the dashboard. */
  readonly connect: () => Client;
  readonly dns: DnsOptions;
  readonly proxy: ProxyOptions;
}

/** How the multi-cluster controller reads the clusters. */
export interface ClusterSetOptions extends ControllerOptions {
  readonly members: readonly MemberEntry[];
}

export interface DashboardOptions {
  readonly clusters: readonly ClusterSource[];
  readonly set: ClusterSetOptions;
  readonly listen: {
    readonly host: string;
    /** The first one that is free is used; 0 is any free port. */
    readonly ports: readonly number[];
  };
  /** The flag that changes the port, for errors. */
  readonly portFlag: string;
  /** Whether clusters are watched from the start, instead of from the first visit. */
  readonly isEager: boolean;
}
