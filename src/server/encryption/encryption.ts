import type { Kind } from '../../api/kind.ts';
import { forRegistryKey, registryPrefix } from '../cache/layout.ts';
import type { WatchCache } from '../cache/watch-cache.ts';
import type { ResourceProviders } from './config.ts';
import { parseEncryptionConfiguration } from './config.ts';
import type { TransformationCounts } from './transformer.ts';
import { Transformer } from './transformer.ts';

/** Which values are encrypted and how, as the configuration says now. Servers of several clusters share it. */
export class Encryption {
  /** Registry prefix → its transformer; resources that the configuration does not name have none. */
  #transformers: ReadonlyMap<string, Transformer> = new Map();
  readonly #kinds: readonly Kind[];
  readonly #listeners = new Set<() => void>();
  readonly #reloads = { success: 0, failure: 0, last: 0 };
  /** Uses as `type prefix status` → how many. */
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

  /** Uses another configuration from now on. One with an error throws and changes nothing. */
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

  /** How often the configuration was read again, and when last (milliseconds since the epoch; 0: never). */
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
      const transformer = created.getOrInsertComputed(name, () => Transformer.create(providers.get(name) ?? [], onUse));
      transformers.set(registryPrefix(kind), await transformer);
    }
    this.#transformers = transformers;
  }

  /** The transformer of the resource that a storage key belongs to. */
  transformerFor(storageKey: string): Transformer | undefined {
    return forRegistryKey(this.#transformers, storageKey);
  }

  /** Calls `listener` after every change of the configuration; what is returned ends that. */
  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /** How often values were encrypted and decrypted since the start. */
  *counts(): Generator<readonly [use: TransformationCounts, count: number]> {
    for (const [key, count] of this.#counts) yield [JSON.parse(key) as TransformationCounts, count];
  }

  #count(use: TransformationCounts): void {
    const key = JSON.stringify(use);
    this.#counts.set(key, (this.#counts.get(key) ?? 0) + 1);
  }
}

/** How many stored objects cannot be decrypted, and one of them; undefined if all can. */
export function unreadableText({ caches }: Pick<WatchCache, 'caches'>): string | undefined {
  const unreadable = Array.from(caches, (cache) => cache.unreadable).filter(({ size }) => size > 0);
  const [first] = unreadable[0] ?? [];
  if (first === undefined) return undefined;
  const [key, { message }] = first;
  const count = unreadable.reduce((sum, { size }) => sum + size, 0);
  const others = count === 1 ? '' : ` (and ${count - 1} more)`;
  return `${key} cannot be read${others}: ${message}: add its key to the file of --encryption-provider-config`;
}
