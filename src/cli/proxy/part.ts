import { descriptorShare } from '../../machine/descriptors.ts';
import { defaultTableName } from '../../proxy/nftables/table-name.ts';
import type { ProxyOptions } from '../../proxy/options.ts';
import { UsageError } from '../errors.ts';
import type { Settings } from '../options/flags.ts';
import { outputFlag } from '../options/flags.ts';
import type { LoadPart, Part, UpCluster } from '../part/part.ts';
import { indexOf } from '../part/part.ts';
import { cleanupFlags, healthAddressesOf, proxyFlags, proxyOptionsOf, routeFlags } from './options.ts';

/** `fairlead proxy`: routes connections to Services. */
export const part: Part = {
  name: 'proxy',
  description: 'Route connections to the addresses of Services and imports on this node.',
  examples: [
    'fairlead proxy --kubeconfig proxy.kubeconfig --proxy-mode nftables',
    'fairlead proxy routes shop/web --proxy-mode userspace',
  ],
  flags: proxyFlags,
  health: healthAddressesOf,
  actions: {
    routes: {
      usage: '[NAMESPACE[/NAME]]',
      summary: 'print the routes of this node, and why endpoints are used or not',
      examples: ['fairlead proxy routes shop/web', 'fairlead proxy routes shop -o json'],
      flags: [...routeFlags, outputFlag],
      run: async (call) => (await import('./routes.ts')).routes(call),
    },
    cleanup: {
      summary: 'remove the rules that a proxy left on this machine',
      examples: ['fairlead proxy cleanup --proxy-mode nftables'],
      flags: cleanupFlags,
      isOffline: true,
      run: async ({ settings, streams }) => {
        const { cleanupProxy } = await import('../../proxy/proxy.ts');
        const { Registry } = await import('prom-client');
        const { openLog, readLogOptions } = await import('../process/log.ts');
        const options = proxyOptionsOf(settings);
        using opened = await openLog(readLogOptions(settings, 'warn'));
        await cleanupProxy({ log: opened.log, metrics: new Registry() }, options);
        streams.out(`removed everything of a proxy in mode ${options.mode}\n`);
        return 0;
      },
    },
  },
  alone: (settings) => load(proxyOptionsOf(settings, descriptorShare('alone'))),
  inUp(cluster) {
    const { settings = new Map() } = cluster;
    const given = setByUp.find((name) => settings.has(name));
    if (given !== undefined) {
      throw new UsageError(`"${given}" under "proxy" is for \`fairlead proxy\`: up serves health itself`);
    }
    const descriptors = descriptorShare('proxy', cluster.all?.length);
    const options = proxyOptionsOf(settingsInUp(cluster), descriptors);
    return load({ healthCheckHost: nodeAddress(cluster), ...options });
  },
  flagsInUp: settingsInUp,
};

/** Flags that `up` sets for each of its clusters. */
const setByUp = ['healthz-bind-address', 'metrics-bind-address'];

/** The address of a cluster as a node: with one each, clusters can use the same node ports. */
const nodeAddress = (cluster: UpCluster): string => `127.0.0.${indexOf(cluster) + 1}`;

/** The clusters share the tables of the machine. */
const tableName = (cluster: UpCluster): string =>
  indexOf(cluster) === 0 ? defaultTableName : `${defaultTableName}-${indexOf(cluster) + 1}`;

function settingsInUp(cluster: UpCluster): Settings {
  return new Map([
    ['proxy-mode', ['userspace']],
    ['nodeport-addresses', [`${nodeAddress(cluster)}/32`]],
    ['nftables-table', [tableName(cluster)]],
    ['cluster-id', [cluster.name]],
    ['min-sync-period', ['10ms']],
    ...(cluster.settings ?? []),
  ]);
}

const load =
  (options: ProxyOptions): LoadPart =>
  async () => {
    const { startProxy } = await import('../../proxy/proxy.ts');
    return (context) => startProxy(context, options);
  };
