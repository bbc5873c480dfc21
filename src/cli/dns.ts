import type { DnsOptions } from '../dns/config.ts';
import { readDnsOptions } from '../dns/config.ts';
import { dnsFlags } from '../dns/config-flags.ts';
import { ConfigError } from '../dns/config-values.ts';
import type { DnsSurroundings } from '../dns/serving.ts';
import { UsageError } from './errors.ts';
import type { HealthPlace, LoadPart, Part } from './part/part.ts';
import type { Settings } from './settings.ts';

/** `fairlead dns`: answers for the names of Services and imports, and asks others for the rest. */
export const part: Part = {
  name: 'dns',
  description: 'Answer DNS for the Services of a cluster and what it imports, and forward all else.',
  example: `  fairlead dns --kubeconfig dns.kubeconfig --listen 127.0.0.1:1053
  dig @127.0.0.1 -p 1053 kubernetes.default.svc.cluster.local`,
  flags: dnsFlags,
  health(settings) {
    const { health, ready, metrics } = optionsOf(settings);
    const places = [health, ready, metrics].filter((place) => place !== undefined);
    const unique = places.filter(
      ({ address, port }, index) =>
        port === 0 || places.findIndex((other) => other.address === address && other.port === port) === index,
    );
    return unique.map(({ address, port }): HealthPlace => ({ host: address, port }));
  },
  alone: (settings) => load(optionsOf(settings)),
  inUp: ({ gates, serviceCidrs, dns = { address: '127.0.0.1', port: 1053 } }) =>
    load(
      { ...readDnsOptions(new Map()), listen: [dns], lameduckMs: 0 },
      { clusterRanges: serviceCidrs, srvServiceNames: gates.enabled('SRVServiceName') },
    ),
};

const load =
  (options: DnsOptions, surroundings: DnsSurroundings = {}): LoadPart =>
  async () => {
    const { startDns } = await import('../dns/dns.ts');
    return (context) => startDns(context, options, surroundings);
  };

function optionsOf(settings: Settings): DnsOptions {
  const own = new Set(dnsFlags.map(({ name }) => name));
  try {
    return readDnsOptions(new Map([...settings].filter(([name]) => own.has(name))));
  } catch (error) {
    throw error instanceof ConfigError ? new UsageError(error.message, { cause: error }) : error;
  }
}
