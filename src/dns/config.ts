import { dnsFlags } from './config-flags.ts';
import {
  ConfigError,
  orNone,
  parseBoolean,
  parseCount,
  parseDurationMs,
  parseList,
  parseListen,
  parseNamespace,
  parseRange,
  parseServer,
  parseStubZones,
  parseWord,
  parseZone,
} from './config-values.ts';
import type { CacheOptions } from './forward/cache.ts';
import type { ForwarderOptions } from './forward/forwarder.ts';
import type { Endpoint } from './forward/udp.ts';
import type { Name } from '../dnswire/data.ts';
import type { ServedZones } from './records/apex.ts';

/** Name of a flag → its values, one unless the flag is repeatable. Flags that were not given are absent. */
export type DnsSettings = ReadonlyMap<string, readonly string[]>;

/** Options of forwarding and recursion. */
export interface ForwardSettings extends Pick<
  ForwarderOptions,
  'upstream' | 'maxInFlight' | 'maxWaitingPerClient' | 'deadlineMs' | 'refusePrivate'
> {
  /** undefined: the servers of /etc/resolv.conf; empty: nothing is forwarded. */
  readonly upstreams: readonly Endpoint[] | undefined;
  readonly routes: ReadonlyMap<Name, readonly Endpoint[]>;
  readonly cache: Omit<CacheOptions, 'clock' | 'random' | 'counts'>;
  /** CIDRs that may recurse; undefined: those of `defaultAllowed`. */
  readonly allow: readonly string[] | undefined;
  /** Recursive queries per second of one client; 0: no limit. */
  readonly perSecond: number;
  /** Whether the AD flag of upstream replies is passed on. */
  readonly trustAd: boolean;
}

/** All options of the DNS server, validated and with defaults. */
export interface DnsOptions {
  readonly listen: readonly Endpoint[];
  readonly workers: number;
  /** Open TCP connections; left out: 1024. */
  readonly maxConnections?: number;
  /** Whether another process may listen on the same port (SO_REUSEPORT). */
  readonly sharePort: boolean;
  readonly zones: ServedZones;
  /** Namespaces whose objects are published; undefined: all. */
  readonly namespaces: ReadonlySet<string> | undefined;
  /** Whether `srvServiceName` of ports is used. */
  readonly srvServiceNames: boolean;
  readonly searchCompletion: boolean;
  readonly filterAaaa: boolean;
  readonly forward: ForwardSettings;
  readonly transfer: { readonly to: readonly string[]; readonly notify: readonly Endpoint[] };
  /** Listen addresses of the HTTP endpoints; undefined: disabled. */
  readonly health: Endpoint | undefined;
  readonly ready: Endpoint | undefined;
  readonly metrics: Endpoint | undefined;
  /** UDP replies per second to one client; 0: no limit. */
  readonly responseRate: number;
  /** How long queries are answered after a stop was requested. */
  readonly lameduckMs: number;
}

/** Reads settings. Throws `ConfigError`, which names the flag, the value, and what was expected. */
export function readDnsOptions(settings: DnsSettings): DnsOptions {
  const unknown = [...settings.keys()].find((name) => !dnsFlags.some((flag) => flag.name === name));
  if (unknown !== undefined) throw new ConfigError(`bug: "${unknown}" is not an option of the DNS server`);
  const reader = new Reader(settings);
  return {
    listen: reader.all('listen', parseListen, ':53'),
    workers: reader.one('workers', parseCount(1, 64)) ?? 1,
    sharePort: reader.flag('share-port'),
    zones: zonesOf(reader),
    namespaces: namespacesOf(reader),
    srvServiceNames: reader.one('srv-service-names', parseBoolean) ?? true,
    searchCompletion: reader.flag('search-completion'),
    filterAaaa: reader.flag('filter-aaaa'),
    forward: forwardOf(reader),
    transfer: {
      to: reader.one('transfer-to', parseList(parseRange)) ?? [],
      notify: reader.one('notify', parseList(parseServer)) ?? [],
    },
    ...healthOf(reader),
    responseRate: reader.one('response-rate', parseCount(0, 10_000_000)) ?? 0,
    lameduckMs: reader.one('lameduck', parseDurationMs) ?? 5000,
  };
}

