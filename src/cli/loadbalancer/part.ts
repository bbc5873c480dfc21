import type { LoadBalancerOptions, SimulationOptions } from '../../loadbalancer/loadbalancer.ts';
import type { Pool } from '../../loadbalancer/providers/local/pools.ts';
import { parsePool, poolErrors } from '../../loadbalancer/providers/local/pools.ts';
import { eras } from '../../loadbalancer/clouds/product.ts';
import { cloudNamed, clouds } from '../../loadbalancer/clouds/clouds.ts';
import { productsOf } from '../../loadbalancer/clouds/plan.ts';
import { UsageError } from '../errors.ts';
import { featureGatesFlag, readFeatureGates } from '../options/feature-gates.ts';
import type { Flag, Settings } from '../options/flags.ts';
import { booleanFlag, grouped, readFlag, readFlags } from '../options/flags.ts';
import { countBetween, oneOf, parseBoolean, parseDuration } from '../options/values.ts';
import { leaderFlags, readElection } from '../part/leader-flags.ts';
import type { LoadPart, Part, UpCluster } from '../part/part.ts';
import { indexOf } from '../part/part.ts';
import type { AwsSettings } from './aws.ts';
import { awsFlags, connectAws, providerFlag, readAws } from './aws.ts';
import { pricesFlag, pricesOf } from './prices.ts';

const lease = 'fairlead-loadbalancer';

const poolFlags = grouped('Address pools', [
  {
    name: 'pool',
    value: 'NAME=RANGE,...',
    description: 'addresses for load balancers: FIRST-LAST, CIDRs, single addresses',
    repeatable: true,
  },
  {
    name: 'manual-pool',
    value: 'NAME=RANGE,...',
    description: 'addresses for Services that request the pool or one of its addresses',
    repeatable: true,
  },
  {
    name: 'interface',
    value: 'NAME',
    description: 'network interface that announces the addresses by ARP and neighbour discovery (needs CAP_NET_ADMIN)',
  },
]);

const simulationFlags = grouped('Simulation', [
  {
    name: 'simulate',
    value: 'CLOUD[/KIND]',
    description: 'simulate a cloud, with CloudLoadBalancers as its load balancers; see `fairlead lb providers`',
  },
  {
    name: 'simulate-era',
    value: 'ERA',
    description: 'the cloud as of July 2020 or today',
    choices: eras,
    default: 'today',
  },
  { name: 'simulate-latency', value: 'DURATION', description: 'duration of each call to the cloud', default: '0s' },
  {
    name: 'simulate-failures',
    value: 'FRACTION',
    description: 'fraction of the calls to the cloud that fail, 0 to 1',
    default: '0',
  },
]);

const flags: readonly Flag[] = [
  providerFlag,
  { name: 'concurrent-service-syncs', value: 'N', description: 'Services that are reconciled at once', default: '4' },
  {
    name: 'refused-entry',
    ...booleanFlag,
    description: 'report the ports of a rejected Service in a status entry without an address',
    default: 'true',
  },
  pricesFlag,
  featureGatesFlag,
  ...poolFlags,
  ...awsFlags,
  ...simulationFlags,
  ...leaderFlags(lease),
];

/** `fairlead loadbalancer`: the load balancers of Services. */
export const part: Part = {
  name: 'loadbalancer',
  description:
    'Allocate an address of a pool or a load balancer of AWS to Services of type LoadBalancer, or simulate a cloud.',
  examples: [
    'fairlead loadbalancer --kubeconfig loadbalancer.kubeconfig --pool public=192.0.2.10-192.0.2.50',
    'fairlead loadbalancer --pool lab=192.0.2.0/24 --simulate aws/nlb --simulate-failures 0.2',
    'fairlead loadbalancer --provider aws --cluster-name east --aws-subnets subnet-0a1b,subnet-0c2d',
  ],
  health: 10_360,
  flags,
  actions: {
    orphans: {
      summary: 'list the load balancers whose Service no longer exists',
      description:
        'List the load balancers whose Service no longer exists. Exits with 1 if there are any; changes nothing.',
      examples: ['fairlead loadbalancer orphans --provider aws --cluster-name east'],
      flags: [providerFlag, ...awsFlags, ...simulationFlags],
      run: async (call) => {
        const { showOrphans } = await import('./orphans.ts');
        return showOrphans(call, readOptions(call.settings), readAws(call.settings));
      },
    },
  },
  alone(settings) {
    const [options, aws] = [readOptions(settings), readAws(settings)];
    if (options.pools.length === 0 && aws === undefined)
      throw new UsageError('no addresses to allocate: pass --pool NAME=RANGE,…');
    const { gates } = readFeatureGates(settings);
    return load({ ...options, gates, leaderElection: readElection(settings, lease) }, aws);
  },
  // `up` holds the lock of its data directory: there is no other replica.
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

/** Loopback addresses: 127.32.0.0/16 for the first cluster of `up`, 127.33.0.0/16 for the second. */
function defaultPools(cluster: Omit<UpCluster, 'settings'>): readonly Pool[] {
  const index = indexOf(cluster);
  // There are 32 ranges below those of cluster IPs; further clusters use the upper halves of the same ranges.
  const [second, half] = [32 + (index % 32), index < 32 ? '0.1-127.%.127.255' : '128.0-127.%.255.254'];
  return [parsePool(`default=127.${second}.${half.replace('%', String(second))}`, true)];
}

function readOptions(settings: Settings): LoadBalancerOptions {
  const poolsOf = (name: string, isAutomatic: boolean): readonly Pool[] =>
    readFlags(settings, name, (text) => parsePool(text, isAutomatic));
  const pools = [...poolsOf('pool', true), ...poolsOf('manual-pool', false)];
  const [problem] = poolErrors(pools);
  if (problem !== undefined) throw new UsageError(problem);
  const simulation = readSimulation(settings);
  const prices = pricesOf(settings);
  const interfaceName = readFlag<string | undefined>(settings, 'interface', parseInterface, undefined);
  return {
    pools,
    workers: readFlag(settings, 'concurrent-service-syncs', countBetween(1, 1000), 4),
    isRefusalAnEntry: readFlag(settings, 'refused-entry', parseBoolean, true),
    ...(simulation === undefined ? {} : { simulation }),
    ...(prices === undefined ? {} : { prices }),
    ...(interfaceName === undefined ? {} : { interfaceName }),
  };
}

function readSimulation(settings: Settings): SimulationOptions | undefined {
  const era = readFlag(settings, 'simulate-era', oneOf(eras), 'today');
  const latencyMs = readFlag(settings, 'simulate-latency', parseDuration, 0);
  const failures = readFlag(settings, 'simulate-failures', parseFraction, 0);
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
  if (chosen === undefined && stray !== undefined) throw new UsageError(`--${stray} requires --simulate CLOUD`);
  return chosen === undefined ? undefined : { ...chosen, era, latencyMs, failures };
}

/** A name that Linux allows. */
function parseInterface(text: string): string {
  if (!/^[^\s/:]{1,15}$/.test(text) || /^\.{1,2}$/.test(text))
    throw new UsageError('expected the name of an interface, such as eth0');
  return text;
}

function parseFraction(text: string): number {
  const part = Number(text);
  if (text.trim() === '' || !(part >= 0 && part <= 1)) throw new UsageError('expected a number from 0 to 1');
  return part;
}
