// Where a backup is read from: a running server, or a store that no server uses.

import { messageOf } from '../../api/error-message.ts';
import { isStatusError } from '../../api/errors.ts';
import { overHttps } from '../../client/https.ts';
import { backupPath } from '../../server/nonresource/backup.ts';
import { encodeBackup } from '../../store/backup/format.ts';
import { snapshot } from '../../store/backup/snapshot.ts';
import { existingStore } from '../../store/sqlite/restore.ts';
import type { Store } from '../../store/store.ts';
import { FatalError, UsageError } from '../errors.ts';
import type { Settings } from '../options/flags.ts';
import { textOf } from '../options/flags.ts';
import type { Streams } from '../output.ts';
import { findCluster, readClusterAccess } from '../part/cluster-access.ts';
import { version } from '../program.ts';
import { holdDataDirectory } from '../up/data-directory.ts';
import { dataDirOf, stateOf } from '../up/stored-clusters.ts';
import { storedClusters } from './stores.ts';

/** A store as the lines of a backup. */
export interface Source extends AsyncDisposable {
  /** For messages. */
  readonly name: string;
  /** Read once. */
  readonly lines: AsyncIterable<string>;
}

/** The source that the flags select: a server of a kubeconfig, the server of a data directory, or its store. */
export async function openSource(settings: Settings, { err }: Pick<Streams, 'err'>): Promise<Source> {
  if (settings.has('kubeconfig') || settings.has('context')) return serverSource(settings);
  const directory = dataDirOf(settings);
  const state = await stateOf(directory);
  if (state !== undefined) {
    const cluster = chosen(
      settings,
      directory,
      state.clusters.map(({ name }) => name),
    );
    const running = new Map(settings).set('kubeconfig', [`${directory}/kubeconfig`]).set('context', [cluster]);
    return serverSource(running);
  }
  return sqliteSource(settings, directory, err);
}

async function serverSource(settings: Settings): Promise<Source> {
  const access = await readClusterAccess(await findCluster(settings, process.env), process.env);
  const transport = overHttps(access, { userAgent: `fairlead-store/${version}` });
  const name = `the server ${access.server}`;
  async function* lines(): AsyncGenerator<string, void> {
    try {
      yield* transport.stream({ method: 'GET', path: backupPath, accept: '*/*' });
    } catch (error) {
      if (!isStatusError(error))
        throw new FatalError(`cannot read from ${name}: ${messageOf(error)}`, { cause: error });
      const advice: Readonly<Record<number, string>> = {
        403: ': a backup contains every Secret and needs the rights of cluster-admin',
        404: ': it does not serve backups; use a server of this release',
      };
      throw new FatalError(`${name} refused the backup: ${messageOf(error)}${advice[error.status.code ?? 0] ?? ''}`);
    }
  }
  return { name, lines: lines(), [Symbol.asyncDispose]: async () => transport[Symbol.dispose]() };
}

async function sqliteSource(settings: Settings, directory: string, err: Streams['err']): Promise<Source> {
  const cluster = chosen(settings, directory, await storedClusters(directory));
  await using stack = new AsyncDisposableStack();
  const held = stack.use(await holdDataDirectory(directory));
  const path = held.at('clusters', cluster);
  const file = await existingStore(path);
  if (file === undefined) throw new UsageError(`${directory} has no store of cluster "${cluster}"`);
  const { openSqliteStore } = await import('../../store/sqlite/sqlite.ts');
  const store = stack.use(
    await openSqliteStore({
      path,
      onNotice: ({ message, keys }) => err(`${message}: ${JSON.stringify(keys)}\n`),
    }),
  );
  return storeSource(file, { store, cluster, resources: stack.move() });
}

/** The source of an open store, which it closes. */
async function storeSource(
  name: string,
  {
    store,
    cluster,
    resources,
  }: { readonly store: Store; readonly cluster: string; readonly resources: AsyncDisposable },
): Promise<Source> {
  const backup = await snapshot(store, cluster, new Date());
  async function* lines(): AsyncGenerator<string, void> {
    for (const piece of encodeBackup(backup)) yield* piece.split('\n').slice(0, -1);
  }
  return { name, lines: lines(), [Symbol.asyncDispose]: () => resources[Symbol.asyncDispose]() };
}

/** The cluster of `--cluster`, or the only one. */
function chosen(settings: Settings, directory: string, clusters: readonly string[]): string {
  const wanted = textOf(settings, 'cluster');
  const [first] = clusters;
  if (first === undefined) throw new UsageError(`${directory} has no stores: pass --data-dir of a server`);
  if (wanted === undefined && clusters.length === 1) return first;
  if (wanted !== undefined && clusters.includes(wanted)) return wanted;
  const names = clusters.join(', ');
  if (wanted === undefined) throw new UsageError(`${directory} has several clusters: pass --cluster, one of ${names}`);
  throw new UsageError(`${directory} has no cluster "${wanted}": there are ${names}`);
}
