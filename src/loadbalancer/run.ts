import type { Clock, Random } from '../client/clock.ts';
import { systemClock } from '../client/clock.ts';
import { runElectedPart } from '../client/part.ts';
import { EventRecorder } from '../client/events.ts';
import { Informers } from '../client/informers.ts';
import type { LeaderElectionOptions } from '../client/leadership.ts';
import type { PartContext, RunningPart } from '../client/part.ts';
import { queueMetrics } from '../client/queue-metrics.ts';
import { openCaches } from './controller/caches.ts';
import { ServiceController } from './controller/controller.ts';
import { serviceControllerMetrics } from './controller/metrics.ts';
import type { LoadBalancerProvider } from './controller/provider.ts';
import { HealthChecks } from './health/checks.ts';

/** How the service controller runs, whatever provides load balancers. */
export interface RunOptions {
  /** How many Services are worked on at once; default 4. */
  readonly workers?: number;
  /** Whether a refused Service that has no address gets an entry for its ports all the same; default yes. */
  readonly isRefusalAnEntry?: boolean;
  /** How one of several processes is elected; left out: there is one. */
  readonly leaderElection?: LeaderElectionOptions | undefined;
  readonly clock?: Clock;
  readonly random?: Random;
}

/** Runs the service controller over any provider. */
export function runServiceController(
  context: PartContext,
  provider: LoadBalancerProvider,
  options: RunOptions,
): RunningPart {
  const { client, log, metrics: registry } = context;
  const { clock = systemClock, random, workers, leaderElection, isRefusalAnEntry } = options;
  const recorder = new EventRecorder({
    client,
    component: 'service-controller',
    clock,
    onError: (error) => log.debug({ err: error }, 'could not write an Event'),
  });
  const informers = new Informers({ client, log });
  const caches = openCaches(informers);
  const { services, nodes, slices } = caches;
  informers.start(services, nodes, ...(provider.sendsToEndpoints === undefined ? [] : [slices]));
  const controller = new ServiceController({
    client,
    caches,
    provider,
    recorder,
    metrics: serviceControllerMetrics(registry),
    log,
    observer: queueMetrics(registry)('service'),
    clock,
    isRefusalAnEntry,
    ...(workers === undefined ? {} : { workers }),
    ...(random === undefined ? {} : { random }),
  });
  const checks = { client, informers, services, slices, recorder, log, clock, classes: provider.classes };
  return runElectedPart({
    context,
    informers,
    election: leaderElection,
    clock,
    recorders: () => [recorder],
    lead: (term) => {
      const checking = provider.checksHealth === true ? [new HealthChecks(checks).run(term)] : [];
      return wholeTerm([controller.act(term), ...checking], term);
    },
  });
}

/** A term is over when nothing of it runs. */
async function wholeTerm(acting: readonly Promise<void>[], term: AbortSignal): Promise<void> {
  await Promise.all(acting).catch(async (error: unknown) => {
    if (!term.aborted) throw error;
    await Promise.allSettled(acting);
  });
}
