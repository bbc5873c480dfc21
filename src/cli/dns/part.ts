import { setFlagsFromString } from 'node:v8';

import type { DnsOptions } from '../../dns/config.ts';
import { dnsFlags } from '../../dns/config-flags.ts';
import { machineHasIpv6 } from '../../dns/machine.ts';
import type { ClusterNetwork } from '../../dns/serving.ts';
import { descriptorShare } from '../../machine/descriptors.ts';
import { dnsOptionsOf } from './options.ts';
import { UsageError } from '../errors.ts';
import type { SettingsChanges } from '../part/config-reloader.ts';
import type { HealthPlace, LoadPart, Part, PartAction } from '../part/part.ts';

/** `fairlead dns`: serves DNS for Services and imports, and forwards other names. */
export const part: Part = {
  name: 'dns',
  description: 'Answer DNS for the Services of a cluster and what it imports, and forward all else.',
  example: `  fairlead dns --kubeconfig dns.kubeconfig --listen 127.0.0.1:1053
  fairlead dns query web.default.svc.cluster.local
  dig @127.0.0.1 -p 1053 kubernetes.default.svc.cluster.local`,
  flags: dnsFlags,
  health(settings) {
    const { health, ready, metrics } = dnsOptionsOf(settings);
    // A web server at `::` takes IPv4 too, but needs IPv6 to be there.
    const hostOf = (address: string): string => (address === '::' && !machineHasIpv6() ? '0.0.0.0' : address);
    const places = Object.entries({ health, ready, metrics }).flatMap(([what, place]): readonly HealthPlace[] =>
      place === undefined ? [] : [{ host: hostOf(place.address), port: place.port, flag: `${what}-listen` }],
    );
    return places.filter(
      ({ host, port }, index) =>
        port === 0 || places.findIndex((other) => other.host === host && other.port === port) === index,
    );
  },
  // Loaded when they are asked for: a server needs neither.
  actions: {
    query: {
      usage: 'NAME [TYPE]',
      summary: 'the answer of a cluster, and which object or rule made it',
      run: async (call) => (await import('./query.ts')).query(call),
    },
    'import-corefile': {
      usage: 'FILE',
      summary: "print CoreDNS' configuration as one for --config",
      run: async (call) => (await import('./import-corefile.ts')).importCorefile(call),
    },
  } satisfies Record<string, PartAction>,
  alone(settings, changes) {
    // Of the 75 MB that were this process' own with 1,000 Services, 17 were room for young objects, of which it makes few.
    setFlagsFromString('--semi-space-growth-factor=1');
    return load(within(descriptorShare('alone'), dnsOptionsOf(settings)), {}, changes);
  },
  inUp({ gates, serviceCidrs, settings = new Map(), dns = { address: '127.0.0.1', port: 1053 }, all }) {
    const given = saidByUp.find((name) => settings.has(name));
    if (given !== undefined)
      throw new UsageError(`"${given}" under "dns" is for \`fairlead dns\`: up has its own place`);
    const options = within(
      descriptorShare('dns', all?.length),
      dnsOptionsOf(new Map([['lameduck', ['0s']], ...settings])),
    );
    const srvServiceNames = options.srvServiceNames && gates.enabled('SRVServiceName');
    return load({ ...options, srvServiceNames, listen: [dns] }, { clusterRanges: serviceCidrs });
  },
};

/** As many as clients of one server use. */
const mostConnections = 1024;

/** Options that take no more than so many descriptors: half for connections of clients, half for queries to upstreams. */
function within(descriptors: number, options: DnsOptions): DnsOptions {
  const { forward } = options;
  // A query may be sent to two upstreams at once.
  const maxInFlight = Math.min(forward.maxInFlight ?? Infinity, Math.ceil(descriptors / 4));
  return {
    ...options,
    maxConnections: Math.min(mostConnections, Math.ceil(descriptors / 2)),
    forward: { ...forward, maxInFlight },
  };
}

/** What `up` decides for each of its clusters. */
const saidByUp = ['listen', 'share-port', 'health-listen', 'ready-listen', 'metrics-listen'];

const load =
  (options: DnsOptions, cluster: ClusterNetwork, changes?: SettingsChanges): LoadPart =>
  async () => {
    // Threads load their own code while this one loads the rest.
    const { prestartThreads } = await import('../../dns/transport/thread.ts');
    prestartThreads(options.workers);
    const { startDns } = await import('../../dns/dns.ts');
    return (context) => {
      const dns = startDns(context, options, cluster);
      changes?.((settings) => {
        dns.reload(within(descriptorShare('alone'), dnsOptionsOf(settings))).catch((error: unknown) => {
          context.log.error({ err: error }, 'reload failed, the previous configuration stays in use');
        });
      });
      return dns;
    };
  };
