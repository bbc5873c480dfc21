import type { Flag } from './settings.ts';
import type { Part } from './part/part.ts';

/** A part that exists: what the list of commands says of it, and its file. */
export interface PartEntry {
  readonly summary: string;
  readonly load: () => Promise<Part>;
}

/** The parts that exist beside the server, in the order in which `up` starts them. */
export const parts: Readonly<Record<string, PartEntry>> = {
  controllers: {
    summary: 'run the controllers behind Services',
    load: async () => (await import('./controllers/part.ts')).part,
  },
  dns: {
    summary: 'answer DNS for Services',
    load: async () => (await import('./dns/part.ts')).part,
  },
  proxy: {
    summary: 'make connections to Services arrive',
    load: async () => (await import('./proxy/part.ts')).part,
  },
  loadbalancer: {
    summary: 'give LoadBalancer Services their addresses',
    load: async () => (await import('./loadbalancer/part.ts')).part,
  },
  multicluster: {
    summary: 'join the Services of several clusters',
    load: async () => (await import('./multicluster/part.ts')).part,
  },
  reaper: {
    summary: 'remove endpoints of clusters that are lost',
    load: async () => (await import('./reaper/part.ts')).part,
  },
};

/** What the file of `up --config` can say of each part, under its name. */
export async function partSections(): Promise<ReadonlyMap<string, readonly Flag[]>> {
  const loading = Object.entries(parts).map(async ([name, { load }]) => [name, (await load()).flags] as const);
  return new Map(await Promise.all(loading));
}
