import type { ServedZones } from './apex.ts';
import { apexRecords, zoneOptions } from './apex.ts';
import { onDemandBy } from './on-demand.ts';
import type { ZonesOptions } from './zones.ts';
import { Zones } from './zones.ts';

/** The source of what zones say of themselves. */
export const serverSource = 'Server';

/**
 * The zones that are served, with what they say of themselves and nothing else yet. `addresses` are those at which this
 * server is reached; when they change, put `apexRecords` under `serverSource` again. Throws if a zone is given twice or a
 * CIDR cannot be read.
 */
export function openZones(
  served: ServedZones,
  { addresses, ...options }: { readonly addresses: readonly string[] } & Pick<ZonesOptions, 'now'>,
): Zones {
  const zones = new Zones(zoneOptions(served), { ...options, onDemand: onDemandBy(served) });
  zones.put(serverSource, apexRecords(served, addresses));
  return zones;
}
