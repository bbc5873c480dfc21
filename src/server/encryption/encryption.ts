import type { Kind } from '../../api/kind.ts';
import { forRegistryKey, registryPrefix } from '../cache/layout.ts';
import type { WatchCache } from '../cache/watch-cache.ts';
import type { ResourceProviders } from './config.ts';
import { parseEncryptionConfiguration } from './config.ts';
import type { TransformationCounts } from './transformer.ts';
import { Transformer } from './transformer.ts';
import { getOrCompute } from '../../api/maps.ts';

/** The current encryption configuration. Servers of several clusters share it. */
export class Encryption {
  /** Registry prefix → transformer, for resources in the configuration. */
  #transformers: ReadonlyMap<string, Transformer> = new Map();
  readonly #kinds: readonly Kind[];
  readonly #listeners = new Set<() => void>();
  readonly #reloads = { success: 0, failure: 0, last: 0 };
  /** Labels as JSON → count. */
  readonly #counts = new Map<string, number>();

  private constructor(kinds: readonly Kind[]) {
    this.#kinds = kinds.filter((kind) => kind.stored && kind.storage === undefined);
  }

  /** Reads an EncryptionConfiguration, as `parseEncryptionConfiguration` does. */
  static async create(text: string, kinds: readonly Kind[]): Promise<Encryption> {
    const encryption = new Encryption(kinds);
    await encryption.#use(parseEncryptionConfiguration(text));
    return encryption;
  }

  /** Replaces the configuration. Throws if the new one is invalid, and keeps the old one. */
  async reload(text: string, now: number): Promise<void> {
    try {
      await this.#use(parseEncryptionConfiguration(text));
      this.#reloads.success++;
    } catch (error) {
      this.#reloads.failure++;
      throw error;
    } finally {
      this.#reloads.last = now;
    }
    for (const listener of this.#listeners) listener();
  }

  /** The number of reloads, and the time of the last one (milliseconds since the epoch; 0: never). */
  get reloads(): Readonly<{ success: number; failure: number; last: number }> {
    return this.#reloads;
  }

  async #use(providers: ResourceProviders): Promise<void> {
    const onUse = (use: TransformationCounts): void => this.#count(use);
    const created = new Map<string, Promise<Transformer>>();
    const transformers = new Map<string, Transformer>();
    for (const kind of this.#kinds) {
      const names = [`${kind.plural}.${kind.group}`, `*.${kind.group}`, '*.*'];
      const name = names.find((each) => providers.has(each));
      if (name === undefined) continue;
      const transformer = getOrCompute(created, name, () => Transformer.create(providers.get(name) ?? [], onUse));
      transformers.set(registryPrefix(kind), await transformer);
    }
    this.#transformers = transformers;
  }

  /** The transformer for a storage key. */
  transformerFor(storageKey: string): Transformer | undefined {
    return forRegistryKey(this.#transformers, storageKey);
  }

  /** Calls `listener` after every change of the configuration. Returns a function that unsubscribes. */
  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /** The number of encrypted and decrypted values since the start. */
  *counts(): Generator<readonly [use: TransformationCounts, count: number]> {
    for (const [key, count] of this.#counts) yield [JSON.parse(key) as TransformationCounts, count];
  }

  #count(use: TransformationCounts): void {
    const key = JSON.stringify(use);
    this.#counts.set(key, (this.#counts.get(key) ?? 0) + 1);
  }
}

/** A message with the number of undecryptable objects and one of them; undefined if there are none. */
export function unreadableMessage({ caches }: Pick<WatchCache, 'caches'>): string | undefined {
  const unreadable = Array.from(caches, (cache) => cache.unreadable).filter(({ size }) => size > 0);
  const [first] = unreadable[0] ?? [];
  if (first === undefined) return undefined;
  const [key, { message }] = first;
  const count = unreadable.reduce((sum, { size }) => sum + size, 0);
  const others = count === 1 ? '' : ` (and ${count - 1} more)`;
  return `${key} cannot be read${others}: ${message}: add its key to the file of --encryption-provider-config`;
}
