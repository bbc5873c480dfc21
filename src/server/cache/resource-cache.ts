import type { StatusError } from '../../api/errors.ts';
import { internalError } from '../../api/errors.ts';
import type { Kind } from '../../api/kind.ts';
import type { ApiObject } from '../../api/metadata.ts';
import { decode } from '../../api/schema/decode.ts';
import { Tree } from '../../store/tree.ts';
import type { Change, Entry } from '../../store/store.ts';
import { afterPrefix } from '../../store/writes.ts';
import { encryptedPrefix, readsEncrypted } from '../encryption/transformer.ts';
import type { CacheEvent, HistoryLimits } from './history.ts';
import { History } from './history.ts';
import { Item } from './item.ts';
import type { Layout } from './layout.ts';
import { layoutOf, serialise } from './layout.ts';
import { registryPrefix } from './registry-keys.ts';
import { Watchers } from './watchers.ts';

/** Everything known about one stored resource: its objects, its recent changes and who follows them. */
export class ResourceCache {
  readonly kind: Kind;
  /** All keys of the resource begin with this. */
  readonly prefix: string;
  readonly layout: Layout;
  readonly watchers: Watchers;
  readonly #history: History;
  #items: Tree<Item> = Tree.empty();
  #changed: number;
  /** Key → why the object cannot be read. Nearly always empty. */
  readonly #unreadable = new Map<string, Error>();

  constructor(kind: Kind, floor: number, limits: HistoryLimits) {
    this.kind = kind;
    this.prefix = registryPrefix(kind);
    this.layout = layoutOf(kind);
    this.watchers = new Watchers(this.prefix);
    this.#history = new History(floor, limits);
    this.#changed = floor; // what was deleted before left no trace
  }

  get size(): number {
    return this.#items.size;
  }

  /** Nothing here has changed after this revision. */
  get changed(): number {
    return this.#changed;
  }

  /** Objects that are stored and cannot be read: key → why. */
  get unreadable(): ReadonlyMap<string, Error> {
    return this.#unreadable;
  }

  /** Throws Kubernetes' error if an object cannot be read that is in `scope`, or has it as its key. */
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

  /** The key of the one object that `namespace` and `name` leave; undefined when they leave several. */
  onlyKey(namespace: string, name: string | undefined): string | undefined {
    if (name === undefined || name === '' || (this.kind.namespaced && namespace === '')) return undefined;
    return this.key(namespace, name);
  }

  /** The prefix of the objects in `namespace`; '' means all. */
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

  /** The items under `scope` as they are now, from the key `from` on, however long the reader takes. */
  walk(scope: string, from: string = scope): Iterable<Item> {
    return this.#items.walk(from, afterPrefix(scope));
  }

  /** How many items there are under `scope` from the key `from` on. */
  count(scope: string, from: string = scope): number {
    return this.#items.countBelow(afterPrefix(scope) ?? '\uffff') - this.#items.countBelow(from);
  }

  /** The changes after `revision`; undefined when some of them are forgotten. */
  since(revision: number): readonly CacheEvent[] | undefined {
    return this.#history.since(revision);
  }

  /** Takes over an entry that was read, not watched. */
  load(entry: Entry): void {
    const item = this.item(entry);
    this.#items = this.#items.set(item);
    this.#note(entry.key, item);
    this.#changed = Math.max(this.#changed, entry.revision);
  }

  /** Records a change that happened before `load`, for those who resume. */
  remember(change: Change, time: number): void {
    const item = change.entry === undefined ? undefined : this.item(change.entry);
    const previous = change.previous === undefined ? undefined : this.item(change.previous);
    const event = eventOf(change, item, previous, time);
    if (isReadable(event)) this.#history.push(event);
    else this.#history.forget(change.revision);
    this.#changed = Math.max(this.#changed, change.revision);
  }

  /** Takes over a change and tells the watchers. */
  apply(change: Change, time: number): void {
    const { key, entry } = change;
    const previous = this.#items.get(key) ?? (change.previous === undefined ? undefined : this.item(change.previous));
    const item = entry === undefined ? undefined : this.item(entry);
    this.#items = item === undefined ? this.#items.delete(key) : this.#items.set(item);
    this.#changed = change.revision;
    this.#note(key, item);
    const event = eventOf(change, item, previous, time);
    if (!isReadable(event)) {
      // The change cannot be delivered: watches end, and clients list again once every object is readable.
      this.#history.forget(change.revision);
      for (const watcher of this.watchers) watcher.end?.();
      return;
    }
    this.#history.push(event);
    this.watchers.notify(event);
    event.lines = undefined;
  }

  item(entry: Entry): Item {
    const problem = entry.problem ?? (entry.value.startsWith(encryptedPrefix) ? readsEncrypted : undefined);
    if (problem === undefined) return new Item(entry, this.layout);
    return new Item({ ...entry, value: this.#standIn(entry.key) }, this.layout, unreadable(entry.key, problem));
  }

  /** An object with nothing but the name, for one that cannot be read. */
  #standIn(key: string): string {
    const path = key.slice(this.prefix.length).split('/');
    const [namespace, name] = this.kind.namespaced ? path : [undefined, ...path];
    const metadata = { name, ...(namespace === undefined ? {} : { namespace }) };
    return serialise(this.layout, decode<ApiObject>(this.kind.schema, { metadata }).object);
  }

  #note(key: string, item: Item | undefined): void {
    if (item?.problem === undefined) this.#unreadable.delete(key);
    else this.#unreadable.set(key, item.problem);
  }
}

const isReadable = ({ item, previous }: CacheEvent): boolean =>
  item?.problem === undefined && previous?.problem === undefined;

/** Kubernetes' error for a value that no provider can decrypt. */
const unreadable = (key: string, problem: string): StatusError =>
  internalError(`unable to transform key ${JSON.stringify(key)}: ${problem}`);

const eventOf = (change: Change, item: Item | undefined, previous: Item | undefined, time: number): CacheEvent => ({
  revision: change.revision,
  key: change.key,
  item,
  previous,
  time,
  lines: undefined,
});
