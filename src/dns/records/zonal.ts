// Records of headless Services by topology zone, as in CoreDNS: `pin` never leaves the zone, `prefer` does if it is empty.
import { dnsLabelErrors } from '../../api/names.ts';
import type { Name, RecordSet } from '../../dnswire/data.ts';
import { addressSets } from './addresses.ts';
import type { NamedAddress } from './endpoints.ts';
import { isWithin } from '../../dnswire/name.ts';
import type { Zones } from './zones.ts';

const modes = ['pin', 'prefer'] as const;

/** The names of a service below which zone names exist. */
export const zonalNames = (service: Name): readonly Name[] => modes.map((mode) => `${mode}._zone.${service}`);

/** The address records of each zone that has endpoints. */
export function zonalRecords(service: Name, ttl: number, addresses: readonly NamedAddress[]): readonly RecordSet[] {
  const byZone = Map.groupBy(addresses, ({ zone = '' }) => zone.toLowerCase());
  return [...byZone].flatMap(([zone, found]) => {
    if (dnsLabelErrors(zone).length > 0) return [];
    const own = found.map(({ address }) => address);
    return zonalNames(service).flatMap((name) => addressSets(`${zone}.${name}`, ttl, own));
  });
}

/** The records of a zone without ready endpoints: none for `pin`, those of all zones for `prefer`. */
export function zoneOnDemand(name: Name, encloser: Name, zones: Zones): readonly RecordSet[] | undefined {
  const label = name.slice(0, name.length - encloser.length - 1);
  if (dnsLabelErrors(label).length > 0) return undefined;
  if (encloser.startsWith('pin._zone.')) return [{ owner: name, type: 'A', ttl: 0, data: [] }];
  const service = encloser.slice('prefer._zone.'.length);
  const sets = isWithin(encloser, service) ? zones.find(service)?.sets : undefined;
  return [...(sets?.values() ?? [])].flatMap((set) =>
    set.type === 'A' || set.type === 'AAAA' ? [{ ...set, owner: name }] : [],
  );
}
