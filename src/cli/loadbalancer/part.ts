import type { LoadBalancerOptions, SimulationOptions } from '../../loadbalancer/loadbalancer.ts';
import type { Pool } from '../../loadbalancer/providers/local/pools.ts';
import type { PriceBook } from '../../loadbalancer/clouds/price/book.ts';
import { parsePool, poolErrors } from '../../loadbalancer/providers/local/pools.ts';
import { eras } from '../../loadbalancer/clouds/product.ts';
import { cloudNamed, clouds } from '../../loadbalancer/clouds/clouds.ts';
import { productsOf } from '../../loadbalancer/clouds/plan.ts';
import { UsageError } from '../errors.ts';
import { flagError, oneOf, readFlag } from '../options/flags.ts';
import type { AwsSettings } from './aws.ts';
import { awsFlags, connectAws, readAws } from './aws.ts';
import { parseFeatureGates } from '../options/feature-gates.ts';
import { readPrices } from './prices.ts';
import { parseBoolean } from '../part/boolean.ts';
import { parseGoDuration } from '../part/duration.ts';
import { leaderFlags, readElection } from '../part/leader-flags.ts';
import type { LoadPart, Part, UpCluster } from '../part/part.ts';
import type { Flag, Settings } from '../settings.ts';

const lease = 'fairlead-loadbalancer';

const flags: readonly Flag[] = [
  {
    name: 'pool',
    value: 'NAME=RANGE,...',
    description: 'addresses for load balancers: FIRST-LAST, CIDRs, single ones',
    repeatable: true,
  },
  {
    name: 'manual-pool',
    value: 'NAME=RANGE,...',
    description: 'addresses for Services that ask for the pool or an address of it',
    repeatable: true,
  },
  {
    name: 'interface',
    value: 'NAME',
    description:
      'have this network interface answer for the addresses, by ARP and neighbour discovery (needs CAP_NET_ADMIN)',
  },
  {
    name: 'simulate',
    value: 'CLOUD[/KIND]',
    description: 'behave as a cloud, and keep what it would have as CloudLoadBalancers; see `fairlead lb providers`',
  },
  { name: 'simulate-era', value: 'ERA', description: 'that cloud as of July 2020 (seed), or today', default: 'today' },
  { name: 'simulate-latency', value: 'DURATION', description: 'how long each call to that cloud takes', default: '0s' },
  {
    name: 'simulate-failures',
    value: 'PART',
    description: 'which part of the calls to that cloud fails, 0 to 1',
    default: '0',
  },
  ...awsFlags,
  {
    name: 'prices',
    value: 'FILE',
    description: 'what load balancers of the cloud cost, for Events; see examples/loadbalancer/prices.yaml',
  },
  { name: 'concurrent-service-syncs', value: 'N', description: 'Services that are worked on at once', default: '4' },
  {
    name: 'refused-entry',
    value: 'BOOL',
    bare: 'true',
    description: 'tell the ports of a refused Service in an entry of its status, without an address',
    default: 'true',
  },
  ...leaderFlags(lease),
  { name: 'feature-gates', value: 'A=true,...', description: 'see `fairlead gates`', repeatable: true },
];

/** `fairlead loadbalancer`: the load balancers of Services. */
export const part: Part = {
  name: 'loadbalancer',
  description:
    'Give Services of type LoadBalancer an address of a pool, or a load balancer of AWS; or rehearse what a cloud would do.',
  example: `  fairlead loadbalancer --kubeconfig loadbalancer.kubeconfig --pool public=192.0.2.10-192.0.2.50
  fairlead loadbalancer --pool lab=192.0.2.0/24 --simulate aws/nlb --simulate-failures 0.2
  fairlead loadbalancer --provider aws --cluster-name east --aws-subnets subnet-0a1b,subnet-0c2d`,
  health: 10_360,
  flags,
  actions: {
    orphans: {
      usage: '[flags]',
      summary: 'name the load balancers whose Service is gone; changes nothing',
      run: async (call) => {
        const { showOrphans } = await import('./orphans.ts');
        return showOrphans(call, readOptions(call.settings), readAws(call.settings));
      },
    },
  },
  alone(settings) {
    const [options, aws] = [readOptions(settings), readAws(settings)];
    if (options.pools.length === 0 && aws === undefined)
      throw new UsageError('which addresses? pass --pool NAME=RANGE,…');
    const gates = settings.get('feature-gates')?.join(',') ?? '';
    const read = flagError('feature-gates', gates, () => parseFeatureGates(gates)).gates;
    return load({ ...options, gates: read, leaderElection: readElection(settings, lease) }, aws);
  },
  // The data directory has one holder, so there is nobody to stand against.
  inUp({ settings = new Map(), ...cluster }) {
    const options = readOptions(settings);
    const pools = options.pools.length > 0 ? options.pools : defaultPools(cluster);
    return load({ ...options, pools, gates: cluster.gates }, readAws(settings));
  },
};

