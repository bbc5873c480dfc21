// Reads the flags of the DNS server.
import type { DnsOptions, ForwardSettings } from '../../dns/options.ts';
import { defaultDnsOptions } from '../../dns/options.ts';
import type { Endpoint } from '../../dns/forward/udp.ts';
import type { ServedZones } from '../../dns/records/apex.ts';
import type { Name } from '../../dnswire/data.ts';
import { UsageError } from '../errors.ts';
import type { Flag, Settings } from '../options/flags.ts';
import { readFlag, readFlags } from '../options/flags.ts';
import {
  countBetween,
  durationFrom,
  listOf,
  oneOf,
  parseBoolean,
  parseDuration,
  parseNamespace,
  parseRange,
} from '../options/values.ts';
import { dnsFlags } from './flags.ts';
import { orNone, parseListen, parseServer, parseStubZones, parseZone } from './values.ts';

const answerKeys = new Set([
  'listen',
  'cluster-domain',
  'supercluster-domain',
  'clusterset-domain',
  'reverse-zones',
  'ttl',
  'negative-ttl',
  'pods',
  'endpoint-pod-names',
  'ignore-empty-service',
  'no-endpoints',
  'zonal',
  'srv-service-names',
  'namespaces',
]);

/** The flags that decide answers, for `fairlead dns query`. */
export const queryFlags: readonly Flag[] = dnsFlags.filter(({ name }) => answerKeys.has(name));

/** Reads the flags of the DNS server; other settings are ignored. Throws a UsageError. */
export function dnsOptionsOf(settings: Settings): DnsOptions {
  const defaults = defaultDnsOptions;
  const listen = readFlags(settings, 'listen', parseListen);
  const namespaces = readFlag(settings, 'namespaces', listOf(parseNamespace), []);
  return {
    listen: listen.length > 0 ? listen : defaults.listen,
    workers: readFlag(settings, 'workers', countBetween(1, 64), defaults.workers),
    sharePort: isOn(settings, 'share-port'),
    zones: zonesOf(settings),
    namespaces: namespaces.length === 0 ? undefined : new Set(namespaces),
    srvServiceNames: readFlag(settings, 'srv-service-names', parseBoolean, defaults.srvServiceNames),
    searchCompletion: isOn(settings, 'search-completion'),
    filterAaaa: isOn(settings, 'filter-aaaa'),
    forward: forwardOf(settings),
    transfer: {
      to: readFlag(settings, 'transfer-to', listOf(parseRange), []),
      notify: readFlag(settings, 'notify', listOf(parseServer), []),
    },
    ...healthOf(settings),
    responseRate: readFlag(settings, 'response-rate', countBetween(0, 10_000_000), defaults.responseRate),
    lameduckMs: readFlag(settings, 'lameduck', parseDuration, defaults.lameduckMs),
  };
}

const isOn = (settings: Settings, name: string): boolean => readFlag(settings, name, parseBoolean, false);

/** The addresses of health, readiness and metrics: one for all, unless they are given or those of CoreDNS are requested. */
function healthOf(settings: Settings): Pick<DnsOptions, 'health' | 'ready' | 'metrics'> {
  const isCoreDns = isOn(settings, 'coredns-ports');
  const read = (name: string, fallback: Endpoint | undefined): Endpoint | undefined =>
    readFlag(settings, name, orNone(parseListen), fallback);
  const health = read('health-listen', isCoreDns ? parseListen(':8080') : defaultDnsOptions.health);
  return {
    health,
    ready: read('ready-listen', isCoreDns ? parseListen(':8181') : health),
    metrics: read('metrics-listen', isCoreDns ? parseListen(':9153') : health),
  };
}

