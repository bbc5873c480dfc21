// What the dashboard is started with.
import type { Client } from '../client/client.ts';
import type { DnsOptions } from '../dns/inspect.ts';
import type { ControllerOptions, MemberEntry } from '../multicluster/inspect.ts';
import type { ProxyOptions } from '../proxy/inspect.ts';

/** A cluster that the dashboard shows, and how its parts are configured: their answers are computed, not requested. */
export interface ClusterSource {
  readonly name: string;
  /** URL of the API server, for people. */
  readonly server: string;
  /** A client with the rights of the dashboard. */
  readonly connect: () => Client;
  /** A client with a bearer token of a person, and no other credentials. */
  readonly connectAs: (token: string) => Client;
  readonly dns: DnsOptions;
  readonly proxy: ProxyOptions;
}

/** How the multi-cluster controller reads the clusters. */
export interface ClusterSetOptions extends ControllerOptions {
  readonly members: readonly MemberEntry[];
}

/** Where the page is served. On a loopback address a secret signs people in, elsewhere their bearer tokens do. */
export interface ListenOptions {
  readonly host: string;
  /** The first one that is free is used; 0 is any free port. */
  readonly ports: readonly number[];
  /** Further host names of the page, with any port. */
  readonly names?: readonly string[];
  /** Reads the certificate and its key, PEM. Without them the page is served over HTTP. */
  readonly certificate?: () => Promise<{ readonly cert: string; readonly key: string }>;
}

export interface DashboardOptions {
  readonly clusters: readonly ClusterSource[];
  readonly set: ClusterSetOptions;
  readonly listen: ListenOptions;
  /** The flag that changes the port, for errors. */
  readonly portFlag: string;
  /** Whether clusters are watched from the start, instead of from the first visit. */
  readonly isEager: boolean;
}
