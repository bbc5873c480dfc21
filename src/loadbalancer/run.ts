import { messageOf } from '../api/thrown.ts';
import type { Clock, Random } from '../client/clock.ts';
import { systemClock } from '../client/clock.ts';
import { EventRecorder } from '../client/events.ts';
import type { PartContext, RunningPart } from '../client/part.ts';
import { queueMetrics } from '../client/queue-metrics.ts';
import { isRefusal } from '../client/transport.ts';
import { ServiceController } from './controller/controller.ts';
import { serviceControllerMetrics } from './controller/metrics.ts';
import type { LoadBalancerProvider } from './controller/provider.ts';
import type { LeaderOptions } from './election.ts';
import { elected } from './election.ts';
import { HealthChecks } from './health/checks.ts';

/** How the service controller runs, whatever provides load balancers. */
export interface RunOptions {
  /** How many Services are worked on at once; default 4. */
  readonly workers?: number;
  /** Whether a refused Service that has no address gets an entry for its ports all the same; default yes. */
  readonly isRefusalAnEntry?: boolean;
  /** How one of several processes is chosen; left out: there is one. */
  readonly leaderElection?: LeaderOptions | undefined;
  readonly clock?: Clock;
  readonly random?: Random;
}

/** Runs the service controller over any provider. */
export function runServiceController(
  { client, log, metrics: registry }: PartContext,
  provider: LoadBalancerProvider,
  options: RunOptions,
): RunningPart {
  const { clock = systemClock, random, workers, leaderElection, isRefusalAnEntry } = options;
  const metrics = serviceControllerMetrics(registry);
  const recorder = new EventRecorder({
    client,
    component: 'service-controller',
    clock,
    onError: (error) => log.debug({ err: error }, 'could not write an Event'),
  });
  const complaints = new WatchComplaints(log);
  const controller = new ServiceController({
    client,
    provider,
    recorder,
    metrics,
    log,
    observer: queueMetrics(registry)('service'),
    clock,
    isRefusalAnEntry,
    ...(workers === undefined ? {} : { workers }),
    ...(random === undefined ? {} : { random }),
    onWatchError: (kind, error) => complaints.add(kind, error),
  });
  const stop = new AbortController();
  const { signal } = stop;
  const failure = Promise.withResolvers<never>();
  const leader = Promise.withResolvers<void>();
  const checks = { client, services: controller.services, recorder, log, clock, classes: provider.classes };
  const act = (term: AbortSignal): Promise<void> => {
    leader.resolve();
    const checking = provider.checksHealth === true ? [new HealthChecks(checks).run(term)] : [];
    return wholeTerm([controller.act(term), ...checking], term);
  };
  const following = controller.follow(signal);
  const leading = (
    leaderElection === undefined
      ? act(signal)
      : elected(act, { ...leaderElection, client, log, clock, metrics, onLeader: () => leader.resolve() }, signal)
  ).catch((error: unknown) => failure.reject(error));
  const ready = Promise.all([controller.synced(signal), leader.promise]).then(() => complaints.clear());
  // Who does not wait for them is told by `problems`.
  ready.catch(() => undefined);
  failure.promise.catch(() => undefined);
  return {
    ready,
    failed: failure.promise,
    problems: () => controller.unsynced.map((kind) => `the ${kind} are not all seen yet${complaints.about(kind)}`),
    async [Symbol.asyncDispose]() {
      stop.abort();
      await Promise.all([following, leading]);
      await recorder.flush();
    },
  };
}

/** A term is over when nothing of it runs. */
async function wholeTerm(acting: readonly Promise<void>[], term: AbortSignal): Promise<void> {
  await Promise.all(acting).catch(async (error: unknown) => {
    if (!term.aborted) throw error;
    await Promise.allSettled(acting);
  });
}

/** The last that went wrong with each watch. */
class WatchComplaints {
  readonly #log: PartContext['log'];
  readonly #last = new Map<string, string>();

  constructor(log: PartContext['log']) {
    this.#log = log;
  }

  add(kind: string, error: unknown): void {
    // The server forgot where the watch was: it begins anew by itself.
    if (isRefusal(error, 410)) return;
    this.#log.debug({ err: error, kind }, 'a watch failed, will try again');
    this.#last.set(kind, messageOf(error));
  }

  /** As the end of a sentence; '' where there is none. */
  about(kind: string): string {
    const last = this.#last.get(kind);
    return last === undefined ? '' : `: ${last}`;
  }

  clear(): void {
    this.#last.clear();
  }
}
