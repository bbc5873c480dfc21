// Servers over one store verify each other's tokens: each keeps its private keys in its own directory, and publishes the
// public keys in the store.

import type { KeyObject } from 'node:crypto';
import { createPublicKey } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';

import { codeOf } from '../../../api/error-message.ts';
import type { Change, Entry, Store } from '../../../store/store.ts';
import type { ListWatchHandler } from '../../allocate/list-watch.ts';
import { listAndWatch } from '../../allocate/list-watch.ts';
import { writePrivateFile } from '../../pki/files.ts';
import { signingMs, skewMs } from './key-directory.ts';
import type { TokenKey, TokenKeys, VerificationKey } from './token-keys.ts';
import { keyIdOf, longestTokenSeconds } from './token-keys.ts';

const prefix = '/registry/tokenkeys/';

export interface SharedKeysOptions {
  /** The keys of this server. */
  readonly own: TokenKeys;
  /** The directory of its keys, which also gets the list of those that are published. */
  readonly path: string;
  readonly store: Store;
  readonly clock: () => number;
  readonly warn: (keys: { readonly err: unknown }, message: string) => void;
}

/** Opens the keys of all servers and publishes those of this one. */
export async function openSharedKeys(options: SharedKeysOptions): Promise<TokenKeys> {
  const keys = new SharedKeys(options);
  await keys.open();
  return keys;
}

class SharedKeys implements TokenKeys, ListWatchHandler {
  readonly prefix = prefix;
  readonly #options: SharedKeysOptions;
  readonly #closing = new AbortController();
  /** kid → key, from the store */
  #published = new Map<string, VerificationKey>();
  /** The keys that this directory has published. */
  #recorded = new Set<string>();

  constructor(options: SharedKeysOptions) {
    this.#options = options;
  }

  async open(): Promise<void> {
    const { store, path } = this.#options;
    this.#recorded = new Set(await readRecord(path));
    await listAndWatch(store, this, this.#closing.signal);
    await this.refresh();
  }

  [Symbol.dispose](): void {
    this.#closing.abort();
    this.#options.own[Symbol.dispose]();
  }

  get(kid: string): VerificationKey | undefined {
    const published = this.#published.get(kid);
    const isExpired = published !== undefined && this.#isExpired(published);
    return this.#options.own.get(kid) ?? (isExpired ? undefined : published);
  }

  all(): readonly VerificationKey[] {
    const own = this.#options.own.all();
    const others = Array.from(this.#published.values()).filter(
      (key) => !this.#isExpired(key) && own.every(({ kid }) => kid !== key.kid),
    );
    return [...own, ...others].toSorted((a, b) => b.created - a.created);
  }

  /** No token is signed with a key that other servers cannot find. */
  async signing(): Promise<TokenKey> {
    const key = await this.#options.own.signing();
    if (!this.#published.has(key.kid)) await this.#publish();
    return key;
  }

  async refresh(kid?: string): Promise<void> {
    const { own, store, warn } = this.#options;
    await own.refresh();
    try {
      if (kid !== undefined && this.get(kid) === undefined) await store.sync();
      await this.#publish();
    } catch (err) {
      warn({ err }, 'failed to share the token keys with other servers, retrying');
    }
  }

  replace(entries: readonly Entry[]): void {
    this.#published = new Map();
    for (const entry of entries) this.#add(entry);
  }

  apply(changes: readonly Change[]): void {
    for (const { key, entry } of changes) {
      if (entry === undefined) this.#published.delete(key.slice(prefix.length));
      else this.#add(entry);
    }
  }

  #add({ key, value }: Entry): void {
    const kid = key.slice(prefix.length);
    const read = readPublished(kid, value);
    if (read !== undefined) this.#published.set(kid, read);
  }

  /** Publishes the keys of this server, and revokes those whose files are gone. */
  async #publish(): Promise<void> {
    const { own, store } = this.#options;
    const keys = own.all();
    const missing = keys.filter(({ kid }) => !this.#published.has(kid));
    const isOwn = new Set(keys.map(({ kid }) => kid));
    const removed = Array.from(this.#recorded).filter((kid) => !isOwn.has(kid));
    const expired = Array.from(this.#published.values(), (key) => (this.#isExpired(key) ? key.kid : '')).filter(
      Boolean,
    );
    if (missing.length + removed.length + expired.length === 0) return;
    // Recorded first, so that a key that is published is also revoked when its file is removed.
    await this.#record([...this.#recorded, ...isOwn]);
    for (const { kid, created, publicKey } of missing) {
      const pem = publicKey.export({ type: 'spki', format: 'pem' }).toString();
      await store.commit([{ key: prefix + kid, value: JSON.stringify({ created, pem }) }]);
    }
    for (const kid of new Set([...removed, ...expired])) {
      if (!isOwn.has(kid)) await store.commit([{ key: prefix + kid, value: undefined }]);
    }
    await this.#record([...isOwn]);
  }

  async #record(kids: readonly string[]): Promise<void> {
    this.#recorded = new Set(kids);
    await writePrivateFile(join(this.#options.path, recordName), `${[...this.#recorded].join('\n')}\n`);
  }

  #isExpired({ created }: VerificationKey): boolean {
    return this.#options.clock() > created + signingMs + longestTokenSeconds * 1000 + skewMs;
  }
}

/** The file with the IDs of the keys that this directory has published. */
const recordName = 'published';

async function readRecord(path: string): Promise<readonly string[]> {
  try {
    const text = await readFile(join(path, recordName), 'utf8');
    return text.split('\n').filter((kid) => kid !== '');
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return [];
    throw error;
  }
}

/** The key in a record; undefined if it is not a key with this ID. */
function readPublished(kid: string, value: string): VerificationKey | undefined {
  let created: unknown;
  let publicKey: KeyObject;
  try {
    const record = JSON.parse(value) as { readonly created?: unknown; readonly pem?: unknown };
    created = record.created;
    publicKey = createPublicKey(String(record.pem));
  } catch {
    return undefined;
  }
  if (typeof created !== 'number' || publicKey.asymmetricKeyDetails?.namedCurve !== 'prime256v1') return undefined;
  return keyIdOf(publicKey) === kid ? { kid, created, publicKey } : undefined;
}
