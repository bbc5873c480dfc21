import { hostname } from 'node:os';

import { parseCidr } from '../../api/addresses.ts';
import { modes } from '../../proxy/modes.ts';
import type { ProxyMode } from '../../proxy/modes.ts';
import { defaultTableName, isTableName } from '../../proxy/nftables/table-name.ts';
import type { ProxyOptions } from '../../proxy/options.ts';
import type { UserspaceOptions } from '../../proxy/userspace/options.ts';
import { UsageError } from '../errors.ts';
import { oneOf, readFlag } from '../options/flags.ts';
import { parsePlace } from '../options/place.ts';
import { parseBoolean } from '../part/boolean.ts';
import { parseGoDuration } from '../part/duration.ts';
import type { HealthPlace } from '../part/part.ts';
import type { Settings } from '../settings.ts';

// Keys of an object have no order that says more than this: the first is the default of a node.
const modeNames: readonly ProxyMode[] = Object.keys(modes) as ProxyMode[]; // they are those of `modes`

/** What the flags say about the proxy, which may take so many descriptors. Throws a UsageError. */
export function proxyOptionsOf(settings: Settings, descriptors = Infinity): ProxyOptions {
  const podRanges = readFlag<readonly string[] | undefined>(settings, 'cluster-cidr', parseRanges, undefined);
  const serviceRanges = readFlag<readonly string[] | undefined>(settings, 'service-cidr', parseRanges, undefined);
  const clusterId = settings.get('cluster-id')?.at(-1);
  return {
    nodeName: readFlag(settings, 'hostname-override', parseName, hostname().toLowerCase()),
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
    lbPortGate: readFlag(settings, 'lb-port-gate', oneOf(['status', 'ignore']), 'status'),
    ...(clusterId === undefined ? {} : { clusterId }),
    minSyncPeriodMs: readFlag(settings, 'min-sync-period', parseGoDuration, 100),
    fullSyncPeriodMs: readFlag(settings, 'sync-period', parsePeriod, 3_600_000),
  };
}

/** Where health and metrics are, each once. */
export function healthPlacesOf(settings: Settings): readonly HealthPlace[] {
  const placeOf = (flag: string, unset: Omit<HealthPlace, 'flag'>): HealthPlace => ({
    ...readFlag(settings, flag, parsePlace, unset),
    flag,
  });
  const health = placeOf('healthz-bind-address', { host: '0.0.0.0', port: 10_256 });
  const metrics = placeOf('metrics-bind-address', { host: '127.0.0.1', port: 10_249 });
  // Load balancers ask /healthz whether this node passes connections on, not whether the process runs.
  const first: HealthPlace = { ...health, isHealthReadiness: true, probeMetrics: 'kubeproxy_proxy' };
  const isSame = health.host === metrics.host && health.port === metrics.port && health.port !== 0;
  return isSame ? [first] : [first, metrics];
}

function userspaceOptionsOf(settings: Settings): UserspaceOptions {
  const connections = readFlag<number | undefined>(settings, 'max-connections', atLeastOne, undefined);
  const udpIdleMs = readFlag<number | undefined>(settings, 'udp-timeout', parsePeriod, undefined);
  return {
    threads: readFlag(settings, 'threads', parseThreads, 1),
    drainMs: readFlag(settings, 'drain-time', parseGoDuration, 1000),
    limits: {
      ...(connections === undefined ? {} : { connections, connectionsPerAddress: Math.ceil(connections / 2) }),
      ...(udpIdleMs === undefined ? {} : { udpIdleMs }),
    },
  };
}

/** What words of kube-proxy stand for, where ranges are expected. */
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
  const wrong = ranges.find((range) => parseCidr(range) === undefined);
  if (wrong !== undefined) throw new UsageError(`${JSON.stringify(wrong)} is no range such as 10.0.0.0/8`);
  return ranges;
}

function parseTable(text: string): string {
  if (!isTableName(text)) throw new UsageError('expected up to 31 of a-z, 0-9 and -, a letter first');
  return text;
}

function parseName(text: string): string {
  if (text === '') throw new UsageError('expected the name of a Node');
  return text;
}

function parsePeriod(text: string): number {
  const ms = parseGoDuration(text);
  if (ms < 1000) throw new UsageError('expected at least 1s');
  return ms;
}

function atLeastOne(text: string): number {
  const number = /^\d{1,9}$/.test(text) ? Number(text) : 0;
  if (number < 1) throw new UsageError('expected a number from 1');
  return number;
}

function parseThreads(text: string): number {
  const number = atLeastOne(text);
  if (number > 64) throw new UsageError('expected at most 64');
  return number;
}
