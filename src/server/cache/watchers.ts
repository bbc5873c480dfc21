import type { CacheEvent } from './history.ts';
import { getOrCompute } from '../../api/maps.ts';

/** A receiver of the changes of a resource. */
export interface Watcher {
  /** The key prefix to watch: the resource, one of its namespaces, or one object (`exact`). */
  readonly scope: string;
  readonly exact: boolean;
  notify(event: CacheEvent): void;
  /** All changes up to `revision` were delivered. */
  progress(revision: number): void;
  /** Ends the watch, because the server shuts down or cannot deliver a change. */
  end?(): void;
}

/** The watchers of one resource, indexed by scope so that a change costs nothing for other scopes. */
export class Watchers {
  readonly #prefix: string;
  /** scope → its watchers */
  readonly #byScope = new Map<string, Set<Watcher>>();
  /** key → watchers of that one object */
  readonly #byKey = new Map<string, Set<Watcher>>();
  #count = 0;

  constructor(prefix: string) {
    this.#prefix = prefix;
  }

  get count(): number {
    return this.#count;
  }

  add(watcher: Watcher): void {
    const index = watcher.exact ? this.#byKey : this.#byScope;
    getOrCompute(index, watcher.scope, () => new Set()).add(watcher);
    this.#count++;
  }

  /** Calls `notify` for every change in `scope`, by default the resource, until the returned watch is disposed of. */
  watch(
    notify: Watcher['notify'],
    { scope = this.#prefix, end }: { readonly scope?: string; readonly end?: () => void } = {},
  ): Disposable {
    const watcher: Watcher = { scope, exact: false, notify, progress: () => undefined, ...(end && { end }) };
    this.add(watcher);
    return { [Symbol.dispose]: () => this.remove(watcher) };
  }

  remove(watcher: Watcher): void {
    const index = watcher.exact ? this.#byKey : this.#byScope;
    const set = index.get(watcher.scope);
    if (set?.delete(watcher) !== true) return;
    this.#count--;
    if (set.size === 0) index.delete(watcher.scope);
  }

  notify(event: CacheEvent): void {
    if (this.#count === 0) return;
    const afterNamespace = event.key.indexOf('/', this.#prefix.length);
    this.#notifyAll(this.#byScope.get(this.#prefix), event);
    if (afterNamespace > 0) this.#notifyAll(this.#byScope.get(event.key.slice(0, afterNamespace + 1)), event);
    this.#notifyAll(this.#byKey.get(event.key), event);
  }

  #notifyAll(watchers: ReadonlySet<Watcher> | undefined, event: CacheEvent): void {
    if (watchers === undefined) return;
    for (const watcher of watchers) watcher.notify(event);
  }

  /** All watchers; one that is removed during the iteration is skipped. */
  *[Symbol.iterator](): Generator<Watcher, void> {
    for (const set of this.#byScope.values()) yield* set;
    for (const set of this.#byKey.values()) yield* set;
  }
}
