import { FatalError } from '../errors.ts';
import type { Location } from './location.ts';
import type { RestoreOptions } from './restore.ts';
import { restore } from './restore.ts';
import { openLocation } from './source.ts';

/** Copies a store that no server uses. Returns the exit code. */
export async function copyStore(from: Location, options: RestoreOptions): Promise<number> {
  await using source = await openLocation(from, options.settings, options.streams);
  if (source.servers.length > 0) {
    throw new FatalError(
      `${source.name} is used by ${source.servers.join(', ')}: stop these servers, so that no write is lost (a killed server ` +
        'is listed for 15 s), or copy a backup of `fairlead store backup`',
    );
  }
  return await restore(source.lines, source.name, options);
}
