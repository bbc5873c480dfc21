import type { DnsOptions } from '../dns/config.ts';
import { readDnsOptions } from '../dns/config.ts';
import { dnsFlags } from '../dns/config-flags.ts';
import type { DnsSurroundings } from '../dns/serving.ts';
import { importCorefile } from './dns-actions/import-corefile.ts';
import { dnsOptionsOf } from './dns-actions/options.ts';
import { query } from './dns-actions/query.ts';
import type { SettingsChanges } from './part/followed-settings.ts';
import type { HealthPlace, LoadPart, Part } from './part/part.ts';

/** `fairlead dns`: answers for the names of Services and imports, and asks others for the rest. */
export const part: Part = {
  name: 'dns',
  description: 'Answer DNS for the Services of a cluster and what it imports, and forward all else.',
  example: `  fairlead dns --kubeconfig dns.kubeconfig --listen 127.0.0.1:1053
  fairlead dns query web.default.svc.cluster.local
  dig @127.0.0.1 -p 1053 kubernetes.default.svc.cluster.local`,
  flags: dnsFlags,
  health(settings) {
    const { health, ready, metrics } = dnsOptionsOf(settings);
    const places = [health, ready, metrics].filter((place) => place !== undefined);
    const unique = places.filter(
      ({ address, port }, index) =>
        port === 0 || places.findIndex((other) => other.address === address && other.port === port) === index,
    );
    return unique.map(({ address, port }): HealthPlace => ({ host: address, port }));
  },
  actions: { query, 'import-corefile': importCorefile },
  alone: (settings, changes) => load(dnsOptionsOf(settings), {}, changes),
  inUp: ({ gates, serviceCidrs, dns = { address: '127.0.0.1', port: 1053 } }) =>
    load(
      { ...readDnsOptions(new Map()), listen: [dns], lameduckMs: 0 },
      { clusterRanges: serviceCidrs, srvServiceNames: gates.enabled('SRVServiceName') },
    ),
};

const load =
  (options: DnsOptions, surroundings: DnsSurroundings, changes?: SettingsChanges): LoadPart =>
  async () => {
    const { startDns } = await import('../dns/dns.ts');
    return (context) => {
      const dns = startDns(context, options, surroundings);
      changes?.((settings) => {
        dns.reload(dnsOptionsOf(settings)).catch((error: unknown) => {
          context.log.error({ err: error }, 'DNS goes on by the old configuration');
        });
      });
      return dns;
    };
  };