const load =
  (options: LoadBalancerOptions, settings: AwsSettings | undefined): LoadPart =>
  async () => {
    const { startLoadBalancer } = await import('../../loadbalancer/loadbalancer.ts');
    const aws = settings === undefined ? undefined : await connectAws(settings);
    return (context) => startLoadBalancer(context, { ...options, aws });
  };

/** Addresses that every Linux machine has: 127.32.0.0/16 for the first cluster of `up`, and so on. */
function defaultPools({ name, all = [] }: Omit<UpCluster, 'settings'>): readonly Pool[] {
  const index = Math.max(
    0,
    all.findIndex((cluster) => cluster.name === name),
  );
  // 32 ranges lie before those of cluster IPs; further clusters share them from their other ends.
  const [second, half] = [32 + (index % 32), index < 32 ? '0.1-127.%.127.255' : '128.0-127.%.255.254'];
  return [parsePool(`default=127.${second}.${half.replace('%', String(second))}`, true)];
}

function readOptions(settings: Settings): LoadBalancerOptions {
  const poolsOf = (name: string, isAutomatic: boolean): readonly Pool[] =>
    (settings.get(name) ?? []).map((text) => flagError(name, text, () => parsePool(text, isAutomatic)));
  const pools = [...poolsOf('pool', true), ...poolsOf('manual-pool', false)];
  const [problem] = poolErrors(pools);
  if (problem !== undefined) throw new UsageError(problem);
  const simulation = readSimulation(settings);
  const prices = readFlag<PriceBook | undefined>(settings, 'prices', readPrices, undefined);
  const interfaceName = readFlag<string | undefined>(settings, 'interface', interfaceNamed, undefined);
  return {
    pools,
    workers: readFlag(settings, 'concurrent-service-syncs', workers, 4),
    isRefusalAnEntry: readFlag(settings, 'refused-entry', parseBoolean, true),
    ...(simulation === undefined ? {} : { simulation }),
    ...(prices === undefined ? {} : { prices }),
    ...(interfaceName === undefined ? {} : { interfaceName }),
  };
}

function readSimulation(settings: Settings): SimulationOptions | undefined {
  const era = readFlag(settings, 'simulate-era', oneOf(eras), 'today');
  const latencyMs = readFlag(settings, 'simulate-latency', parseGoDuration, 0);
  const failures = readFlag(settings, 'simulate-failures', fraction, 0);
  const chosen = readFlag<{ readonly cloud: string; readonly product: string | undefined } | undefined>(
    settings,
    'simulate',
    (text) => {
      const [name = '', product] = text.split('/');
      const cloud = cloudNamed(name);
      if (cloud === undefined) throw new UsageError(`expected one of ${clouds.map((each) => each.name).join(', ')}`);
      const products = productsOf(cloud, era).map((each) => each.name);
      if (product !== undefined && !products.includes(product))
        throw new UsageError(`its kinds are ${products.join(', ')} (${era})`);
      return { cloud: name, product };
    },
    undefined,
  );
  const stray = ['simulate-era', 'simulate-latency', 'simulate-failures'].find((name) => settings.has(name));
  if (chosen === undefined && stray !== undefined) throw new UsageError(`--${stray} goes with --simulate CLOUD`);
  return chosen === undefined ? undefined : { ...chosen, era, latencyMs, failures };
}

/** As Linux allows, so that it can stand in a command. */
function interfaceNamed(text: string): string {
  if (!/^[^\s/:]{1,15}$/.test(text) || /^\.{1,2}$/.test(text))
    throw new UsageError('expected the name of an interface, such as eth0');
  return text;
}

function fraction(text: string): number {
  const part = Number(text);
  if (text.trim() === '' || !(part >= 0 && part <= 1)) throw new UsageError('expected a number from 0 to 1');
  return part;
}

function workers(text: string): number {
  const count = Number(text);
  if (!/^\d+$/.test(text) || count < 1 || count > 1000) throw new UsageError('expected a number from 1 to 1000');
  return count;
}
