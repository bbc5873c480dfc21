import { hostname } from 'node:os';

import { canonicalCidr } from '../../api/addresses.ts';
import { modes } from '../../proxy/modes.ts';
import type { ProxyMode } from '../../proxy/modes.ts';
import { defaultTableName, isTableName } from '../../proxy/nftables/table-name.ts';
import type { ProxyOptions } from '../../proxy/options.ts';
import type { UserspaceOptions } from '../../proxy/userspace/options.ts';
import { UsageError } from '../errors.ts';
import type { Flag, Settings } from '../options/flags.ts';
import { booleanFlag, grouped, readFlag, textOf } from '../options/flags.ts';
import {
  countBetween,
  durationFrom,
  nonEmpty,
  oneOf,
  parseBoolean,
  parseDuration,
  parseListenAddress,
} from '../options/values.ts';
import type { HealthAddress } from '../part/part.ts';

/** The modes; the first is the default of a node. */
const modeNames = Object.keys(modes) as ProxyMode[]; // they are the keys of `modes`
const portGates = ['status', 'ignore'] as const;

const modeFlag: Flag = {
  name: 'proxy-mode',
  value: 'MODE',
  description: 'nftables: rules in the kernel, needs root; userspace: listeners on the virtual addresses',
  choices: modeNames,
  default: 'nftables',
};

const tableFlag: Flag = {
  name: 'nftables-table',
  value: 'NAME',
  description: 'table of the rules; several proxies on one machine need different tables',
  default: defaultTableName,
};

/** The flags that decide the routes, named as in kube-proxy where it has them. */
export const routeFlags: readonly Flag[] = [
  modeFlag,
  { name: 'hostname-override', value: 'NAME', description: 'name of this Node', default: 'the host name' },
  {
    name: 'nodeport-addresses',
    value: 'CIDR,…',
    description: 'addresses for node ports: ranges, primary, localhost or all',
    default: 'primary',
  },
  { name: 'cluster-cidr', value: 'CIDR,…', description: 'range of Pods', default: 'that of the Node' },
  {
    name: 'service-cidr',
    value: 'CIDR,…',
    description: 'range of virtual addresses, in addition to ServiceCIDR objects',
  },
  {
    name: 'masquerade-all',
    ...booleanFlag,
    description: 'masquerade all connections to cluster IPs (nftables)',
  },
  {
    name: 'lb-port-gate',
    value: 'MODE',
    description:
      'status: do not serve ports that the load balancer reports as failed; ignore: serve all, as kube-proxy does',
    choices: portGates,
    default: 'status',
  },
  { name: 'cluster-id', value: 'ID', description: 'ID of this cluster in its set' },
];

/** The flags of `cleanup`. */
export const cleanupFlags: readonly Flag[] = [modeFlag, tableFlag];

/** All flags of `fairlead proxy`. */
export const proxyFlags: readonly Flag[] = [
  ...routeFlags,
  tableFlag,
  { name: 'min-sync-period', value: 'DURATION', description: 'minimum time between two syncs', default: '100ms' },
  { name: 'sync-period', value: 'DURATION', description: 'time between two full syncs', default: '1h' },
  ...grouped('Userspace mode', [
    { name: 'threads', value: 'N', description: 'threads that relay connections', default: '1' },
    {
      name: 'max-connections',
      value: 'N',
      description: 'maximum connections',
      default: '20000, or what `ulimit -n` allows',
    },
    { name: 'udp-timeout', value: 'DURATION', description: 'idle timeout of UDP flows', default: '1m' },
    {
      name: 'drain-time',
      value: 'DURATION',
      description: 'how long connections may continue after SIGTERM',
      default: '1s',
    },
  ]),
  ...grouped('Health and metrics', [
    { name: 'healthz-bind-address', value: 'ADDR:PORT', description: 'address of /healthz', default: '0.0.0.0:10256' },
    {
      name: 'metrics-bind-address',
      value: 'ADDR:PORT',
      description: 'address of /metrics',
      default: '127.0.0.1:10249',
    },
  ]),
];