/** The addresses of health, readiness and metrics: one for all, unless they are given or those of CoreDNS are requested. */
function healthOf(reader: Reader): Pick<DnsOptions, 'health' | 'ready' | 'metrics'> {
  const isCoreDns = reader.flag('coredns-ports');
  const health = reader.optional('health-listen', parseListen, parseListen(isCoreDns ? ':8080' : '127.0.0.1:10361'));
  return {
    health,
    ready: reader.optional('ready-listen', parseListen, isCoreDns ? parseListen(':8181') : health),
    metrics: reader.optional('metrics-listen', parseListen, isCoreDns ? parseListen(':9153') : health),
  };
}

function zonesOf(reader: Reader): ServedZones {
  const clusterDomain = reader.one('cluster-domain', parseZone) ?? 'cluster.local';
  const superclusterDomain = reader.optional('supercluster-domain', parseZone, 'supercluster.local');
  const clustersetDomain = reader.optional('clusterset-domain', parseZone, 'clusterset.local');
  const zones = [clusterDomain, superclusterDomain, clustersetDomain];
  const twice = zones.find((zone, index) => zone !== undefined && zones.indexOf(zone) !== index);
  if (twice !== undefined) throw new ConfigError(`"${twice}" is given for two zones: every zone needs its own name`);
  const reverseCidrs = reader.one('reverse-zones', parseList(parseRange));
  const ttl = reader.one('ttl', parseCount(0, 3600));
  const negativeTtl = reader.one('negative-ttl', parseCount(0, 3600));
  return {
    clusterDomain,
    ...(superclusterDomain === undefined ? {} : { superclusterDomain }),
    ...(clustersetDomain === undefined ? {} : { clustersetDomain }),
    ...(reverseCidrs === undefined ? {} : { reverseCidrs }),
    ...(ttl === undefined ? {} : { ttl }),
    ...(negativeTtl === undefined ? {} : { negativeTtl }),
    pods: reader.one('pods', parseWord(['disabled', 'insecure', 'verified'])) ?? 'disabled',
    endpointPodNames: reader.flag('endpoint-pod-names'),
    ignoreEmptyService: reader.flag('ignore-empty-service'),
    noEndpoints: reader.flag('no-endpoints'),
    zonal: reader.flag('zonal'),
  };
}

function namespacesOf(reader: Reader): ReadonlySet<string> | undefined {
  const names = reader.one('namespaces', parseList(parseNamespace));
  return names === undefined || names.length === 0 ? undefined : new Set(names);
}

function forwardOf(reader: Reader): ForwardSettings {
  return {
    upstreams: reader.one('upstream', (text) => orNone(parseList(parseServer))(text) ?? []),
    routes: stubZonesOf(reader),
    upstream: {
      forceTcp: reader.flag('upstream-tcp'),
      mixCase: reader.one('upstream-mixed-case', parseBoolean) ?? true,
      maxConcurrent: reader.one('upstream-max-concurrent', parseCount(1, 20_000)) ?? 500,
    },
    maxInFlight: reader.one('forward-max-concurrent', parseCount(1, 20_000)) ?? 1000,
    maxWaitingPerClient: reader.one('forward-max-per-client', parseCount(1, 20_000)) ?? 256,
    deadlineMs: reader.one('forward-timeout', atLeastMs(100, parseDurationMs)) ?? 4000,
    refusePrivate: reader.flag('upstream-refuse-private'),
    trustAd: reader.flag('upstream-trust-ad'),
    cache: {
      entries: reader.one('cache-entries', parseCount(0, 10_000_000)) ?? 10_000,
      bytes: (reader.one('cache-memory', parseCount(1, 65_536)) ?? 16) * 1024 * 1024,
      maxTtl: reader.one('cache-max-ttl', parseCount(0, 604_800)) ?? 3600,
      maxNegativeTtl: reader.one('cache-max-negative-ttl', parseCount(0, 604_800)) ?? 300,
      minTtl: reader.one('cache-min-ttl', parseCount(0, 3600)) ?? 0,
      staleFor: (reader.one('serve-stale', parseDurationMs) ?? 86_400_000) / 1000,
    },
    allow: reader.one('allow-recursion', parseList(parseRange)),
    perSecond: reader.one('recursion-rate', parseCount(0, 10_000_000)) ?? 1000,
  };
}

