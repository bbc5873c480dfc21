import { descriptorShare } from '../../machine/descriptors.ts';
import { defaultTableName } from '../../proxy/nftables/table-name.ts';
import type { ProxyOptions } from '../../proxy/options.ts';
import { UsageError } from '../errors.ts';
import type { LoadPart, Part, PartAction, UpCluster } from '../part/part.ts';
import { outputFlag, proxyFlags } from './flags.ts';
import { healthPlacesOf, proxyOptionsOf } from './options.ts';

/** `fairlead proxy`: makes connections to the addresses of Services arrive. */
export const part: Part = {
  name: 'proxy',
  description: 'Make connections to the addresses of Services and imports arrive, on this node.',
  example: `  fairlead proxy --kubeconfig proxy.kubeconfig --proxy-mode nftables
  fairlead proxy routes shop/web --proxy-mode userspace`,
  flags: [...proxyFlags, outputFlag],
  health: healthPlacesOf,
  actions: {
    routes: {
      usage: '[NAMESPACE[/NAME]]',
      summary: 'what is routed on this node, and why an endpoint is used or not',
      run: async (call) => (await import('./routes.ts')).routes(call),
    },
    cleanup: {
      usage: '',
      summary: 'remove what a proxy in this mode left behind on this machine',
      run: async ({ settings, streams }) => {
        const { cleanupProxy } = await import('../../proxy/proxy.ts');
        const { Registry } = await import('prom-client');
        const { createLog } = await import('../process/log.ts');
        const options = proxyOptionsOf(settings);
        await cleanupProxy({ log: await createLog('warn'), metrics: new Registry() }, options);
        streams.out(`nothing of a proxy in mode ${options.mode} is left\n`);
        return 0;
      },
    },
  } satisfies Record<string, PartAction>,
  alone: (settings) => load(proxyOptionsOf(settings, descriptorShare('alone'))),
  inUp(cluster) {
    const { settings = new Map() } = cluster;
    const given = saidByUp.find((name) => settings.has(name));
    if (given !== undefined) {
      throw new UsageError(`"${given}" under "proxy" is for \`fairlead proxy\`: up serves health itself`);
    }
    const descriptors = descriptorShare('proxy', cluster.all?.length);
    return load({ ...ownPlaces(cluster), ...proxyOptionsOf(withDefaults(settings, cluster), descriptors) });
  },
};

/** What `up` decides for each of its clusters. */
const saidByUp = ['healthz-bind-address', 'metrics-bind-address', 'output'];

/** Which cluster of `up` it is, from 1. */
const numberOf = ({ all = [], name }: UpCluster): number =>
  Math.max(
    0,
    all.findIndex((each) => each.name === name),
  ) + 1;

/** The address at which the i-th cluster of `up` is a node: clusters may use the same node ports. */
const nodeAddress = (cluster: UpCluster): string => `127.0.0.${numberOf(cluster)}`;

/** Clusters of `up` share the machine, so that each but the first has a table of another name. */
const tableName = (cluster: UpCluster): string =>
  numberOf(cluster) === 1 ? defaultTableName : `${defaultTableName}-${numberOf(cluster)}`;

const ownPlaces = (cluster: UpCluster): Pick<ProxyOptions, 'healthCheckHost'> => ({
  healthCheckHost: nodeAddress(cluster),
});

const withDefaults = (settings: ReadonlyMap<string, readonly string[]>, cluster: UpCluster): typeof settings =>
  new Map([
    ['proxy-mode', ['userspace']],
    ['nodeport-addresses', [`${nodeAddress(cluster)}/32`]],
    ['nftables-table', [tableName(cluster)]],
    ['cluster-id', [cluster.name]],
    ['min-sync-period', ['10ms']],
    ...settings,
  ]);

const load =
  (options: ProxyOptions): LoadPart =>
  async () => {
    const { startProxy } = await import('../../proxy/proxy.ts');
    return (context) => startProxy(context, options);
  };
