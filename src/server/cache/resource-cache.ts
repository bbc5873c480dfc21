import { messageOf } from '../../api/error-message.ts';
import type { StatusError } from '../../api/errors.ts';
import { internalError } from '../../api/errors.ts';
import type { Kind } from '../../api/kind.ts';
import type { ApiObject } from '../../api/metadata.ts';
import { decode } from '../../api/schema/decode.ts';
import { Tree } from '../../store/tree.ts';
import type { Change, Entry } from '../../store/store.ts';
import { afterPrefix } from '../../store/writes.ts';
import type { CacheEvent, HistoryLimits } from './history.ts';
import { History } from './history.ts';
import { Item } from './item.ts';
import type { Layout } from './layout.ts';
import { layoutOf, registryPrefix, serialise } from './layout.ts';
import { storedForm, storedVersion } from './stored-form.ts';
import { Watchers } from './watchers.ts';

/** The cache of one resource: its objects, its recent changes and its watchers. */
export class ResourceCache {
  readonly kind: Kind;
  /** All keys of the resource begin with this. */
  readonly prefix: string;
  readonly layout: Layout;
  readonly watchers: Watchers;
  readonly #history: History;
  #items: Tree<Item> = Tree.empty();
  #lastChangeRevision: number;
  /** key → why the object cannot be read */
  readonly #unreadable = new Map<string, Error>();

  constructor(kind: Kind, floor: number, limits: HistoryLimits) {
    this.kind = kind;
    this.prefix = registryPrefix(kind);
    this.layout = layoutOf(kind);
    this.watchers = new Watchers(this.prefix);
    this.#history = new History(floor, limits);
    this.#lastChangeRevision = floor; // earlier deletions are not in the store
  }

  get size(): number {
    return this.#items.size;
  }

  /** The resource has not changed after this revision. */
  get lastChangeRevision(): number {
    return this.#lastChangeRevision;
  }

  /** Stored objects that cannot be read: key → why. */
  get unreadable(): ReadonlyMap<string, Error> {
    return this.#unreadable;
  }

  /** Throws Kubernetes' error if an object in `scope`, or with the key `scope`, cannot be read. */
  requireReadable(scope: string): void {
    for (const [key, problem] of this.#unreadable) {
      if (key === scope || (scope.endsWith('/') && key.startsWith(scope))) throw problem;
    }
  }

  /** A watch can resume from this revision or later. */
  get floor(): number {
    return this.#history.floor;
  }

  key(namespace: string, name: string): string {
    return this.kind.namespaced ? `${this.prefix}${namespace}/${name}` : `${this.prefix}${name}`;
  }

  /** The key of the only object that `namespace` and `name` can select; undefined if they can select several. */
  singleKey(namespace: string, name: string | undefined): string | undefined {
    if (name === undefined || name === '' || (this.kind.namespaced && namespace === '')) return undefined;
    return this.key(namespace, name);
  }

  /** The key prefix of the objects in `namespace`; '' means all namespaces. */
  scope(namespace: string): string {
    return this.kind.namespaced && namespace !== '' ? `${this.prefix}${namespace}/` : this.prefix;
  }

  get(key: string): Item | undefined {
    return this.#items.get(key);
  }

  /** Items under `scope` from the key `from` on, in key order. */
  range(scope: string, from: string = scope, limit: number = Infinity): readonly Item[] {
    return this.#items.range(from, afterPrefix(scope), limit);
  }

  /** A snapshot of the items under `scope` from the key `from` on, to iterate over at any pace. */
  walk(scope: string, from: string = scope): Iterable<Item> {
    return this.#items.walk(from, afterPrefix(scope));
  }

  /** The number of items under `scope` from the key `from` on. */
  count(scope: string, from: string = scope): number {
    return this.#items.countBelow(afterPrefix(scope) ?? '\uffff') - this.#items.countBelow(from);
  }

  /** The changes after `revision`; undefined if some of them are no longer kept. */
  since(revision: number): readonly CacheEvent[] | undefined {
    return this.#history.since(revision);
  }

  /** Adds an entry that was read from the store. */
  load(entry: Entry): void {
    const item = this.item(entry);
    this.#items = this.#items.set(item);
    this.#trackReadability(entry.key, item);
    this.#lastChangeRevision = Math.max(this.#lastChangeRevision, entry.revision);
  }

