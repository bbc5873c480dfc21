// The keys of a cluster, one per file: `20261115T091745Z-KID.key`. Every server over the directory uses all of them: an
// added key signs, and removing a key revokes its tokens, both without a restart.

import { readdir, readFile, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';

import { codeOf } from '../../../api/error-message.ts';
import { makePrivateDirectory, writePrivateFile } from '../../pki/files.ts';
import type { TokenKey, TokenKeys } from './token-keys.ts';
import { generateTokenKey, longestTokenSeconds, readTokenKey } from './token-keys.ts';

export interface KeyDirectoryOptions {
  readonly path: string;
  readonly clock: () => number;
  /** Logs a file that is not a key, or a directory that cannot be read. */
  readonly warn: (keys: { readonly file: string; readonly err?: unknown }, message: string) => void;
}

/** The time after which a new key replaces the signing one. */
export const signingMs = 90 * 24 * 60 * 60_000;
/** The allowed clock skew between servers. */
export const skewMs = 60_000;
/** A second change within this time may have the same time stamp. */
const settledMs = 1000;

/** Opens a key directory and creates the first key if there is none. */
export async function openKeyDirectory(options: KeyDirectoryOptions): Promise<TokenKeys> {
  await makePrivateDirectory(options.path);
  const keys = new KeyDirectory(options);
  await keys.signing();
  return keys;
}

/** Adds a key, which becomes the signing key. */
export async function addKey(path: string, now: number): Promise<TokenKey> {
  await makePrivateDirectory(path);
  const pem = generateTokenKey();
  const created = Math.floor(now / 1000) * 1000; // the precision of the file name
  const key = readTokenKey(pem, created);
  if (key === undefined) throw new Error('bug: a new token key cannot be read');
  await writePrivateFile(join(path, fileName(key)), pem);
  return key;
}

/** The keys in a directory, newest first, and the names of key files that are damaged. */
export async function listKeys(
  path: string,
): Promise<{ readonly keys: readonly TokenKey[]; readonly damaged: readonly string[] }> {
  const keys: TokenKey[] = [];
  const damaged: string[] = [];
  for (const name of await namesIn(path)) {
    const created = createdAt(name);
    if (created === undefined) continue; // a temporary or unrelated file
    const pem = await readFile(join(path, name), 'utf8').catch(() => ''); // removed meanwhile
    const key = readTokenKey(pem, created);
    if (key === undefined) damaged.push(name);
    else keys.push(key);
  }
  return { keys: keys.toSorted((a, b) => b.created - a.created || (a.kid < b.kid ? 1 : -1)), damaged };
}

class KeyDirectory implements TokenKeys {
  readonly #options: KeyDirectoryOptions;
  #keys: readonly TokenKey[] = [];
  #byKid: ReadonlyMap<string, TokenKey> = new Map();
  /** The modification time of the directory at the last read; undefined: read it again. */
  #seen: number | undefined;
  #refreshing: Promise<void> | undefined;

  constructor(options: KeyDirectoryOptions) {
    this.#options = options;
  }

  get(kid: string): TokenKey | undefined {
    return this.#byKid.get(kid);
  }

  all(): readonly TokenKey[] {
    return this.#keys;
  }

  async signing(): Promise<TokenKey> {
    await this.refresh();
    const now = this.#options.clock();
    const newest = this.#keys[0];
    if (newest !== undefined && now - newest.created < signingMs) return newest;
    const made = await addKey(this.#options.path, now);
    await this.#removeExpired(made);
    this.#seen = undefined;
    await this.refresh();
    return this.get(made.kid) ?? made;
  }

  /** Concurrent calls share a run, but not one that started before the call: it may miss a new key. */
  async refresh(): Promise<void> {
    const running = this.#refreshing;
    if (running !== undefined) await running;
    this.#refreshing ??= this.#readSafely().finally(() => (this.#refreshing = undefined));
    await this.#refreshing;
  }

  [Symbol.dispose](): void {
    // nothing is open between calls
  }

  /** Keeps the loaded keys if the directory cannot be read. */
  async #readSafely(): Promise<void> {
    try {
      await this.#read();
    } catch (error) {
      this.#options.warn({ file: this.#options.path, err: error }, 'failed to read the token keys, retrying');
    }
  }

  async #read(): Promise<void> {
    const { path, warn } = this.#options;
    const changed = await stat(path).then(
      ({ mtimeMs }) => mtimeMs,
      () => undefined, // removed with all its keys
    );
    if (changed !== undefined && changed === this.#seen) return;
    const { keys, damaged } = await listKeys(path);
    for (const name of damaged) warn({ file: join(path, name) }, 'not a private key for ES256: remove the file');
    this.#keys = keys;
    this.#byKid = new Map(keys.map((key) => [key.kid, key]));
    // Compares with the clock of the file system, not the injected one.
    this.#seen = changed === undefined || Date.now() - changed < settledMs ? undefined : changed;
  }

  /** A key whose successor is older than the longest token lifetime has no valid tokens left. */
  async #removeExpired(newest: TokenKey): Promise<void> {
    const now = this.#options.clock();
    const lastMs = longestTokenSeconds * 1000 + skewMs;
    const expired = this.#keys.filter((_, index) => {
      const successor = this.#keys[index - 1] ?? newest;
      return now - successor.created > lastMs;
    });
    for (const key of expired) await rm(join(this.#options.path, fileName(key)), { force: true });
  }
}

async function namesIn(path: string): Promise<readonly string[]> {
  try {
    return await readdir(path);
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return [];
    throw error;
  }
}

const fileName = ({ created, kid }: TokenKey): string =>
  `${new Date(created).toISOString().replaceAll(/[-:]|\.\d+/g, '')}-${kid}.key`;

/** The time in the name of a key file; undefined for other files. */
function createdAt(name: string): number | undefined {
  const parts = /^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z-.*\.key$/.exec(name);
  if (parts === null) return undefined;
  const [, year, month, day, hour, minute, second] = parts;
  const time = Date.parse(`${year}-${month}-${day}T${hour}:${minute}:${second}Z`);
  return Number.isNaN(time) ? undefined : time;
}
