import type { CacheEvent } from '../cache/history.ts';
import type { Item } from '../cache/item.ts';
import type { Watcher, Watchers } from '../cache/watchers.ts';

export interface ConvertedWatchOptions {
  readonly scope: string;
  readonly exact: boolean;
  readonly watchers: Watchers;
  /** The revision of the cache. */
  readonly revision: () => number;
  /** Converts the items of changes. */
  readonly prepare: (items: readonly Item[]) => Promise<void>;
  /** Called when a conversion failed or is too slow; the watch receives no further changes. */
  readonly onError: (error: unknown) => void;
}

/** A watch that is more changes behind is ended, so that a webhook that stalls does not fill the memory. */
const maxWaiting = 10_000;

/**
 * Delivers the changes of a resource to one watch, in their order, once a webhook has converted their objects. Changes since
 * `open` wait until the watch is added.
 */
export class ConvertedWatch implements Watcher {
  readonly scope: string;
  readonly exact: boolean;
  readonly #options: ConvertedWatchOptions;
  #target: Watcher | undefined;
  #waiting: CacheEvent[] = [];
  #isConverting = false;
  #isClosed = false;
  /** All changes up to this revision were delivered; undefined: all. */
  #delivered: number | undefined;

  constructor(options: ConvertedWatchOptions) {
    this.#options = options;
    this.scope = options.scope;
    this.exact = options.exact;
  }

  /** Collects changes from now on. */
  open(): void {
    this.#delivered = this.#options.revision();
    if (!this.#isClosed) this.#options.watchers.add(this);
  }

  /** The revision up to which the watch has received all changes. */
  get revision(): number {
    return this.#delivered ?? this.#options.revision();
  }

  /** Delivers the changes to `target`. */
  add(target: Watcher): void {
    this.#target = target;
    void this.#deliver();
  }

  remove(): void {
    this.#isClosed = true;
    this.#waiting = [];
    this.#options.watchers.remove(this);
  }

  notify(event: CacheEvent): void {
    if (this.#isClosed) return;
    this.#delivered ??= event.revision - 1;
    // Lines are shared only while the cache notifies its watchers.
    this.#waiting.push({ ...event, lines: undefined });
    if (this.#waiting.length > maxWaiting) {
      this.#fail(new Error('a conversion webhook is too slow for the changes of the resource'));
      return;
    }
    void this.#deliver();
  }

  progress(revision: number): void {
    if (this.#delivered === undefined) this.#target?.progress(revision);
  }

  end(): void {
    this.#target?.end?.();
  }

  /** Never rejects. */
  async #deliver(): Promise<void> {
    if (this.#isConverting) return;
    this.#isConverting = true;
    try {
      while (this.#target !== undefined && this.#waiting.length > 0) {
        const batch = this.#waiting;
        this.#waiting = [];
        await this.#options.prepare(itemsOf(batch));
        if (this.#isClosed) return;
        for (const event of batch) {
          this.#target.notify(event);
          this.#delivered = event.revision;
        }
      }
      if (this.#target !== undefined) this.#delivered = undefined;
    } catch (error) {
      this.#fail(error);
    } finally {
      this.#isConverting = false;
    }
  }

  #fail(error: unknown): void {
    if (this.#isClosed) return;
    this.remove();
    this.#options.onError(error);
  }
}

/** The items of changes. */
export const itemsOf = (events: readonly CacheEvent[]): readonly Item[] =>
  events.flatMap(({ item, previous }) => [item ?? [], previous ?? []].flat());
