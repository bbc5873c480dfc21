import type { Flag } from './options/flags.ts';
import type { Part } from './part/part.ts';

/** A row of the list of parts. */
export interface PartEntry {
  readonly summary: string;
  /** `up` runs it only if the configuration file has its section, or `--parts` names it. */
  readonly isOnlyConfigured?: true;
  /** Imports the part's options; the part itself is imported when it starts. */
  readonly load: () => Promise<Part>;
}

/** The parts beside the server, in the order in which `up` starts them. Each is a command too. */
export const parts = {
  controllers: {
    summary: 'run the controllers of EndpointSlices, Endpoints, nodes and garbage collection',
    load: async () => (await import('./controllers/part.ts')).part,
  },
  dns: {
    summary: 'run the DNS server',
    load: async () => (await import('./dns/part.ts')).part,
  },
  proxy: {
    summary: 'route connections to Services on this node',
    load: async () => (await import('./proxy/part.ts')).part,
  },
  loadbalancer: {
    summary: 'allocate addresses and cloud load balancers for Services',
    load: async () => (await import('./loadbalancer/part.ts')).part,
  },
  multicluster: {
    summary: 'share the Services of several clusters',
    load: async () => (await import('./multicluster/part.ts')).part,
  },
  reaper: {
    summary: 'remove the endpoints of lost clusters',
    load: async () => (await import('./reaper/part.ts')).part,
  },
  gateway: {
    summary: 'connect Services with other clusters whose networks cannot be routed',
    isOnlyConfigured: true,
    load: async () => (await import('./gateway/part.ts')).part,
  },
  publisher: {
    summary: 'publish the names of Services in DNS zones outside the cluster',
    isOnlyConfigured: true,
    load: async () => (await import('./publisher/part.ts')).part,
  },
  agent: {
    summary: 'make this machine a Node, and run Pods as processes',
    load: async () => (await import('./agent/part.ts')).part,
  },
  dashboard: {
    summary: 'serve the map: a live page of clusters and Services',
    load: async () => (await import('./dashboard/part.ts')).part,
  },
} as const satisfies Readonly<Record<string, PartEntry>>;

/** A part of a cluster; the server is always one. */
export type PartName = 'server' | keyof typeof parts;

/** All parts in the order in which they start. */
export const partNames: readonly PartName[] = ['server', ...(Object.keys(parts) as (keyof typeof parts)[])]; // keys of a literal

/** The sections of a file for `up --config`: part → its flags. */
export async function partSections(): Promise<ReadonlyMap<string, readonly Flag[]>> {
  const loading = Object.entries(parts).map(async ([name, { load }]) => [name, (await load()).flags] as const);
  return new Map(await Promise.all(loading));
}
