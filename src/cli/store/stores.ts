import { readdir } from 'node:fs/promises';
import { join } from 'node:path';

import { codesOf } from '../errors.ts';

/** The clusters with a store in a data directory, by name. */
export async function storedClusters(directory: string): Promise<readonly string[]> {
  try {
    const entries = await readdir(join(directory, 'clusters'), { withFileTypes: true });
    return entries
      .filter((entry) => entry.isDirectory())
      .map(({ name }) => name)
      .toSorted();
  } catch (error) {
    if (codesOf(error).includes('ENOENT')) return [];
    throw error;
  }
}
