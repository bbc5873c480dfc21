import type { Logger } from 'pino';
import type { Gates } from '../../api/gates.ts';
import { Client } from '../../client/client.ts';
import { overHttps } from '../../client/https.ts';
import { inProcess } from '../../client/in-process.ts';
import { retrying } from '../../client/retry.ts';
import type { Transport } from '../../client/transport.ts';
import { partUser } from '../../server/access/identity/users.ts';
import type { Instance } from '../part/instance.ts';
import { printMetrics, startInstance } from '../part/instance.ts';
import type { Part, Peer, StartPart, UpCluster } from '../part/part.ts';
import type { Settings } from '../options/flags.ts';
import type { PartEntry, PartName } from '../parts.ts';
import { parts as registered } from '../parts.ts';
import type { ClusterOptions } from './options.ts';
import type { RunningServer } from './servers.ts';
import type { PartState } from './state.ts';

/** A part whose code is imported, for one cluster. */
export interface LoadedPart {
  readonly name: PartName;
  readonly cluster: string;
  readonly start: StartPart;
  /** The user that it is; undefined: the one of its role. */
  readonly user?: ReturnType<NonNullable<Part['userInUp']>>;
  /** The flags that actions of its command read. */
  readonly flags?: PartState['flags'];
}

interface LoadOptions {
  readonly gates: Gates;
  readonly settings: ReadonlyMap<string, Settings>;
  readonly dataDir: string;
}

/** Imports the code of the parts for every cluster, while the servers start. */
export async function loadParts(
  names: readonly PartName[],
  clusters: readonly ClusterOptions[],
  { gates, settings, dataDir }: LoadOptions,
): Promise<readonly LoadedPart[]> {
  const loading = names.map(async (name) => {
    const entries: Readonly<Partial<Record<PartName, PartEntry>>> = registered;
    const part = await entries[name]?.load();
    if (part === undefined) throw new Error(`bug: the component "${name}" has no file`);
    return Promise.all(
      (part.isOneForAll === true ? clusters.slice(0, 1) : clusters).map(async (each): Promise<LoadedPart> => {
        const sectionOf = (part: string): Settings => settings.get(part) ?? new Map();
        const cluster: UpCluster = { ...each, all: clusters, gates, settings: sectionOf(name), sectionOf, dataDir };
        const flags = part.flagsInUp && Object.fromEntries(part.flagsInUp(cluster));
        const user = part.userInUp?.(cluster);
        const start = await part.inUp(cluster)();
        return { name, cluster: each.name, start, ...(user && { user }), ...(flags && { flags }) };
      }),
    );
  });
  return (await Promise.all(loading)).flat();
}

/** The parts that run in the process of `up`, by cluster. */
export class ClusterParts {
  /** Cluster → its parts. */
  readonly #instances = new Map<string, readonly Instance[]>();
  /** Every part of every cluster. */
  #loaded: readonly LoadedPart[] = [];
  readonly #log: Logger;
  /** Cluster → its server. */
  readonly #servers = new Map<string, RunningServer>();

  constructor(log: Logger) {
    this.#log = log;
  }

  /** Sets the clusters that parts can connect to, before they are started. */
  setServers(servers: readonly RunningServer[]): void {
    for (const server of servers) this.#servers.set(server.cluster.name, server);
  }

  /** Starts the parts of a cluster as users of its server; the stack stops them. */
  start(server: RunningServer, parts: readonly LoadedPart[], stack: AsyncDisposableStack): void {
    const { name: cluster } = server.cluster;
    const instances = parts
      .filter((part) => part.cluster === cluster)
      .map(({ name, start, user }) => {
        return stack.use(
          startInstance({
            name,
            start,
            transport: connect(server, name, user),
            peers: this.#peersFor(name),
            serving: () => server.tls(),
            authorities: () => server.tls().ca,
            server: server.url,
            log: this.#log.child({ cluster, part: name }),
          }),
        );
      });
    this.#loaded = parts;
    this.#instances.set(cluster, instances);
  }

  /** Resolves when every part is ready or has failed once and is restarted. */
  async ready(): Promise<void> {
    await Promise.allSettled([...this.#instances.values()].flat().map(({ ready }) => ready));
  }

  /** The parts of a cluster with their problems. */
  states(cluster: string): readonly PartState[] {
    return this.#of(cluster).map((instance) => {
      const { name } = instance;
      const { flags } = this.#loaded.find((part) => part.cluster === cluster && part.name === name) ?? {};
      return { name, problems: instance.problems(), ...(flags && { flags }) };
    });
  }

  /** The address of the DNS server of a cluster, if it listens. */
  dns(cluster: string): { readonly address: string; readonly port: number } | undefined {
    return this.#of(cluster).find(({ name }) => name === 'dns')?.listens?.[0];
  }

  /** The metrics of a cluster's parts as text. */
  async metrics(cluster: string): Promise<string> {
    const registries = this.#of(cluster).flatMap((instance) => instance.registries());
    return registries.length === 0 ? '' : `\n${await printMetrics(registries)}`;
  }

  /** The address of the dashboard, if it runs. */
  dashboard(): string | undefined {
    return [...this.#instances.values()].flat().find(({ pageUrl }) => pageUrl !== undefined)?.pageUrl;
  }

  #peersFor(part: string): ReadonlyMap<string, Peer> {
    const fieldManager = `fairlead-${part}`;
    const peerOf = (server: RunningServer): Peer => ({
      server: server.url,
      connect: () => new Client(connect(server, part), { fieldManager }),
      connectAs: (token) =>
        new Client(overHttps({ server: server.url, ca: server.tls().ca, credentials: async () => ({ token }) })),
    });
    return new Map(Array.from(this.#servers, ([name, server]) => [name, peerOf(server)]));
  }

  #of(cluster: string): readonly Instance[] {
    return this.#instances.get(cluster) ?? [];
  }
}

/** A transport to a server of this process, as the user of the part. */
function connect(server: RunningServer, part: string, { name, groups }: LoadedPart['user'] = ofRole(part)): Transport {
  const user = { name, uid: '', groups: [...groups, 'system:authenticated'] };
  return retrying(inProcess((request) => server.handle(request, user)));
}

const ofRole = (part: string): NonNullable<LoadedPart['user']> => ({ name: partUser(part), groups: [] });
