import type { Gates } from '../api/gates.ts';
import { gatesWith } from '../api/gates.ts';
import { systemClock } from '../client/clock.ts';
import type { PartContext, RunningPart } from '../client/part.ts';
import { Announcer } from './providers/announce/announcer.ts';
import { AnnouncingProvider } from './providers/announce/provider.ts';
import type { AwsOptions } from './providers/aws/provider.ts';
import { AwsProvider } from './providers/aws/provider.ts';
import type { LoadBalancerProvider } from './controller/provider.ts';
import type { Pool } from './providers/local/pools.ts';
import { LocalProvider } from './providers/local/provider.ts';
import type { PriceBook } from './clouds/price/book.ts';
import type { Era } from './clouds/product.ts';
import { cloudNamed } from './clouds/clouds.ts';
import type { RunOptions } from './run.ts';
import { runServiceController } from './run.ts';
import type { Misbehaviour } from './providers/simulated/calls.ts';
import { SimulatedProvider } from './providers/simulated/provider.ts';
import { storeIn } from './providers/simulated/store.ts';

/** Which cloud is simulated, and how. */
export interface SimulationOptions extends Misbehaviour {
  readonly cloud: string;
  readonly era: Era;
  readonly product?: string | undefined;
}

export interface LoadBalancerOptions extends RunOptions {
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
