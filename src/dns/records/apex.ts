// What every zone has, whatever the cluster holds.
import type { Name, RecordSet } from '../../dnswire/data.ts';
import { addressSets, canonical, reverseZones } from './addresses.ts';
import { emptyName } from './namespaces.ts';
import type { RecordOptions } from './options.ts';
import { ttlOf } from './options.ts';
import type { ZoneOptions } from './zone.ts';

/** The version of the schema that a cluster's own zone follows. */
const schemaVersion = '1.1.0';
/** The version of the schema that zones of several clusters follow. */
const multiclusterSchemaVersion = '1.0.0';

export interface ServedZones extends RecordOptions {
  /**
   * The CIDRs whose addresses are ours to name. By default every reverse name is looked for here, and upstream where it
   * is not found.
   */
  readonly reverseCidrs?: readonly string[];
  /** Seconds for which others may remember that a name does not exist; 5, or `ttl`, by default. */
  readonly negativeTtl?: number;
}

const primaryOf = (zone: Name): Name => `ns.dns.${zone}`;

/** The zones that are served. Throws if a CIDR cannot be read. */
export function zoneOptions(served: ServedZones): readonly ZoneOptions[] {
  const { clusterDomain, negativeTtl = served.ttl ?? 5 } = served;
  const forward = forwardZones(served).map((apex) => ({ apex, negativeTtl }));
  const contact = { primary: primaryOf(clusterDomain), mailbox: `hostmaster.${clusterDomain}` };
  const reverse = reverseApexes(served).map((zone) => ({ ...zone, negativeTtl, ...contact }));
  return [...forward, ...reverse];
}

const forwardZones = ({ clusterDomain, clustersetDomain, superclusterDomain }: RecordOptions): readonly Name[] =>
  [clusterDomain, clustersetDomain, superclusterDomain].filter((zone) => zone !== undefined);

function reverseApexes({ reverseCidrs }: ServedZones): readonly Pick<ZoneOptions, 'apex' | 'fallthrough'>[] {
  if (reverseCidrs === undefined) return ['in-addr.arpa', 'ip6.arpa'].map((apex) => ({ apex, fallthrough: true }));
  const apexes = reverseCidrs.flatMap((cidr) => {
    const zones = reverseZones(cidr);
    if (zones === undefined) throw new Error(`reverse zone "${cidr}" is no CIDR: write it as in 10.96.0.0/12`);
    return zones;
  });
  return [...new Set(apexes)].map((apex) => ({ apex }));
}

/** What to say of the zones themselves: their name server, at our addresses, and the version of their schema. */
export function apexRecords(served: ServedZones, addresses: readonly string[]): readonly RecordSet[] {
  const { clusterDomain } = served;
  const ttl = ttlOf(served, 'stable');
  const own = addresses.flatMap((address) => canonical(address) ?? []);
  const forward = forwardZones(served).flatMap((zone) => [
    nameServer(zone, primaryOf(zone), ttl),
    // Somebody who asks where the name server is learns that it has no address, not that there is none.
    ...(own.length === 0 ? [emptyName(primaryOf(zone))] : addressSets(primaryOf(zone), ttl, own)),
    version(zone, zone === clusterDomain ? schemaVersion : multiclusterSchemaVersion, ttlOf(served, 'version')),
    emptyName(`svc.${zone}`),
  ]);
  const reverse = reverseApexes(served).map(({ apex }) => nameServer(apex, primaryOf(clusterDomain), ttl));
  return [...forward, emptyName(`pod.${clusterDomain}`), ...reverse];
}

const nameServer = (zone: Name, target: Name, ttl: number): RecordSet => ({
  owner: zone,
  type: 'NS',
  ttl,
  data: [{ type: 'NS', target }],
});

const version = (zone: Name, text: string, ttl: number): RecordSet => ({
  owner: `dns-version.${zone}`,
  type: 'TXT',
  ttl,
  data: [{ type: 'TXT', text: [text] }],
});