const atLeastMs =
  (leastMs: number, parse: (text: string) => number) =>
  (text: string): number => {
    const ms = parse(text);
    if (ms < leastMs) throw new ConfigError(`expected ${leastMs}ms or more`);
    return ms;
  };

function stubZonesOf(reader: Reader): ReadonlyMap<Name, readonly Endpoint[]> {
  const routes = new Map<Name, readonly Endpoint[]>();
  for (const [zone, servers] of reader.all('stub-zone', parseStubZones).flat()) {
    if (routes.has(zone)) throw new ConfigError(`"--stub-zone" is given twice for "${zone}": put its servers in one`);
    routes.set(zone, servers);
  }
  return routes;
}

/** Parses single options; its errors name the option. */
class Reader {
  readonly #settings: DnsSettings;

  constructor(settings: DnsSettings) {
    this.#settings = settings;
  }

  /** The last value of an option. */
  one<T>(name: string, parse: (text: string) => T): T | undefined {
    const text = this.#settings.get(name)?.at(-1);
    return text === undefined ? undefined : parsed(name, text, parse);
  }

  all<T>(name: string, parse: (text: string) => T, ...fallback: readonly string[]): readonly T[] {
    return (this.#settings.get(name) ?? fallback).map((text) => parsed(name, text, parse));
  }

  flag(name: string): boolean {
    return this.one(name, parseBoolean) ?? false;
  }

  /** An option that can be `none`. */
  optional<T>(name: string, parse: (text: string) => T, fallback: T | undefined): T | undefined {
    return this.#settings.has(name) ? this.one(name, orNone(parse)) : fallback;
  }
}

function parsed<T>(name: string, text: string, parse: (text: string) => T): T {
  try {
    return parse(text);
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    const message = `invalid argument ${JSON.stringify(text)} for "--${name}" flag: ${error.message}`;
    throw new ConfigError(message, { cause: error });
  }
}

/** A default in words is not a value. */
const isText = (fallback: string): boolean => fallback.includes(' ');

/** The options as a YAML file: every key with its description; keys that were not set are commented out. */
export function printConfig(settings: DnsSettings, heading: readonly string[] = []): string {
  const lines = heading.map((line) => `# ${line}`.trimEnd());
  for (const { name, value, description, choices, repeatable, default: fallback = '' } of dnsFlags) {
    const values = settings.get(name);
    const notes = [
      ...(choices === undefined ? [] : [choices.join(', ')]),
      ...(isText(fallback) ? [`default ${fallback}`] : []),
    ];
    lines.push('', `# ${description}${notes.length === 0 ? '' : ` (${notes.join('; ')})`}`);
    if (values === undefined) lines.push(`# ${name}: ${fallback === '' || isText(fallback) ? value : fallback}`);
    else if (repeatable === true) lines.push(`${name}:`, ...values.map((each) => `  - ${quoted(each)}`));
    else lines.push(`${name}: ${quoted(values.at(-1) ?? '')}`);
  }
  return `${lines.join('\n').trimStart()}\n`;
}

/** A YAML scalar: JSON is valid YAML, and most words and numbers need no quotes. */
const quoted = (text: string): string =>
  /^[A-Za-z0-9][A-Za-z0-9./-]*$/.test(text) && !/^null$/i.test(text) ? text : JSON.stringify(text);
