// What the dashboard is started with.
import type { Client } from '../client/client.ts';

/** A cluster that the dashboard shows, and the ways to it. */
export interface ShownClusterSource {
  readonly name: string;
  /** URL of the API server, for people. */
  readonly server: string;
  /** A client with the rights of the dashboard. */
  readonly connect: () => Client;
}

export interface DashboardOptions {
  readonly clusters: readonly ShownClusterSource[];
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
