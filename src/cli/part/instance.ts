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
  readonly retriesFirstStart?: boolean;
  /** The connection to the API server; closed with the instance. */
  readonly transport: Transport;
  /** The URL of the server, for messages. */
  readonly server: string;
  readonly log: Logger;
  readonly peers?: StartContext['peers'];
  readonly serving?: StartContext['serving'];
  readonly authorities?: StartContext['authorities'];
}

/** A part that runs in one cluster, with its state and its metrics. */
export interface Instance extends RunningPart {
  readonly name: string;
  /** Its metrics, without those of the process. */
  registries(): readonly Registry[];
}

/** How long the part may drain before the connection is closed. */
const drainMs = 10_000;

/** Starts a part over a transport, restarts it when it fails, and reports its problems. */
export function startInstance(options: InstanceOptions): Instance {
  const { name, start, transport, server, log, peers, serving, authorities, retriesFirstStart = true } = options;
  const own = new Registry();
  const connection = watchedConnection(transport, { server, log, metrics: own });
  const client = new Client(connection.transport, { fieldManager: `fairlead-${name}` });
  let metrics = new Registry();
  const part = supervise({
    log,
    retriesFirstStart,
    start() {
      metrics = new Registry(); // a registry accepts each name once
      return start({
        client,
        log,
        metrics,
        ...(peers && { peers }),
        ...(serving && { serving }),
        ...(authorities && { authorities }),
      });
    },
  });
  const problems = (): readonly string[] => [...connection.problems(), ...part.problems()];
  addPartMetrics(own, name, { problems, restarts: () => part.restarts });
  return {
    name,
    ready: part.ready,
    get listens() {
      return part.listens ?? [];
    },
    get pageUrl() {
      return part.pageUrl;
    },
    problems,
    registries: () => [own, metrics],
    async [Symbol.asyncDispose]() {
      const timeout = setTimeout(() => client[Symbol.dispose](), drainMs);
      await part[Symbol.asyncDispose]();
      clearTimeout(timeout);
      client[Symbol.dispose]();
    },
  };
}

function addPartMetrics(
  registry: Registry,
  part: string,
  read: { readonly problems: () => readonly string[]; readonly restarts: () => number },
): void {
  const gauge = (name: string, help: string, value: () => number): void =>
    collectedGauge(registry, name, help, () => [[{ part }, value()]]);
  gauge('fairlead_part_ready', 'Whether the component has no problems.', () => (read.problems().length === 0 ? 1 : 0));
  gauge('fairlead_part_restarts', 'Restarts of the component after failures.', read.restarts);
}

/** The text of `/metrics` for several registries; metrics of one name are combined. */
export async function printMetrics(registries: readonly Registry[]): Promise<string> {
  const all = await Promise.all(registries.map((registry) => registry.getMetricsAsJSON()));
  return AggregatorRegistry.aggregate(all).metrics();
}
