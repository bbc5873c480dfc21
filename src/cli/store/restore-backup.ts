import { readBackup } from '../../store/backup/format.ts';
import { restoreSqliteStore } from '../../store/sqlite/restore.ts';
import { UsageError } from '../errors.ts';
import { parseClusterName } from '../options/values.ts';
import type { Streams } from '../output.ts';
import { holdDataDirectory } from '../up/data-directory.ts';
import { linesOf, standard } from './file.ts';

export interface RestoreOptions {
  readonly file: string;
  readonly dataDir: string;
  readonly overwrites: boolean;
  /** By how much revisions increase. */
  readonly bump: number;
  readonly streams: Streams;
}

/** Creates a store from a backup. Returns the exit code. */
export async function restoreBackup({ file, dataDir, overwrites, bump, streams }: RestoreOptions): Promise<number> {
  const { header, records } = await readBackup(linesOf(file), file === standard ? 'standard input' : file);
  const cluster = clusterOf(header.cluster);
  await using directory = await holdDataDirectory(dataDir);
  const path = directory.at('clusters', cluster);
  const restored = await restoreSqliteStore({ path, records, after: header.revision + bump, overwrites });
  streams.err(
    `${path}: ${restored.records} records of cluster "${cluster}", which were at revision ${header.revision}, ` +
      `are at revision ${restored.revision}\n`,
  );
  if (restored.replaced !== undefined) streams.err(`the previous store is ${restored.replaced}\n`);
  return 0;
}

/** The name becomes a part of a path. */
function clusterOf(name: string): string {
  try {
    return parseClusterName(name);
  } catch (error) {
    throw new UsageError(`the backup is of a cluster with an invalid name: ${JSON.stringify(name)}`, { cause: error });
  }
}
