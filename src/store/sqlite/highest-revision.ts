// A file beside the store with a revision that the store has reached. A store below it has lost writes.

import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { crc32 } from 'node:zlib';

import { codeOf } from '../../api/error-message.ts';

/** The name of the file for the store in `file`. */
const highestRevisionFile = (file: string): string => `${file}-revision`;

/** The revision in the file; undefined if the file is missing or damaged. */
export function readHighestRevision(file: string): number | undefined {
  const [revision = '', checksum] = (readIfPresent(highestRevisionFile(file)) ?? '').trim().split(' ');
  return /^\d{1,15}$/.test(revision) && checksum === String(crc32(revision)) ? Number(revision) : undefined;
}

/** Replaces the file without a sync: after a power failure it may be older or damaged. */
export function writeHighestRevision(file: string, revision: number): void {
  const path = highestRevisionFile(file);
  writeFileSync(`${path}.tmp`, `${revision} ${crc32(String(revision))}\n`, { mode: 0o600 });
  renameSync(`${path}.tmp`, path);
}

function readIfPresent(path: string): string | undefined {
  try {
    return readFileSync(path, 'latin1');
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined;
    throw error instanceof Error ? Object.assign(error, { path }) : error; // read errors lack the path
  }
}
