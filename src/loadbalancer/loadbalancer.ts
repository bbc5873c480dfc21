import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';

import { messageOf } from '../api/thrown.ts';
import type { Gates } from '../api/gates.ts';
import { gatesWith } from '../api/gates.ts';
import type { Clock, Random } from '../client/clock.ts';
import { systemClock } from '../client/clock.ts';
import { EventRecorder } from '../client/events.ts';
import { LeaderElection } from '../client/leader.ts';
import type { PartContext, RunningPart } from '../client/part.ts';
import { queueMetrics } from '../client/queue-metrics.ts';
import { isRefusal } from '../client/transport.ts';
import { Announcer } from './announce/announcer.ts';
import { AnnouncingProvider } from './announce/provider.ts';
import type { AwsOptions } from './aws/provider.ts';
import { AwsProvider } from './aws/provider.ts';
import { ServiceController } from './controller/controller.ts';
import type { ServiceControllerMetrics } from './controller/metrics.ts';
import { serviceControllerMetrics } from './controller/metrics.ts';
import type { LoadBalancerProvider } from './controller/provider.ts';
import { HealthChecks } from './health/checks.ts';
import type { Pool } from './local/pools.ts';
import { LocalProvider } from './local/provider.ts';
import type { PriceBook } from './price/book.ts';
import type { Era } from './providers/capability.ts';
import { cloudNamed } from './providers/clouds.ts';
import type { Misbehaviour } from './simulated/calls.ts';
import { SimulatedProvider } from './simulated/provider.ts';
import { storeIn } from './simulated/store.ts';

/** Which cloud is simulated, and how. */
export interface SimulationOptions extends Misbehaviour {
  readonly cloud: string;
  readonly era: Era;
  readonly kind?: string | undefined;
}

export interface LoadBalancerOptions {
  /** Addresses to give. */
  readonly pools: readonly Pool[];
  /** Left out: load balancers of this machine or network, without a cloud. */
  readonly simulation?: SimulationOptions | undefined;
  /** Network load balancers of AWS, instead of addresses of pools. */
  readonly aws?: Omit<AwsOptions, 'isMixingAllowed'> | undefined;
  /** The network interface of this machine that answers for the addresses; left out: none. */
  readonly interfaceName?: string | undefined;
  /** What load balancers of a cloud cost, for Events; default: list prices. */
  readonly prices?: PriceBook | undefined;
  readonly gates?: Gates;
  /** How many Services are worked on at once; default 4. */
  readonly workers?: number;
  /** Whether a refused Service that has no address gets an entry for its ports all the same; default yes. */
  readonly isRefusalAnEntry?: boolean;
  /** How one of several processes is chosen; left out: there is one. */
  readonly leaderElection?: LeaderOptions | undefined;
  readonly clock?: Clock;
  readonly random?: Random;
}

/** Times as in client-go. */
export interface LeaderOptions {
  readonly namespace: string;
  readonly name: string;
  readonly leaseDurationMs: number;
  readonly renewDeadlineMs: number;
  readonly retryPeriodMs: number;
}

/** Keeps the load balancers of a cluster's Services until it is disposed of. */
export function startLoadBalancer(context: PartContext, options: LoadBalancerOptions): RunningPart {
  return runServiceController(context, announcing(context, providerFor(context, options), options), options);
}

/** An address outlives a process that died as long as its lease does, and then another may have it. */
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

/** What gives load balancers: a pool, a simulated cloud, or AWS. */
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

/** Runs the service controller over any provider. */
export function runServiceController(
  { client, log, metrics: registry }: PartContext,
  provider: LoadBalancerProvider,
  options: Omit<LoadBalancerOptions, 'pools' | 'simulation' | 'aws' | 'interfaceName'>,
): RunningPart {
  const { clock = systemClock, random, workers, leaderElection, isRefusalAnEntry } = options;
  const metrics = serviceControllerMetrics(registry);
  const recorder = new EventRecorder({
    client,
    component: 'service-controller',
    clock,
    onError: (error) => log.debug({ err: error }, 'could not write an Event'),
  });
  const complaints = new Map<string, string>();
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
    onWatchError(kind, error) {
      // The server forgot where the watch was: it begins anew by itself.
      if (isRefusal(error, 410)) return;
      log.debug({ err: error, kind }, 'a watch failed, will try again');
      complaints.set(kind, messageOf(error));
    },
  });
  const stop = new AbortController();
  const { signal } = stop;
  const failure = Promise.withResolvers<never>();
  const leader = Promise.withResolvers<void>();
  const checks = { client, services: controller.services, recorder, log, clock, classes: provider.classes };
  const act = async (term: AbortSignal): Promise<void> => {
    leader.resolve();
    const acting = [
      controller.act(term),
      ...(provider.checksHealth === true ? [new HealthChecks(checks).run(term)] : []),
    ];
    await Promise.all(acting).catch(async (error: unknown) => {
      if (!term.aborted) throw error;
      await Promise.allSettled(acting); // A term is over when nothing of it runs.
    });
  };
  const lead = (): Promise<void> =>
    leaderElection === undefined
      ? act(signal)
      : elected(act, { ...leaderElection, client, log, clock, metrics, onLeader: () => leader.resolve() }, signal);
  const following = controller.follow(signal);
  const leading = lead().catch((error: unknown) => failure.reject(error));
  const ready = Promise.all([controller.synced(signal), leader.promise]).then(() => complaints.clear());
  // Who does not wait for them is told by `problems`.
  ready.catch(() => undefined);
  failure.promise.catch(() => undefined);
  return {
    ready,
    failed: failure.promise,
    problems: () =>
      controller.unsynced.map(
        (kind) => `the ${kind} are not all seen yet${complaints.has(kind) ? `: ${complaints.get(kind)}` : ''}`,
      ),
    async [Symbol.asyncDispose]() {
      stop.abort();
      await Promise.all([following, leading]);
      await recorder.flush();
    },
  };
}

interface ElectedOptions extends LeaderOptions, Pick<PartContext, 'client' | 'log'> {
  readonly clock: Clock;
  readonly metrics: ServiceControllerMetrics;
  /** Somebody leads. */
  readonly onLeader: () => void;
}

/** Acts in the terms in which this process holds the lease, until the signal fires. */
async function elected(
  act: (term: AbortSignal) => Promise<void>,
  options: ElectedOptions,
  signal: AbortSignal,
): Promise<void> {
  const { namespace, name, log, metrics } = options;
  const leads = (isUs: 0 | 1): void => metrics.leads.set({ name }, isUs);
  leads(0);
  const election = new LeaderElection({
    ...options,
    lease: { namespace, name },
    identity: `${hostname()}_${randomUUID()}`,
    onError: (error) => log.debug({ err: error }, 'the lease could not be read or written, will try again'),
  });
  await election.run(async (term) => {
    leads(1);
    await act(term).finally(() => leads(0));
  }, signal);
}
