// Writes the files of a volume so that readers see all of one version: `key` → `..data/key`, `..data` → `..TIME.N/`.
import {
  chmod,
  chown,
  lstat,
  mkdir,
  readdir,
  readFile,
  readlink,
  rename,
  rm,
  symlink,
  writeFile,
} from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { VolumeFiles } from './files.ts';

const dataLink = '..data';

/** Who owns the files; undefined: the user of the agent. */
export interface Owner {
  readonly uid: number;
  readonly gid: number;
}

/** The group of an owner reads its files. */
const groupMode = 0o440;

/** Replaces the files of a volume, if they differ. Returns whether they did. */
export async function writeFiles(directory: string, files: VolumeFiles, owner: Owner | undefined): Promise<boolean> {
  await mkdir(directory, { recursive: true, mode: 0o755 });
  const current = await readlink(join(directory, dataLink)).catch(() => undefined);
  if (current !== undefined && (await isSame(join(directory, current), files))) return false;
  const stamp = new Date().toISOString().replaceAll(/[-:T]/g, '_').slice(0, 19);
  const version = `..${stamp}.${Math.floor(Math.random() * 1e9)}`;
  await mkdir(join(directory, version), { mode: 0o755 });
  for (const [path, { data, mode }] of files) {
    const target = join(directory, version, path);
    await mkdir(dirname(target), { recursive: true, mode: 0o755 });
    await writeFile(target, data, { mode });
    if (owner !== undefined) await chown(target, owner.uid, owner.gid);
    await chmod(target, owner === undefined ? mode : mode | groupMode); // without the mask of this process
  }
  const temporary = join(directory, '..data_tmp');
  await rm(temporary, { force: true });
  await symlink(version, temporary);
  await rename(temporary, join(directory, dataLink));
  await fixLinks(directory, new Set(Array.from(files.keys(), (path) => path.split('/')[0] ?? '')));
  if (current !== undefined) await rm(join(directory, current), { recursive: true, force: true });
  return true;
}

/** Makes the visible links those of the top folders and files. */
async function fixLinks(directory: string, names: ReadonlySet<string>): Promise<void> {
  for (const name of names) {
    const link = join(directory, name);
    const isThere = await lstat(link).then(
      () => true,
      () => false,
    );
    if (!isThere) await symlink(join(dataLink, name), link);
  }
  for (const name of await readdir(directory)) {
    if (!name.startsWith('..') && !names.has(name)) await rm(join(directory, name), { force: true });
  }
}

async function isSame(directory: string, files: VolumeFiles): Promise<boolean> {
  const entries = await readdir(directory, { recursive: true, withFileTypes: true }).catch(() => []);
  if (entries.filter((entry) => entry.isFile()).length !== files.size) return false;
  for (const [path, { data }] of files) {
    const written = await readFile(join(directory, path)).catch(() => undefined);
    if (written === undefined || !written.equals(data)) return false;
  }
  return true;
}