/** Reads the flags; the proxy may use this number of file descriptors. Throws a UsageError. */
export function proxyOptionsOf(settings: Settings, descriptors = Infinity): ProxyOptions {
  const podRanges = readFlag<readonly string[] | undefined>(settings, 'cluster-cidr', parseRanges, undefined);
  const serviceRanges = readFlag<readonly string[] | undefined>(settings, 'service-cidr', parseRanges, undefined);
  const clusterId = textOf(settings, 'cluster-id');
  return {
    nodeName: readFlag(settings, 'hostname-override', nonEmpty('the name of a Node'), hostname().toLowerCase()),
    mode: readFlag(settings, 'proxy-mode', oneOf(modeNames), 'nftables'),
    backend: {
      nftables: { table: readFlag(settings, 'nftables-table', parseTable, defaultTableName) },
      userspace: { ...userspaceOptionsOf(settings), descriptors },
    },
    healthCheckPorts: Math.max(4, Math.floor(descriptors * 0.03)),
    nodePortAddresses: readFlag<readonly string[]>(settings, 'nodeport-addresses', parseNodePortAddresses, ['primary']),
    ...(podRanges === undefined ? {} : { podRanges }),
    ...(serviceRanges === undefined ? {} : { serviceRanges }),
    masqueradeAll: readFlag(settings, 'masquerade-all', parseBoolean, false),
    lbPortGate: readFlag(settings, 'lb-port-gate', oneOf(portGates), 'status'),
    ...(clusterId === undefined ? {} : { clusterId }),
    minSyncPeriodMs: readFlag(settings, 'min-sync-period', parseDuration, 100),
    fullSyncPeriodMs: readFlag(settings, 'sync-period', durationFrom(1000, '1s'), 3_600_000),
  };
}

/** The addresses of health and metrics; one if they are the same. */
export function healthAddressesOf(settings: Settings): readonly HealthAddress[] {
  const addressOf = (flag: string, fallback: Omit<HealthAddress, 'flag'>): HealthAddress => ({
    ...readFlag(settings, flag, parseListenAddress, fallback),
    flag,
  });
  const health = addressOf('healthz-bind-address', { host: '0.0.0.0', port: 10_256 });
  const metrics = addressOf('metrics-bind-address', { host: '127.0.0.1', port: 10_249 });
  // Load balancers probe /healthz to learn whether this node forwards connections.
  const first: HealthAddress = { ...health, isHealthReadiness: true, probeMetrics: 'kubeproxy_proxy' };
  const isSame = health.host === metrics.host && health.port === metrics.port && health.port !== 0;
  return isSame ? [first] : [first, metrics];
}

function userspaceOptionsOf(settings: Settings): UserspaceOptions {
  const connections = readFlag<number | undefined>(
    settings,
    'max-connections',
    countBetween(1, 999_999_999),
    undefined,
  );
  const udpIdleMs = readFlag<number | undefined>(settings, 'udp-timeout', durationFrom(1000, '1s'), undefined);
  return {
    threads: readFlag(settings, 'threads', countBetween(1, 64), 1),
    drainMs: readFlag(settings, 'drain-time', parseDuration, 1000),
    limits: {
      ...(connections === undefined ? {} : { connections, connectionsPerAddress: Math.ceil(connections / 2) }),
      ...(udpIdleMs === undefined ? {} : { udpIdleMs }),
    },
  };
}

/** Ranges that kube-proxy has names for. */
const namedRanges: Readonly<Record<string, string>> = {
  localhost: '127.0.0.0/8,::1/128',
  all: '0.0.0.0/0,::/0',
};

function parseNodePortAddresses(text: string): readonly string[] {
  const words = text.split(',').map((word) => word.trim());
  return words.flatMap((word) => (word === 'primary' ? [word] : parseRanges(namedRanges[word] ?? word)));
}

function parseRanges(text: string): readonly string[] {
  const ranges = text.split(',').map((part) => part.trim());
  const wrong = ranges.find((range) => canonicalCidr(range) === undefined);
  if (wrong !== undefined) throw new UsageError(`${JSON.stringify(wrong)} is not a CIDR such as 10.0.0.0/8`);
  return ranges;
}

function parseTable(text: string): string {
  if (!isTableName(text))
    throw new UsageError('expected up to 31 lower-case letters, digits and "-", beginning with a letter');
  return text;
}
