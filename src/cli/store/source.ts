// Where a backup is read from: a running server, or a store that no server uses.

import { randomUUID } from 'node:crypto';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';

import { isStatusError } from '../../api/errors.ts';
import { compareText } from '../../api/order.ts';
import { connectionReason } from '../../client/connection-error.ts';
import { overHttps } from '../../client/https.ts';
import { planClaims } from '../../server/allocate/claim-plan.ts';
import { addressPrefix, portPrefix } from '../../server/allocate/claims.ts';
import { claimFor } from '../../server/allocate/repair-claims.ts';
import { backupPath } from '../../server/nonresource/backup.ts';
import type { Backup } from '../../store/backup/format.ts';
import { encodeBackup } from '../../store/backup/format.ts';
import { backupOf, serversPrefix, snapshot } from '../../store/backup/snapshot.ts';
import type { Entry } from '../../store/store.ts';
import { existingStore } from '../../store/sqlite/restore.ts';
import { codesOf, FatalError, UsageError } from '../errors.ts';
import type { Settings } from '../options/flags.ts';
import { readFlag, textOf } from '../options/flags.ts';
import type { Streams } from '../output.ts';
import { findCluster, readClusterAccess } from '../part/cluster-access.ts';
import { version } from '../program.ts';
import { holdDataDirectory } from '../up/data-directory.ts';
import { loadEtcdConnection, readEtcdConnection } from '../up/etcd.ts';
import { dataDirOf, stateOf } from '../up/stored-clusters.ts';
import type { Location } from './location.ts';
import { nameOf, parseLocation } from './location.ts';
import { servicesOf } from './problems.ts';

/** A store as the lines of a backup. */
export interface Source extends AsyncDisposable {
  /** For messages. */
  readonly name: string;
  /** Read once. */
  readonly lines: AsyncIterable<string>;
  /** The servers that use it meanwhile, as far as it is known. */
  readonly servers: readonly string[];
}

type Surroundings = Pick<Streams, 'err'>;

/**
 * The source that the flags select: a store of `--from`, a server of a kubeconfig, the server of a data directory, or its
 * store.
 */
export async function openSource(settings: Settings, surroundings: Surroundings): Promise<Source> {
  const from = readFlag<Location | undefined>(settings, 'from', parseLocation, undefined);
  const isOfServer = settings.has('kubeconfig') || settings.has('context');
  if (from !== undefined) {
    if (isOfServer) throw new UsageError('--from cannot be combined with --kubeconfig and --context');
    return openLocation(from, settings, surroundings);
  }
  if (isOfServer) return serverSource(settings);
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
  return openLocation({ engine: 'sqlite', directory }, settings, surroundings);
}

/** The source of a store without its server. */
export const openLocation = (location: Location, settings: Settings, surroundings: Surroundings): Promise<Source> =>
  location.engine === 'sqlite'
    ? sqliteSource(location.directory, settings, surroundings)
    : etcdSource(location, settings);

async function serverSource(settings: Settings): Promise<Source> {
  const access = await readClusterAccess(await findCluster(settings, process.env), process.env);
  const transport = overHttps(access, { userAgent: `fairlead-store/${version}` });
  const name = `the server ${access.server}`;
  async function* lines(): AsyncGenerator<string, void> {
    try {
      yield* transport.stream({ method: 'GET', path: backupPath, accept: '*/*' });
    } catch (error) {
      if (!isStatusError(error))
        throw new FatalError(`cannot read from ${name}: ${connectionReason(error)}`, { cause: error });
      const advice: Readonly<Record<number, string>> = {
        403: ': a backup contains every Secret and needs the rights of cluster-admin',
        404: ': it does not serve backups; use a server of this release',
      };
      throw new FatalError(
        `${name} rejected the request for a backup: ${connectionReason(error)}${advice[error.status.code ?? 0] ?? ''}`,
      );
    }
  }
  const dispose = async (): Promise<void> => transport[Symbol.dispose]();
  return { name, lines: lines(), servers: [access.server], [Symbol.asyncDispose]: dispose };
}

async function sqliteSource(directory: string, settings: Settings, { err }: Surroundings): Promise<Source> {
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
  const lines = linesOfBackup(await snapshot(store, cluster, new Date()));
  const resources = stack.move();
  return { name: file, lines, servers: [], [Symbol.asyncDispose]: () => resources.disposeAsync() };
}

async function etcdSource(location: Location & { readonly engine: 'etcd' }, settings: Settings): Promise<Source> {
  const connection = await loadEtcdConnection(readEtcdConnection(settings, location.endpoints));
  const { readEtcdState } = await import('../../store/etcd/read.ts');
  const state = await readEtcdState({ ...connection, prefix: location.prefix });
  const name = nameOf(location);
  const wanted = textOf(settings, 'cluster');
  const cluster = state.cluster ?? wanted;
  if (cluster === undefined) throw new UsageError(`${name} has no owner, as under a kube-apiserver: pass --cluster`);
  if (wanted !== undefined && wanted !== cluster) {
    throw new UsageError(`${name} has cluster "${cluster}", not "${wanted}"`);
  }
  // A kube-apiserver keeps no claims of node ports.
  const entries = state.cluster === undefined ? withClaims(state.entries) : state.entries;
  const servers = state.entries.filter(({ key }) => key.startsWith(serversPrefix));
  return {
    name,
    lines: linesOfBackup(backupOf({ ...state, cluster, entries }, new Date())),
    servers: servers.map(({ key }) => key.slice(serversPrefix.length)),
    [Symbol.asyncDispose]: async () => undefined,
  };
}

/** The records with all claims that their Services need. */
function withClaims(entries: readonly Entry[]): readonly Entry[] {
  const isClaim = ({ key }: Entry): boolean => key.startsWith(addressPrefix) || key.startsWith(portPrefix);
  const { missing } = planClaims(servicesOf(entries), entries.filter(isClaim));
  const replaced = new Set(missing.map(({ key }) => key));
  const added = missing.map((claim) => ({
    ...claimFor(claim, { uid: randomUUID, clock: Date.now }),
    revision: 1,
    created: 1,
  }));
  const kept = entries.filter(({ key }) => !replaced.has(key));
  return [...kept, ...added].toSorted((a, b) => compareText(a.key, b.key));
}

/** The lines of a backup. */
export async function* linesOfBackup(backup: Backup): AsyncGenerator<string, void> {
  for (const piece of encodeBackup(backup)) yield* piece.split('\n').slice(0, -1);
}

/** The cluster of `--cluster`, or the only one. */
function chosen(settings: Settings, directory: string, clusters: readonly string[]): string {
  const wanted = textOf(settings, 'cluster');
  const [first] = clusters;
  if (first === undefined) throw new UsageError(`${directory} has no stores: pass --data-dir of a server, or --from`);
  if (wanted === undefined && clusters.length === 1) return first;
  if (wanted !== undefined && clusters.includes(wanted)) return wanted;
  const names = clusters.join(', ');
  if (wanted === undefined) throw new UsageError(`${directory} has several clusters: pass --cluster, one of ${names}`);
  throw new UsageError(`${directory} has no cluster "${wanted}": there are ${names}`);
}

/** The clusters with a store in a data directory, by name. */
async function storedClusters(directory: string): Promise<readonly string[]> {
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
