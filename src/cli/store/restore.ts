import { EtcdPrefixError } from '../../store/errors.ts';
import type { BackupReader } from '../../store/backup/format.ts';
import { readBackup } from '../../store/backup/format.ts';
import { backupOf } from '../../store/backup/snapshot.ts';
import { restoreSqliteStore } from '../../store/sqlite/restore.ts';
import { FatalError, UsageError } from '../errors.ts';
import type { Settings } from '../options/flags.ts';
import { parseClusterName } from '../options/values.ts';
import type { Streams } from '../output.ts';
import { holdDataDirectory } from '../up/data-directory.ts';
import { loadEtcdConnection, readEtcdConnection } from '../up/etcd.ts';
import { writeToFile } from './file.ts';
import type { Location } from './location.ts';
import { nameOf } from './location.ts';
import { linesOfBackup, openLocation } from './source.ts';

export interface RestoreOptions {
  readonly to: Location;
  readonly overwrites: boolean;
  /** By how much revisions increase. */
  readonly bump: number;
  /** With the flags for etcd. */
  readonly settings: Settings;
  readonly streams: Pick<Streams, 'err'>;
}

interface Restored {
  readonly records: number;
  /** The revision of the new store. */
  readonly revision: number;
  /** Where the previous store is kept, if there was one. */
  readonly replaced?: string | undefined;
}

/** Creates a store from the lines of a backup, whose name is for errors. Returns the exit code. */
export async function restore(lines: AsyncIterable<string>, name: string, options: RestoreOptions): Promise<number> {
  const { to, streams } = options;
  const backup = await readBackup(lines, name);
  const { revision } = backup.header;
  const cluster = clusterOf(backup.header.cluster);
  const restored = to.engine === 'sqlite' ? await intoSqlite(backup, to, options) : await intoEtcd(backup, to, options);
  streams.err(
    `${nameOf(to)}: ${restored.records} records of cluster "${cluster}", which were at revision ${revision}, ` +
      `are at revision ${restored.revision}\n`,
  );
  if (restored.replaced !== undefined) streams.err(`the previous store is ${restored.replaced}\n`);
  return 0;
}

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

async function intoSqlite(
  { header, records }: BackupReader,
  { directory }: Location & { readonly engine: 'sqlite' },
  { overwrites, bump }: RestoreOptions,
): Promise<Restored> {
  await using held = await holdDataDirectory(directory);
  const path = held.at('clusters', header.cluster);
  return restoreSqliteStore({ path, records, after: header.revision + bump, overwrites });
}

async function intoEtcd(
  { header, records }: BackupReader,
  location: Location & { readonly engine: 'etcd' },
  { overwrites, bump, settings }: RestoreOptions,
): Promise<Restored> {
  const { endpoints, prefix } = location;
  const { cluster } = header;
  const address = { ...(await loadEtcdConnection(readEtcdConnection(settings, endpoints))), prefix };
  const { restoreEtcdStore } = await import('../../store/etcd/restore.ts');
  const replaced = overwrites ? await keepPrevious(address) : undefined;
  const restored = await restoreEtcdStore({ ...address, cluster, records, after: header.revision + bump, overwrites });
  return { ...restored, replaced };
}

/** Writes a backup of the state that is replaced, if there is a complete one. Returns the name of its file. */
async function keepPrevious(address: {
  readonly endpoints: readonly string[];
  readonly prefix: string;
}): Promise<string | undefined> {
  const { readEtcdState } = await import('../../store/etcd/read.ts');
  try {
    const { cluster, ...state } = await readEtcdState(address);
    if (cluster === undefined) return undefined;
    const file = `${cluster}-${state.revision}.backup`;
    await writeToFile(file, linesOfBackup(backupOf({ ...state, cluster }, new Date())), { overwrites: true });
    return file;
  } catch (error) {
    if (error instanceof EtcdPrefixError) return undefined; // nothing to keep
    throw error;
  }
}

/** The name becomes a part of a path. */
function clusterOf(name: string): string {
  try {
    return parseClusterName(name);
  } catch (error) {
    throw new UsageError(`the backup is of a cluster with an invalid name: ${JSON.stringify(name)}`, { cause: error });
  }
}
