// Reads the data directory of a server that may be running. The lock is not taken.

import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { codeOf } from '../../api/error-message.ts';
import type { Authority } from '../../server/pki/authority.ts';
import { readAuthority } from '../../server/pki/authority.ts';
import { readIfPresent } from '../../server/pki/files.ts';
import { codesOf, FatalError } from '../errors.ts';
import type { Flag, Settings } from '../options/flags.ts';
import { textOf } from '../options/flags.ts';
import type { State } from './state.ts';
import { stateFile } from './state.ts';

/** The default data directory of `fairlead up` and `fairlead server`. */
export const defaultDataDir = '.fairlead';

export const dataDirFlag: Flag = {
  name: 'data-dir',
  value: 'DIR',
  description: 'data directory of the server',
  default: defaultDataDir,
};

export const dataDirOf = (settings: Settings): string => textOf(settings, 'data-dir') ?? defaultDataDir;

/** A cluster of a data directory. */
export interface KnownCluster {
  readonly name: string;
  readonly server: string;
  /** The authorities that clients trust, PEM. */
  readonly ca: string;
}

/** The folder of a data directory with the certificates of a cluster; without one, that of all clusters. */
export const pkiOf = (dataDir: string, ...cluster: string[]): string => join(dataDir, 'pki', ...cluster);

/** The authority of each cluster of a data directory, by name. */
export async function authoritiesOf(dataDir: string): Promise<ReadonlyMap<string, Authority>> {
  const authorities = new Map<string, Authority>();
  try {
    const entries = await readdir(pkiOf(dataDir), { withFileTypes: true });
    if (entries.some(({ name }) => name === 'ca.crt')) {
      throw new FatalError(`${pkiOf(dataDir)} was written by an older release: start the server once to convert it`);
    }
    for (const { name } of entries.filter((entry) => entry.isDirectory()).toSorted(byName)) {
      const authority = await readAuthority(pkiOf(dataDir, name));
      if (authority !== undefined) authorities.set(name, authority);
    }
  } catch (error) {
    if (error instanceof FatalError) throw error;
    if (codesOf(error).includes('ENOENT')) throw notStarted(dataDir);
    throw new FatalError(`cannot read ${pkiOf(dataDir)}: run this as the user that runs the server`, { cause: error });
  }
  if (authorities.size === 0) throw notStarted(dataDir);
  return authorities;
}

const byName = (left: { readonly name: string }, right: { readonly name: string }): number =>
  left.name < right.name ? -1 : 1;

/** The clusters in the kubeconfig that the server wrote; it stays when the server ends. */
export async function clustersOf(dataDir: string): Promise<readonly KnownCluster[]> {
  const text = await readIfPresent(join(dataDir, 'kubeconfig'));
  if (text === undefined) throw notStarted(dataDir);
  const { clusters } = JSON.parse(text) as Kubeconfig; // as the server writes it
  return clusters.map(({ name, cluster }) => ({
    name,
    server: cluster.server,
    ca: Buffer.from(cluster['certificate-authority-data'], 'base64').toString(),
  }));
}

interface Kubeconfig {
  readonly clusters: readonly {
    readonly name: string;
    readonly cluster: { readonly server: string; readonly 'certificate-authority-data': string };
  }[];
}

/** The process that serves a data directory; undefined when none does. */
export const serverOf = async (dataDir: string): Promise<number | undefined> => (await stateOf(dataDir))?.pid;

/** What the process that serves a data directory reports; undefined when none does. */
export async function stateOf(dataDir: string): Promise<State | undefined> {
  const text = await readIfPresent(join(dataDir, stateFile));
  if (text === undefined) return undefined;
  const state = JSON.parse(text) as State; // as the server writes it
  return isAlive(state.pid) ? state : undefined;
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return codeOf(error) === 'EPERM'; // a process of another user
  }
}

const notStarted = (dataDir: string): FatalError =>
  new FatalError(
    `${dataDir} has no certificates: start a server with this data directory first, or pass another --data-dir`,
  );
