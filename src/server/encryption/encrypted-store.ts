import { messageOf } from '../../api/error-message.ts';
import type {
  Change,
  Commit,
  Entry,
  Range,
  RangeOptions,
  Store,
  StoreStatus,
  WatchObserver,
  Write,
} from '../../store/store.ts';
import type { Encryption } from './encryption.ts';

/**
 * Encrypts some values on their way into another store and decrypts them on their way out, so that the store, its files
 * and its history never contain them in plain text. A value that cannot be decrypted is an entry with a `problem` and
 * does not affect other entries.
 */
export class EncryptedStore implements Store {
  readonly #store: Store;
  readonly #encryption: Pick<Encryption, 'transformerFor'>;
  /** Stored entry → decrypted entry: each is decrypted once and shared by all readers. */
  readonly #decrypted = new WeakMap<Entry, Entry>();
  /** Decrypted entry → ID of its key. */
  readonly #keyIds = new WeakMap<Entry, string>();

  constructor(store: Store, encryption: Pick<Encryption, 'transformerFor'>) {
    this.#store = store;
    this.#encryption = encryption;
  }

  get revision(): number {
    return this.#store.revision;
  }

  get compacted(): number {
    return this.#store.compacted;
  }

  get isShared(): boolean {
    return this.#store.isShared;
  }

  get isAdopted(): boolean {
    return this.#store.isAdopted;
  }

  sync(): Promise<void> | undefined {
    return this.#store.sync();
  }

  revisionBefore(commits: number): number {
    return this.#store.revisionBefore(commits);
  }

  async commit(writes: readonly Write[]): Promise<Commit> {
    return this.#store.commit(writes.map((write) => this.#encrypted(write)));
  }

  async get(key: string): Promise<Entry | undefined> {
    return this.#entry(await this.#store.get(key));
  }

  async range(prefix: string, options?: RangeOptions): Promise<Range> {
    const range = await this.#store.range(prefix, options);
    return { ...range, entries: range.entries.map((entry) => this.#read(entry)) };
  }

  watch(prefix: string, from: number, observer: WatchObserver, signal: AbortSignal): Promise<void> {
    const decrypting: WatchObserver = {
      onChanges: (changes, revision) =>
        observer.onChanges(
          changes.map((change) => this.#change(change)),
          revision,
        ),
      onEnd: (error) => observer.onEnd(error),
    };
    return this.#store.watch(prefix, from, decrypting, signal);
  }

  /** Whether an entry is not encrypted with the current key, so that rewriting it changes what is stored. */
  isStale(entry: Entry): boolean {
    const transformer = this.#encryption.transformerFor(entry.key);
    return transformer !== undefined && transformer.keyId !== (this.#keyIds.get(entry) ?? '');
  }

  compact(revision: number): Promise<void> {
    return this.#store.compact(revision);
  }

  size(): Promise<number> {
    return this.#store.size();
  }

  status(): StoreStatus {
    return this.#store.status();
  }

  close(): Promise<void> {
    return this.#store.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #encrypted(write: Write): Write {
    const { key, value } = write;
    const transformer = value === undefined ? undefined : this.#encryption.transformerFor(key);
    if (value === undefined || transformer === undefined) return write;
    return { ...write, value: transformer.toStorage(value, key), bytes: Buffer.byteLength(value) };
  }

  #change(change: Change): Change {
    if (this.#encryption.transformerFor(change.key) === undefined) return change;
    return { ...change, entry: this.#entry(change.entry), previous: this.#entry(change.previous) };
  }

  #entry(entry: Entry | undefined): Entry | undefined {
    return entry === undefined ? undefined : this.#read(entry);
  }

  #read(entry: Entry): Entry {
    const transformer = this.#encryption.transformerFor(entry.key);
    if (transformer === undefined) return entry;
    const known = this.#decrypted.get(entry);
    if (known !== undefined) return known;
    try {
      const { value, keyId } = transformer.fromStorage(entry.value, entry.key);
      const read = { ...entry, value };
      this.#decrypted.set(entry, read);
      this.#keyIds.set(read, keyId);
      return read;
    } catch (error) {
      // Not cached: a reload of the configuration may add the key.
      return { ...entry, problem: messageOf(error) };
    }
  }
}
