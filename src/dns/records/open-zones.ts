import type { ServedZones } from './apex.ts';
import { apexRecords, zoneOptions } from './apex.ts';
import { onDemandBy } from './on-demand.ts';
import type { ZoneOptions, ZonesOptions } from './zones.ts';
import { Zones } from './zones.ts';

/** The source of what zones say of themselves. */
const serverSource = 'Server';

export interface OpenZonesOptions extends Pick<ZonesOptions, 'now'> {
  /** Where this server is reached. When that changes, put `apexRecords` under `serverSource` again. */
  readonly addresses: readonly string[];
  /** The zones that these take over from, as after a reload: serials go on from theirs. */
  readonly before?: Zones | undefined;
}

/**
 * The zones that are served, with what they say of themselves and nothing else yet. Throws if a zone is given twice or a
 * CIDR cannot be read.
 */
export function openZones(served: ServedZones, { addresses, before, ...options }: OpenZonesOptions): Zones {
  const apexes = zoneOptions(served).map((zone) => withSerial(zone, before));
  const zones = new Zones(apexes, { ...options, onDemand: onDemandBy(served) });
  zones.put(serverSource, apexRecords(served, addresses));
  return zones;
}

function withSerial(options: ZoneOptions, before: Zones | undefined): ZoneOptions {
  const zone = before?.zoneOf(options.apex);
  const [soa] = zone?.apex === options.apex ? zone.soa().data : [];
  return soa?.type === 'SOA' ? { ...options, serial: soa.serial } : options;
}
