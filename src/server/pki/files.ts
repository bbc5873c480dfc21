import { lstat, mkdir, readFile, realpath, stat } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';

import { codeOf, fileErrorOf } from '../../api/error-message.ts';
import { replaceFile } from '../../machine/replace-file.ts';
import type { KeyPair } from './issue.ts';

/** Only the owner may read these files. */
const fileMode = 0o600;
const directoryMode = 0o700;
const writableByOthers = 0o002;

/**
 * Creates a directory that only its owner can enter, with its parents. Accepts an existing one, unless it belongs to
 * another user who could have planted it: the owner of a data directory can replace its keys.
 */
export async function makePrivateDirectory(path: string): Promise<void> {
  await makeDirectories(path);
  await rejectForeignOwner(path);
}

async function makeDirectories(path: string): Promise<void> {
  try {
    await makeDirectory(path);
  } catch (error) {
    const parent = dirname(path);
    if (codeOf(error) !== 'ENOENT' || parent === path) throw error;
    await makeDirectories(parent);
    // Only once: in /proc the parent stays missing, and Node's recursive mkdir never returns.
    await makeDirectory(path);
  }
}

async function makeDirectory(path: string): Promise<void> {
  try {
    await mkdir(path, { mode: directoryMode });
  } catch (error) {
    const found = await stat(path).catch(() => undefined);
    if (found?.isDirectory() !== true) throw error;
  }
}

/** Rejects if a part of the path is in a world-writable directory, such as /tmp, and belongs to another user. */
export async function rejectForeignOwner(path: string): Promise<void> {
  const user = process.geteuid?.();
  if (user === undefined) return; // no owners on this system
  for (const start of new Set([resolve(path), await realpath(path)])) {
    for (let at = start; at !== dirname(at); at = dirname(at)) {
      if (((await stat(dirname(at))).mode & writableByOthers) === 0) continue;
      const { uid: owner } = await lstat(at);
      if (owner === user || owner === 0) continue;
      throw new Error(
        `${at} belongs to user ${owner} in the world-writable directory ${dirname(at)}: choose another directory`,
      );
    }
  }
}

/** Replaces a file atomically, so that readers and crashes see the old content or the new. */
export async function writePrivateFile(path: string, content: string): Promise<void> {
  try {
    await replaceFile(path, content, fileMode);
  } catch (error) {
    throw writeError(path, error);
  }
}

/** The error of a file that cannot be written, with its path. Omits its code, which callers would mistake for that of a port. */
export function writeError(path: string, error: unknown): Error {
  const advice = adviceFor[codeOf(error)];
  return new Error(`${path} cannot be written (${fileErrorOf(error)})${advice === undefined ? '' : `: ${advice}`}`);
}

const adviceFor: Readonly<Record<string, string>> = {
  ENOSPC: 'the disk is full: free some space',
  EDQUOT: 'the disk quota is used up: free some space',
  EROFS: 'mount the file system for writing',
  EACCES: 'check the permissions',
  EPERM: 'check the permissions',
  EIO: 'check the disk',
};

/** Returns the content of a file; undefined if it does not exist. */
export async function readIfPresent(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined;
    throw error;
  }
}

/** Reads a certificate and its key; undefined if either file is missing. */
export async function readPair(directory: string, name: string): Promise<KeyPair | undefined> {
  const [cert, key] = await Promise.all(pathsOf(directory, name).map(readIfPresent));
  return cert === undefined || key === undefined ? undefined : { cert, key };
}

/** Writes the key first: a certificate without its key would count as damage. */
export async function writePair(directory: string, name: string, pair: KeyPair): Promise<void> {
  const [certPath, keyPath] = pathsOf(directory, name);
  await writePrivateFile(keyPath, pair.key);
  await writePrivateFile(certPath, pair.cert);
}

const pathsOf = (directory: string, name: string): [cert: string, key: string] => [
  join(directory, `${name}.crt`),
  join(directory, `${name}.key`),
];
