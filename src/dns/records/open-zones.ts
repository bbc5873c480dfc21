import type { ServedZones } from './apex.ts';
import { apexRecords, zoneOptions } from './apex.ts';
import type { ZoneOptions, ZonesOptions } from './zones.ts';
import { Zones } from './zones.ts';
import type { Name, RecordSet } from '../../dnswire/data.ts';
import type { RecordOptions } from './options.ts';
import { podOnDemand } from './pods.ts';
import { zoneOnDemand } from './zonal.ts';

/** The source of the zones' own records. */
const serverSource = 'Server';

export interface OpenZonesOptions extends Pick<ZonesOptions, 'now'> {
  /** Addresses at which clients reach this server. */
  readonly addresses: readonly string[];
  /** The zones that these replace, as after a reload: their serials continue. */
  readonly previous?: Zones | undefined;
}

/**
 * The served zones, with their own records only. Throws if a zone is given twice or a CIDR is malformed.
 */
export function openZones(served: ServedZones, { addresses, previous, ...options }: OpenZonesOptions): Zones {
  const apexes = zoneOptions(served).map((zone) => withSerial(zone, previous));
  const zones = new Zones(apexes, { ...options, onDemand: onDemandBy(served) });
  zones.put(serverSource, apexRecords(served, addresses));
  return zones;
}

function withSerial(options: ZoneOptions, previous: Zones | undefined): ZoneOptions {
  const zone = previous?.zoneOf(options.apex);
  const [soa] = zone?.apex === options.apex ? zone.soa().data : [];
  return soa?.type === 'SOA' ? { ...options, serial: soa.serial } : options;
}

/** Builds records of names that are too many to store; for `ZonesOptions.onDemand`. */
const onDemandBy =
  (options: RecordOptions) =>
  (name: Name, encloser: Name, zones: Zones): readonly RecordSet[] | undefined => {
    const isOneBelow = !name.slice(0, name.length - encloser.length - 1).includes('.');
    if (!isOneBelow) return undefined;
    if (encloser.startsWith('pin._zone.') || encloser.startsWith('prefer._zone.')) {
      return zoneOnDemand(name, encloser, zones);
    }
    return podOnDemand(name, encloser, options);
  };
