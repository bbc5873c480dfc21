/** A key of the configuration file, and the flag of the same name. */
export interface ConfigFlag {
  /** Without the dashes: `cluster-domain`. */
  readonly name: string;
  /** What stands for the value in help: `NAME`. */
  readonly value: string;
  readonly description: string;
  /** What the flag means without a value; left out: it needs one. */
  readonly bare?: string;
  /** May be given several times; a list in a file. */
  readonly repeatable?: true;
  readonly default?: string;
}

const yes = { value: 'true|false', bare: 'true', default: 'false' } as const;

const zoneFlags: readonly ConfigFlag[] = [
  {
    name: 'listen',
    value: 'ADDR:PORT',
    description: 'where to answer, over UDP and TCP',
    repeatable: true,
    default: ':53',
  },
  { name: 'workers', value: 'N', description: 'threads that answer', default: '1' },
  {
    name: 'share-port',
    ...yes,
    description: 'listen beside another server that shares its port too, once all is read: a takeover without a gap',
  },
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
    description: 'addresses whose names are ours alone; by default any, and upstream what is not found',
  },
  { name: 'ttl', value: 'SECONDS', description: 'of every record, 0 to 3600; by default longer for what is stable' },
  {
    name: 'negative-ttl',
    value: 'SECONDS',
    description: 'how long others remember that a name does not exist',
    default: '5',
  },
  { name: 'pods', value: 'MODE', description: 'names of Pods: disabled, insecure or verified', default: 'disabled' },
  { name: 'endpoint-pod-names', ...yes, description: 'call endpoints after their Pods, not their addresses' },
  { name: 'ignore-empty-service', ...yes, description: 'a Service without ready endpoints does not exist' },
  { name: 'no-endpoints', ...yes, description: 'leave out headless Services and names of endpoints' },
  { name: 'zonal', ...yes, description: 'headless Services by topology zone: ZONE.pin._zone.SERVICE' },
  {
    name: 'srv-service-names',
    ...yes,
    default: 'true',
    description: 'heed srvServiceName of ports, as the gate SRVServiceName says on a server',
  },
  { name: 'namespaces', value: 'A,B', description: 'serve these namespaces only' },
  { name: 'search-completion', ...yes, description: "walk a Pod's search list for it (ndots:5)" },
  { name: 'filter-aaaa', ...yes, description: 'say that names outside our zones have no IPv6 addresses' },
];

const forwardFlags: readonly ConfigFlag[] = [
  {
    name: 'upstream',
    value: 'ADDR[:PORT],…',
    description: 'servers to ask for all other names; none: refuse them; by default those of /etc/resolv.conf',
  },
  {
    name: 'stub-zone',
    value: 'ZONE=ADDR[:PORT],…',
    description: 'servers to ask for one zone and all below it',
    repeatable: true,
  },
  { name: 'upstream-tcp', ...yes, description: 'ask over TCP only' },
  {
    name: 'upstream-mixed-case',
    ...yes,
    default: 'true',
    description:
      'randomize the case of query names and reject other replies; off for upstreams that do not keep the case',
  },
  {
    name: 'upstream-trust-ad',
    ...yes,
    description: 'pass on the AD flag of upstreams; only for validating upstreams in a trusted network',
  },
  {
    name: 'upstream-refuse-private',
    ...yes,
    description: 'remove private and loopback addresses from answers of --upstream; stub zones may return them',
  },
  { name: 'upstream-max-concurrent', value: 'N', description: 'questions to one upstream at once', default: '500' },
  { name: 'forward-max-concurrent', value: 'N', description: 'different questions forwarded at once', default: '1000' },
  {
    name: 'forward-max-per-client',
    value: 'N',
    description: 'questions of one client that wait at once',
    default: '256',
  },
  { name: 'forward-timeout', value: 'DURATION', description: 'when there must be an answer', default: '4s' },
  {
    name: 'allow-recursion',
    value: 'CIDR,…',
    description: 'who may ask for names of others; by default this machine and private networks',
  },
  { name: 'recursion-rate', value: 'N', description: 'questions a second of one client; 0: no limit', default: '1000' },
  { name: 'cache-entries', value: 'N', description: 'answers kept, found and denied each', default: '10000' },
  { name: 'cache-memory', value: 'MIB', description: 'memory for answers, found and denied each', default: '16' },
  { name: 'cache-max-ttl', value: 'SECONDS', description: 'how long an answer counts at most', default: '3600' },
  { name: 'cache-max-negative-ttl', value: 'SECONDS', description: 'how long a denial counts at most', default: '300' },
  { name: 'cache-min-ttl', value: 'SECONDS', description: 'how long an answer counts at least', default: '0' },
  {
    name: 'serve-stale',
    value: 'DURATION',
    description: 'how long answers past their time are given when upstreams fail; 0s: never',
    default: '24h',
  },
];

const operationFlags: readonly ConfigFlag[] = [
  {
    name: 'response-rate',
    value: 'N',
    description: 'UDP replies per second to one client; further replies are truncated or dropped; 0: no limit',
    default: '0',
  },
  { name: 'transfer-to', value: 'CIDR,…', description: 'who may transfer our zones; nobody by default' },
  { name: 'notify', value: 'ADDR[:PORT],…', description: 'secondaries to tell of changes' },
  { name: 'health-listen', value: 'ADDR:PORT', description: '/health; none: nowhere', default: ':8080' },
  { name: 'ready-listen', value: 'ADDR:PORT', description: '/ready; none: nowhere', default: ':8181' },
  { name: 'metrics-listen', value: 'ADDR:PORT', description: '/metrics; none: nowhere', default: ':9153' },
  { name: 'lameduck', value: 'DURATION', description: 'answer on for so long after being told to stop', default: '5s' },
];

/** All keys of the DNS server's configuration, in the order they are shown. */
export const dnsFlags: readonly ConfigFlag[] = [...zoneFlags, ...forwardFlags, ...operationFlags];
