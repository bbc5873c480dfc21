import type { Flag } from '../options/flags.ts';
import { booleanFlag, grouped } from '../options/flags.ts';

const listenFlags: readonly Flag[] = [
  {
    name: 'listen',
    value: 'ADDR:PORT',
    description: 'listen address for UDP and TCP',
    repeatable: true,
    default: ':53',
  },
  { name: 'workers', value: 'N', description: 'number of worker threads', default: '1' },
  {
    name: 'share-port',
    ...booleanFlag,
    description: 'share the port with another server (SO_REUSEPORT) once synced, for a takeover without a gap',
  },
  { name: 'lameduck', value: 'DURATION', description: 'keep answering for this long after SIGTERM', default: '5s' },
];

const zoneFlags = grouped('Zones and records', [
  { name: 'cluster-domain', value: 'NAME', description: "zone of this cluster's Services", default: 'cluster.local' },
  {
    name: 'supercluster-domain',
    value: 'NAME',
    description: 'zone of ImportedServices; none: not served',
    default: 'supercluster.local',
  },
  {
    name: 'clusterset-domain',
    value: 'NAME',
    description: 'zone of ServiceImports; none: not served',
    default: 'clusterset.local',
  },
  {
    name: 'reverse-zones',
    value: 'CIDR,…',
    description: 'ranges whose PTR queries are never forwarded',
    default: 'none: unknown addresses are forwarded',
  },
  {
    name: 'ttl',
    value: 'SECONDS',
    description: 'TTL of all records in seconds, 0 to 3600',
    default: '30, or 5 for endpoints and aliases',
  },
  {
    name: 'negative-ttl',
    value: 'SECONDS',
    description: 'TTL of negative answers in seconds',
    default: '5',
  },
  {
    name: 'pods',
    value: 'MODE',
    description: 'records of Pods',
    choices: ['disabled', 'insecure', 'verified'],
    default: 'disabled',
  },
  {
    name: 'endpoint-pod-names',
    ...booleanFlag,
    description: 'name endpoints by their Pods instead of their addresses',
  },
  { name: 'ignore-empty-service', ...booleanFlag, description: 'return NXDOMAIN for Services without ready endpoints' },
  { name: 'no-endpoints', ...booleanFlag, description: 'publish neither headless Services nor names of endpoints' },
  { name: 'zonal', ...booleanFlag, description: 'publish headless Services by topology zone: ZONE.pin._zone.SERVICE' },
  {
    name: 'srv-service-names',
    ...booleanFlag,
    default: 'true',
    description: 'use srvServiceName of ports, as the feature gate SRVServiceName of a server does',
  },
  { name: 'namespaces', value: 'A,B', description: 'publish only these namespaces' },
  { name: 'search-completion', ...booleanFlag, description: "follow a Pod's search list (ndots:5) on the server" },
  { name: 'filter-aaaa', ...booleanFlag, description: 'return no AAAA records for names outside our zones' },
]);

const forwardFlags = grouped('Forwarding', [
  {
    name: 'upstream',
    value: 'ADDR[:PORT],…',
    description: 'upstream servers; none: refuse names outside our zones',
    default: 'those of /etc/resolv.conf',
  },
  {
    name: 'stub-zone',
    value: 'ZONE=ADDR[:PORT],…',
    description: 'upstream servers for a zone and everything below it',
    repeatable: true,
  },
  { name: 'upstream-tcp', ...booleanFlag, description: 'query upstreams over TCP only' },
  {
    name: 'upstream-mixed-case',
    ...booleanFlag,
    default: 'true',
    description:
      'randomize the case of query names and reject other replies; off for upstreams that do not keep the case',
  },
  {
    name: 'upstream-trust-ad',
    ...booleanFlag,
    description: 'pass on the AD flag of upstreams; only for validating upstreams in a trusted network',
  },
  {
    name: 'upstream-refuse-private',
    ...booleanFlag,
    description: 'remove private and loopback addresses from answers of --upstream; stub zones may return them',
  },
  { name: 'upstream-max-concurrent', value: 'N', description: 'concurrent queries to one upstream', default: '500' },
  { name: 'forward-max-concurrent', value: 'N', description: 'concurrent forwarded queries', default: '1000' },
  {
    name: 'forward-max-per-client',
    value: 'N',
    description: 'concurrent forwarded queries of one client',
    default: '256',
  },
  { name: 'forward-timeout', value: 'DURATION', description: 'deadline for a forwarded query', default: '4s' },
  {
    name: 'allow-recursion',
    value: 'CIDR,…',
    description: 'clients that may recurse',
    default: 'this machine and private networks',
  },
  {
    name: 'recursion-rate',
    value: 'N',
    description: 'recursive queries per second of one client; 0: no limit',
    default: '1000',
  },
]);

const cacheFlags = grouped('Cache', [
  { name: 'cache-entries', value: 'N', description: 'cached answers, positive and negative each', default: '10000' },
  {
    name: 'cache-memory',
    value: 'MIB',
    description: 'memory for cached answers, positive and negative each',
    default: '16',
  },
  { name: 'cache-max-ttl', value: 'SECONDS', description: 'maximum TTL of cached answers', default: '3600' },
  {
    name: 'cache-max-negative-ttl',
    value: 'SECONDS',
    description: 'maximum TTL of cached negative answers',
    default: '300',
  },
  { name: 'cache-min-ttl', value: 'SECONDS', description: 'minimum TTL of cached answers', default: '0' },
  {
    name: 'serve-stale',
    value: 'DURATION',
    description: 'how long expired answers are returned when upstreams fail; 0s: never',
    default: '24h',
  },
]);

const clientFlags = grouped('Clients and transfers', [
  {
    name: 'response-rate',
    value: 'N',
    description: 'UDP replies per second to one client; further replies are truncated or dropped; 0: no limit',
    default: '0',
  },
  { name: 'transfer-to', value: 'CIDR,…', description: 'clients that may transfer our zones', default: 'no clients' },
  { name: 'notify', value: 'ADDR[:PORT],…', description: 'secondaries that receive NOTIFY' },
]);

const healthFlags = grouped('Health and metrics', [
  {
    name: 'health-listen',
    value: 'ADDR:PORT',
    description: 'listen address of /health, /ready and /metrics; none: disabled',
    default: '127.0.0.1:10361',
  },
  {
    name: 'ready-listen',
    value: 'ADDR:PORT',
    description: 'listen address of /ready; none: disabled',
    default: 'that of --health-listen',
  },
  {
    name: 'metrics-listen',
    value: 'ADDR:PORT',
    description: 'listen address of /metrics; none: disabled',
    default: 'that of --health-listen',
  },
  {
    name: 'coredns-ports',
    ...booleanFlag,
    description: 'serve /health on :8080, /ready on :8181 and /metrics on :9153, as CoreDNS does',
  },
]);

/** All options of the DNS server, in the order in which help and configuration files list them. */
export const dnsFlags: readonly Flag[] = [
  ...listenFlags,
  ...zoneFlags,
  ...forwardFlags,
  ...cacheFlags,
  ...clientFlags,
  ...healthFlags,
];
