import type { DnsOptions } from '../../dns/config.ts';
import { readDnsOptions } from '../../dns/config.ts';
import { dnsFlags } from '../../dns/config-flags.ts';
import { ConfigError } from '../../dns/config-values.ts';
import { UsageError } from '../errors.ts';
import type { Flag, Settings } from '../options/flags.ts';

export { dnsFlags };

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

/** Reads the flags of the DNS server. Throws a UsageError. */
export function dnsOptionsOf(settings: Settings): DnsOptions {
  const own = new Set(dnsFlags.map(({ name }) => name));
  try {
    return readDnsOptions(new Map([...settings].filter(([name]) => own.has(name))));
  } catch (error) {
    throw error instanceof ConfigError ? new UsageError(error.message, { cause: error }) : error;
  }
}
