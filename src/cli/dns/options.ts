import type { DnsOptions } from '../../dns/config.ts';
import { readDnsOptions } from '../../dns/config.ts';
import { dnsFlags } from '../../dns/config-flags.ts';
import { ConfigError } from '../../dns/config-values.ts';
import { UsageError } from '../errors.ts';
import type { Settings } from '../settings.ts';

/** What the flags say about the DNS server. Throws a UsageError. */
export function dnsOptionsOf(settings: Settings): DnsOptions {
  const own = new Set(dnsFlags.map(({ name }) => name));
  try {
    return readDnsOptions(new Map([...settings].filter(([name]) => own.has(name))));
  } catch (error) {
    throw error instanceof ConfigError ? new UsageError(error.message, { cause: error }) : error;
  }
}
