// Records that do not depend on Services: of zones and of namespaces.
import type { Name, RecordSet } from '../../dnswire/data.ts';
import { addressSets, canonical, reverseZones } from './addresses.ts';
import type { RecordOptions } from './options.ts';
import { ttlOf } from './options.ts';
import type { ZoneOptions } from './zone.ts';
import { podDomain } from './pods.ts';

/** The schema version of a cluster's own zone. */
const schemaVersion = '1.1.0';
/** The schema version of multi-cluster zones. */
const multiclusterSchemaVersion = '1.0.0';

export interface ServedZones extends RecordOptions {
  /**
   * The CIDRs for whose addresses the server is authoritative. By default it answers all reverse queries, and forwards
   * those that it has no records for.
   */
  readonly reverseCidrs?: readonly string[];
  /** TTL of negative answers in seconds; 5, or `ttl`, by default. */
  readonly negativeTtl?: number;
}

const primaryOf = (zone: Name): Name => `ns.dns.${zone}`;

/** The options of all zones. Throws if a CIDR is malformed. */
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
    if (zones === undefined) throw new Error(`reverse zone "${cidr}" is not a CIDR: write it as in 10.96.0.0/12`);
    return zones;
  });
  return [...new Set(apexes)].map((apex) => ({ apex }));
}

/** The records of the zones themselves: name server, its addresses, and schema version. */
export function apexRecords(served: ServedZones, addresses: readonly string[]): readonly RecordSet[] {
  const { clusterDomain } = served;
  const ttl = ttlOf(served, 'stable');
  const own = addresses.flatMap((address) => canonical(address) ?? []);
  const forward = forwardZones(served).flatMap((zone) => [
    nameServer(zone, primaryOf(zone), ttl),
    // Without addresses a query for the name server is NODATA rather than NXDOMAIN.
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

/** A name without records. */
export const emptyName = (owner: Name): RecordSet => ({ owner, type: 'TXT', ttl: 0, data: [] });

/** Makes the names of a namespace exist in all zones, so that they are NODATA and not NXDOMAIN. */
export function namespaceRecords(namespace: string, options: RecordOptions): readonly RecordSet[] {
  const { clusterDomain, clustersetDomain, superclusterDomain, pods = 'disabled' } = options;
  const zones = [clusterDomain, clustersetDomain, superclusterDomain].filter((zone) => zone !== undefined);
  const names = zones.map((zone) => `${namespace}.svc.${zone}`);
  if (pods === 'verified') names.push(podDomain(namespace, clusterDomain));
  return names.map(emptyName);
}

/** The names of a namespace below which records of Pods are built on demand. */
export const namespaceDynamicNames = (namespace: string, { pods, clusterDomain }: RecordOptions): readonly Name[] =>
  pods === 'insecure' ? [podDomain(namespace, clusterDomain)] : [];
