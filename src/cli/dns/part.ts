import { setFlagsFromString } from 'node:v8';

import type { DnsOptions } from '../../dns/options.ts';
import type { Endpoint } from '../../dns/forward/udp.ts';
import { machineHasIpv6 } from '../../dns/machine.ts';
import type { ClusterNetwork } from '../../dns/serving.ts';
import { descriptorShare } from '../../machine/descriptors.ts';
import { dnsFlags } from './flags.ts';
import { dnsOptionsOf, queryFlags } from './options.ts';
import { UsageError } from '../errors.ts';
import type { SettingsChanges } from '../part/config-reloader.ts';
import type { HealthAddress, LoadPart, Part } from '../part/part.ts';

/** `fairlead dns`: a DNS server for Services and imports that forwards other queries. */
export const part: Part = {
  name: 'dns',
  description: 'Answer DNS queries for the Services and imports of a cluster, and forward all others.',
  examples: [
    'fairlead dns --kubeconfig dns.kubeconfig --listen 127.0.0.1:1053',
    'dig @127.0.0.1 -p 1053 kubernetes.default.svc.cluster.local',
    'fairlead dns query web.default.svc.cluster.local',
  ],
  flags: dnsFlags,
  health(settings) {
    const { health, ready, metrics } = dnsOptionsOf(settings);
    // A web server on `::` accepts IPv4 as well, but fails on a machine without IPv6.
    const hostOf = (address: string): string => (address === '::' && !machineHasIpv6() ? '0.0.0.0' : address);
    const places = Object.entries({ health, ready, metrics }).flatMap(([what, at]) =>
      at === undefined ? [] : [{ at, flag: `${what}-listen` }],
    );
    return places
      .filter(({ at }, index) => places.findIndex((other) => isSamePlace(other.at, at)) === index)
      .map(({ at, flag }): HealthAddress => ({ host: hostOf(at.address), port: at.port, flag }));
  },
  // Imported when they run: a server needs neither.
  actions: {
    query: {
      usage: 'NAME [TYPE]',
      summary: 'print the answer to a query, and the objects and rules behind it',
      description:
        'Read the cluster as the server does, and print the answer to a query with the objects and rules it is made from.',
      examples: [
        'fairlead dns query web.default.svc.cluster.local',
        'fairlead dns query _http._tcp.web.default.svc.cluster.local SRV',
      ],
      flags: queryFlags,
      run: async (call) => (await import('./query.ts')).query(call),
    },
    'import-corefile': {
      usage: 'FILE',
      summary: 'print a configuration of CoreDNS as a file for --config',
      examples: ['fairlead dns import-corefile Corefile > dns.yaml', 'fairlead dns --config dns.yaml'],
      flags: [],
      isOffline: true,
      run: async (call) => (await import('./import-corefile.ts')).importCorefile(call),
    },
  },
  alone(settings, changes) {
    // With 1,000 Services, 17 of 75 MB of private memory were reserved for young objects; the server allocates few.
    setFlagsFromString('--semi-space-growth-factor=1');
    return load(within(descriptorShare('alone'), dnsOptionsOf(settings)), {}, changes);
  },
  inUp({ gates, serviceCidrs, settings = new Map(), dns = { address: '127.0.0.1', port: 1053 }, all }) {
    const given = setByUp.find((name) => settings.has(name));
    if (given !== undefined)
      throw new UsageError(`"${given}" under "dns" is for \`fairlead dns\`: up sets it for each cluster`);
    const options = within(
      descriptorShare('dns', all?.length),
      dnsOptionsOf(new Map([['lameduck', ['0s']], ...settings])),
    );
    const srvServiceNames = options.srvServiceNames && gates.enabled('SRVServiceName');
    return load({ ...options, srvServiceNames, listen: [dns] }, { clusterRanges: serviceCidrs });
  },
  flagsInUp: ({ settings = new Map() }) => settings,
};

/** Whether one server can be both. Port 0 given twice is two ports. */
const isSamePlace = (one: Endpoint, other: Endpoint): boolean =>
  one === other || (one.port !== 0 && one.port === other.port && one.address === other.address);

/** The limit with any number of descriptors. */
const maxConnections = 1024;

/** Limits the options to a number of descriptors: half for connections of clients, half for queries to upstreams. */
function within(descriptors: number, options: DnsOptions): DnsOptions {
  const { forward } = options;
  // A query is sent to up to two upstreams at once.
  const maxInFlight = Math.min(forward.maxInFlight ?? Infinity, Math.ceil(descriptors / 4));
  return {
    ...options,
    maxConnections: Math.min(maxConnections, Math.ceil(descriptors / 2)),
    forward: { ...forward, maxInFlight },
  };
}

/** Flags that `up` sets for each of its clusters. */
const setByUp = ['listen', 'share-port', 'health-listen', 'ready-listen', 'metrics-listen', 'coredns-ports'];

const load =
  (options: DnsOptions, cluster: ClusterNetwork, changes?: SettingsChanges): LoadPart =>
  async () => {
    // Worker threads load their code while this thread loads the rest.
    const { prestartThreads } = await import('../../dns/transport/thread.ts');
    prestartThreads(options.workers);
    const { startDns } = await import('../../dns/dns.ts');
    return (context) => {
      const dns = startDns(context, options, cluster);
      changes?.((settings) => {
        dns.reload(within(descriptorShare('alone'), dnsOptionsOf(settings))).catch((error: unknown) => {
          context.log.error({ err: error }, 'configuration not reloaded, the previous one stays in use');
        });
      });
      return dns;
    };
  };