  /**
   * Replaces all objects by those of a later revision, because changes were missed. Watches that can end do so, and their
   * clients list again; others are notified of the differences.
   */
  replace(entries: readonly Entry[], revision: number, time: number): void {
    const before = this.#items;
    this.#items = Tree.empty();
    this.#unreadable.clear();
    for (const entry of entries) this.load(entry);
    this.#history.reset(revision);
    this.#lastChangeRevision = revision;
    for (const watcher of this.watchers) watcher.end?.();
    const gone = before.range('', undefined, Infinity).filter(({ key }) => this.#items.get(key) === undefined);
    for (const previous of gone)
      this.watchers.notify(differenceOf(previous.key, { item: undefined, previous, revision, time }));
    for (const item of this.#items.range('', undefined, Infinity)) {
      const previous = before.get(item.key);
      if (previous?.revision === item.revision) continue;
      this.watchers.notify(differenceOf(item.key, { item, previous, revision: item.revision, time }));
    }
  }

  /** Adds a change that happened before `load` to the history only, for watches that resume. */
  backfill(change: Change, time: number): void {
    const item = change.entry === undefined ? undefined : this.item(change.entry);
    const previous = change.previous === undefined ? undefined : this.item(change.previous);
    const event = eventOf(change, item, previous, time);
    if (isReadable(event)) this.#history.push(event);
    else this.#history.reset(change.revision);
    this.#lastChangeRevision = Math.max(this.#lastChangeRevision, change.revision);
  }

  /** Applies a change and notifies the watchers. */
  apply(change: Change, time: number): void {
    const { key, entry } = change;
    const previous = this.#items.get(key) ?? (change.previous === undefined ? undefined : this.item(change.previous));
    const item = entry === undefined ? undefined : this.item(entry);
    this.#items = item === undefined ? this.#items.delete(key) : this.#items.set(item);
    this.#lastChangeRevision = change.revision;
    this.#trackReadability(key, item);
    const event = eventOf(change, item, previous, time);
    if (!isReadable(event)) {
      // The change cannot be delivered: watches end, and clients list again once every object is readable.
      this.#history.reset(change.revision);
      for (const watcher of this.watchers) watcher.end?.();
      return;
    }
    this.#history.push(event);
    this.watchers.notify(event);
    event.lines = undefined;
  }

  item(entry: Entry): Item {
    try {
      if (entry.problem !== undefined) throw new Error(entry.problem);
      const kind = storedVersion(this.kind, entry.value);
      const layout = kind === this.kind ? this.layout : layoutOf(kind);
      const value = storedForm(kind, layout, entry.value);
      if (value === entry.value && kind === this.kind) return new Item(entry, layout);
      const isOutdated = this.kind.readStored !== undefined && !entry.value.startsWith(this.layout.head);
      return new Item({ ...entry, value }, layout, { isOutdated, ...(kind === this.kind ? {} : { version: kind }) });
    } catch (error) {
      const problem = unreadable(entry.key, messageOf(error));
      return new Item({ ...entry, value: this.#placeholder(entry.key) }, this.layout, { problem });
    }
  }

  /** An object with only the name, in place of one that cannot be read. */
  #placeholder(key: string): string {
    const path = key.slice(this.prefix.length).split('/');
    const [namespace, name] = this.kind.namespaced ? path : [undefined, ...path];
    const metadata = { name, ...(namespace === undefined ? {} : { namespace }) };
    return serialise(this.layout, decode<ApiObject>(this.kind.schema, { metadata }).object);
  }

  #trackReadability(key: string, item: Item | undefined): void {
    if (item?.problem === undefined) this.#unreadable.delete(key);
    else this.#unreadable.set(key, item.problem);
  }
}

const isReadable = ({ item, previous }: CacheEvent): boolean =>
  item?.problem === undefined && previous?.problem === undefined;

/** Kubernetes' error for a value that no provider can decrypt, or that is not an object. */
const unreadable = (key: string, problem: string): StatusError =>
  internalError(`unable to transform key ${JSON.stringify(key)}: ${problem}`);

const differenceOf = (key: string, event: Omit<CacheEvent, 'key' | 'lines'>): CacheEvent => ({
  ...event,
  key,
  lines: undefined,
});

const eventOf = (change: Change, item: Item | undefined, previous: Item | undefined, time: number): CacheEvent => ({
  revision: change.revision,
  key: change.key,
  item,
  previous,
  time,
  lines: undefined,
});
