import type { Gates } from '../api/gates.ts';
import { gatesWith } from '../api/gates.ts';
import { Announcer } from './providers/announce/announcer.ts';
import { AnnouncingProvider } from './providers/announce/provider.ts';
import type { AwsOptions } from './providers/aws/provider.ts';
import { AwsProvider } from './providers/aws/provider.ts';
import type { Pool } from './providers/local/pools.ts';
import { LocalProvider } from './providers/local/provider.ts';
import type { PriceBook } from './clouds/price/book.ts';
import type { Era } from './clouds/product.ts';
import { cloudNamed } from './clouds/clouds.ts';
import type { FaultInjection } from './providers/simulated/calls.ts';
import { SimulatedProvider } from './providers/simulated/provider.ts';
import { storeIn } from './providers/simulated/account.ts';
import type { Clock, Random } from '../client/clock.ts';
import { systemClock } from '../client/clock.ts';
import { runElectedPart } from '../client/part.ts';
import { EventRecorder } from '../client/events.ts';
import { Informers } from '../client/informers.ts';
import type { LeaderElectionOptions } from '../client/leadership.ts';
import type { PartContext, RunningPart } from '../client/part.ts';
import { queueMetrics } from '../client/queue-metrics.ts';
import { openCaches } from './controller/caches.ts';
import { openGatewayCaches } from './gateway/caches.ts';
import { GatewayController } from './gateway/controller.ts';
import { ServiceController } from './controller/controller.ts';
import { serviceControllerMetrics } from './controller/metrics.ts';
import type { LoadBalancerProvider } from './controller/provider.ts';
import { HealthChecks } from './health/checks.ts';

/** The simulated cloud and its injected faults. */
export interface SimulationOptions extends FaultInjection {
  readonly cloud: string;
  readonly era: Era;
  readonly product?: string | undefined;
}

export interface LoadBalancerOptions extends RunOptions {
  /** Pools of addresses. */
  readonly pools: readonly Pool[];
  /** undefined: addresses of pools without a cloud. */
  readonly simulation?: SimulationOptions | undefined;
  /** Network load balancers of AWS instead of addresses of pools. */
  readonly aws?: Omit<AwsOptions, 'isMixingAllowed'> | undefined;
  /** The network interface of this machine that is assigned the addresses; undefined: none. */
  readonly interfaceName?: string | undefined;
  /** Prices for Events; default: list prices. */
  readonly prices?: PriceBook | undefined;
  readonly gates?: Gates;
}

/** Reconciles the load balancers of Services until it is disposed of. */
export function startLoadBalancer(context: PartContext, options: LoadBalancerOptions): RunningPart {
  return runServiceController(context, announcing(context, providerFor(context, options), options), options);
}

/** The lifetime of an address is the lease duration, so that a new leader can use it after this process dies. */
function announcing(
  { log }: PartContext,
  provider: LoadBalancerProvider,
  options: LoadBalancerOptions,
): LoadBalancerProvider {
  const { interfaceName, leaderElection, clock = systemClock } = options;
  if (interfaceName === undefined) return provider;
  const lifetimeMs = leaderElection?.leaseDurationMs ?? 15_000;
  return new AnnouncingProvider(provider, new Announcer({ interfaceName, lifetimeMs, clock, log }));
}

/** The selected provider: pools, a simulated cloud, or AWS. */
export function providerFor(
  { client }: Pick<PartContext, 'client'>,
  options: LoadBalancerOptions,
): LoadBalancerProvider {
  const { pools, simulation, aws, prices, gates = gatesWith(), clock, random } = options;
  const isMixingAllowed = gates.enabled('MixedProtocolLBService');
  if (aws !== undefined) return new AwsProvider({ ...aws, isMixingAllowed, prices });
  if (simulation === undefined) return new LocalProvider({ pools, isMixingAllowed });
  const cloud = cloudNamed(simulation.cloud);
  if (cloud === undefined) throw new Error(`there is no cloud "${simulation.cloud}"`);
  const shared = { pools, isMixingAllowed, prices, clock, random };
  return new SimulatedProvider({ ...simulation, ...shared, cloud, store: storeIn(client) });
}

/** Options of the service controller. */
export interface RunOptions {
  /** Concurrent syncs; default 4. */
  readonly workers?: number;
  /** Whether a refused Service without an address gets an ingress entry for its port status; default yes. */
  readonly isRefusalAnEntry?: boolean;
  /** undefined: no leader election. */
  readonly leaderElection?: LeaderElectionOptions | undefined;
  readonly clock?: Clock;
  readonly random?: Random;
}

/** Runs the service controller with a provider. */
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
    log,
  });
  const informers = new Informers({ client, log });
  const caches = openCaches(informers);
  const { services, nodes, slices } = caches;
  const gatewayCaches = openGatewayCaches(informers, slices);
  const observer = queueMetrics(registry);
  informers.start(
    services,
    nodes,
    gatewayCaches.classes,
    gatewayCaches.gateways,
    ...(provider.sendsToEndpoints === undefined ? [] : [slices]),
  );
  const controller = new ServiceController({
    client,
    caches,
    provider,
    recorder,
    metrics: serviceControllerMetrics(registry),
    log,
    observer: observer('service'),
    clock,
    isRefusalAnEntry,
    ...(workers === undefined ? {} : { workers }),
    ...(random === undefined ? {} : { random }),
  });
  const gateways = new GatewayController({
    client,
    informers,
    caches: gatewayCaches,
    services,
    clock,
    log,
    observer: observer('gateway'),
  });
  const checks = { client, informers, services, slices, recorder, log, clock, classes: provider.classes };
  return runElectedPart({
    context,
    informers,
    election: leaderElection,
    clock,
    recorders: () => [recorder],
    lead: (term) => {
      const healthChecks = provider.checksHealth === true ? [new HealthChecks(checks).run(term)] : [];
      return untilAllEnd([controller.run(term), gateways.run(term), ...healthChecks], term);
    },
  });
}

/** Waits for all tasks after the term has ended, even if one of them rejects. */
async function untilAllEnd(tasks: readonly Promise<void>[], term: AbortSignal): Promise<void> {
  await Promise.all(tasks).catch(async (error: unknown) => {
    if (!term.aborted) throw error;
    await Promise.allSettled(tasks);
  });
}
