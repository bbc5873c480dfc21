import type { Logger } from 'pino';
import { AggregatorRegistry, Registry } from 'prom-client';
import { Client } from '../../client/client.ts';
import type { RunningPart } from '../../client/part.ts';
import type { Transport } from '../../client/transport.ts';
import { setTimeout } from '../../machine/timers.ts';
import { collectedGauge } from '../../metrics/collected.ts';
import { watchedConnection } from './connection.ts';
import type { StartContext, StartPart } from './part.ts';
import { supervise } from './supervise.ts';

export interface InstanceOptions {
  /** The name of the part. */
  readonly name: string;
  readonly start: StartPart;
  /** The way to the cluster's server; closed with the instance. */
  readonly transport: Transport;
  /** Where that is, for messages. */
  readonly server: string;
  readonly log: Logger;
  /** Ways to other clusters, for a part that is one for all. */
  readonly peers?: StartContext['peers'];
  readonly serving?: StartContext['serving'];
}

/** A part at work in one cluster, and everything that can be asked about it. */
export interface Instance extends RunningPart {
  readonly name: string;
  /** What it counts; the process's own metrics are not among them. */
  registries(): readonly Registry[];
}

/** How long what is under way may take at the end, before the connection is cut. */
const drainMs = 10_000;

/** Starts a part over a transport: keeps it running, measures it, and says what keeps it from its work. */
export function startInstance({ name, start, transport, server, log, peers, serving }: InstanceOptions): Instance {
  const own = new Registry();
  const connection = watchedConnection(transport, { server, log, metrics: own });
  const client = new Client(connection.transport, { fieldManager: `fairlead-${name}` });
  let metrics = new Registry();
  const part = supervise({
    log,
    start() {
      metrics = new Registry(); // the last run's names must be free again
      return start({ client, log, metrics, ...(peers && { peers }), ...(serving && { serving }) });
    },
  });
  const problems = (): readonly string[] => [...connection.problems(), ...part.problems()];
  describe(own, name, { problems, restarts: () => part.restarts });
  return {
    name,
    ready: part.ready,
    get listens() {
      return part.listens ?? [];
    },
    problems,
    registries: () => [own, metrics],
    async [Symbol.asyncDispose]() {
      const cut = setTimeout(() => client[Symbol.dispose](), drainMs);
      await part[Symbol.asyncDispose]();
      clearTimeout(cut);
      client[Symbol.dispose]();
    },
  };
}

function describe(
  registry: Registry,
  part: string,
  read: { readonly problems: () => readonly string[]; readonly restarts: () => number },
): void {
  const gauge = (name: string, help: string, value: () => number): void =>
    collectedGauge(registry, name, help, () => [[{ part }, value()]]);
  gauge('fairlead_part_ready', 'Whether nothing keeps the part from its work.', () =>
    read.problems().length === 0 ? 1 : 0,
  );
  gauge('fairlead_part_restarts', 'How often the part has failed and was started again.', read.restarts);
}

/** The text of `/metrics` for several registries: what has the same name in two of them stands together. */
export async function printMetrics(registries: readonly Registry[]): Promise<string> {
  const all = await Promise.all(registries.map((registry) => registry.getMetricsAsJSON()));
  return AggregatorRegistry.aggregate(all).metrics();
}
