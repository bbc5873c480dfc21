import type { Name, RecordSet } from '../../dnswire/data.ts';
import type { RecordOptions } from './options.ts';
import { podOnDemand } from './pods.ts';
import { zoneOnDemand } from './zonal.ts';
import type { Zones } from './zones.ts';

/** Makes the records of names that are too many to be kept; for `ZonesOptions.onDemand`. */
export const onDemandBy =
  (options: RecordOptions) =>
  (name: Name, encloser: Name, zones: Zones): readonly RecordSet[] | undefined => {
    const isOneBelow = !name.slice(0, name.length - encloser.length - 1).includes('.');
    if (!isOneBelow) return undefined;
    if (encloser.startsWith('pin._zone.') || encloser.startsWith('prefer._zone.')) {
      return zoneOnDemand(name, encloser, zones);
    }
    return podOnDemand(name, encloser, options);
  };