function zonesOf(settings: Settings): ServedZones {
  const defaults = defaultDnsOptions.zones;
  const clusterDomain = readFlag(settings, 'cluster-domain', parseZone, defaults.clusterDomain);
  const read = (name: string, fallback: Name): Name | undefined =>
    readFlag<Name | undefined>(settings, name, orNone(parseZone), fallback);
  const superclusterDomain = read('supercluster-domain', defaults.superclusterDomain);
  const clustersetDomain = read('clusterset-domain', defaults.clustersetDomain);
  const zones = [clusterDomain, superclusterDomain, clustersetDomain];
  const twice = zones.find((zone, index) => zone !== undefined && zones.indexOf(zone) !== index);
  if (twice !== undefined) throw new UsageError(`"${twice}" is given for two zones: every zone needs its own name`);
  const reverseCidrs = readFlag(settings, 'reverse-zones', listOf(parseRange), undefined);
  const ttl = readFlag(settings, 'ttl', countBetween(0, 3600), undefined);
  const negativeTtl = readFlag(settings, 'negative-ttl', countBetween(0, 3600), undefined);
  return {
    clusterDomain,
    ...(superclusterDomain === undefined ? {} : { superclusterDomain }),
    ...(clustersetDomain === undefined ? {} : { clustersetDomain }),
    ...(reverseCidrs === undefined ? {} : { reverseCidrs }),
    ...(ttl === undefined ? {} : { ttl }),
    ...(negativeTtl === undefined ? {} : { negativeTtl }),
    pods: readFlag(settings, 'pods', oneOf(['disabled', 'insecure', 'verified']), defaults.pods),
    endpointPodNames: isOn(settings, 'endpoint-pod-names'),
    ignoreEmptyService: isOn(settings, 'ignore-empty-service'),
    noEndpoints: isOn(settings, 'no-endpoints'),
    zonal: isOn(settings, 'zonal'),
  };
}

function forwardOf(settings: Settings): ForwardSettings {
  const { upstream, cache, ...defaults } = defaultDnsOptions.forward;
  const count = (name: string, least: number, most: number, fallback: number): number =>
    readFlag(settings, name, countBetween(least, most), fallback);
  return {
    upstreams: readFlag(settings, 'upstream', (text) => orNone(listOf(parseServer))(text) ?? [], undefined),
    routes: stubZonesOf(settings),
    upstream: {
      forceTcp: isOn(settings, 'upstream-tcp'),
      mixCase: readFlag(settings, 'upstream-mixed-case', parseBoolean, upstream.mixCase),
      maxConcurrent: count('upstream-max-concurrent', 1, 20_000, upstream.maxConcurrent),
    },
    maxInFlight: count('forward-max-concurrent', 1, 20_000, defaults.maxInFlight),
    maxWaitingPerClient: count('forward-max-per-client', 1, 20_000, defaults.maxWaitingPerClient),
    deadlineMs: readFlag(settings, 'forward-timeout', durationFrom(100, '100ms'), defaults.deadlineMs),
    refusePrivate: isOn(settings, 'upstream-refuse-private'),
    trustAd: isOn(settings, 'upstream-trust-ad'),
    cache: {
      entries: count('cache-entries', 0, 10_000_000, cache.entries),
      bytes: count('cache-memory', 1, 65_536, cache.bytes / mebibyte) * mebibyte,
      maxTtl: count('cache-max-ttl', 0, 604_800, cache.maxTtl),
      maxNegativeTtl: count('cache-max-negative-ttl', 0, 604_800, cache.maxNegativeTtl),
      minTtl: count('cache-min-ttl', 0, 3600, cache.minTtl),
      staleFor: readFlag(settings, 'serve-stale', parseDuration, cache.staleFor * 1000) / 1000,
    },
    allow: readFlag(settings, 'allow-recursion', listOf(parseRange), undefined),
    perSecond: count('recursion-rate', 0, 10_000_000, defaults.perSecond),
  };
}

const mebibyte = 1024 * 1024;

function stubZonesOf(settings: Settings): ReadonlyMap<Name, readonly Endpoint[]> {
  const routes = new Map<Name, readonly Endpoint[]>();
  for (const [zone, servers] of readFlags(settings, 'stub-zone', parseStubZones).flat()) {
    if (routes.has(zone)) throw new UsageError(`"--stub-zone" is given twice for "${zone}": put its servers in one`);
    routes.set(zone, servers);
  }
  return routes;
}
