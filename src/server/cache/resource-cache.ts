import type { Kind } from '../../api/kind.ts';
import { Tree } from '../../store/tree.ts';
import type { Change, Entry } from '../../store/store.ts';
import { afterPrefix } from '../../store/writes.ts';
import type { CacheEvent, HistoryLimits } from './history.ts';
import { History } from './history.ts';
import { Item } from './item.ts';
import type { Layout } from './layout.ts';
import { layoutOf } from './layout.ts';
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
    this.#items = this.#items.set(this.item(entry));
    this.#changed = Math.max(this.#changed, entry.revision);
  }

  /** Records a change that happened before `load`, for those who resume. */
  remember(change: Change, time: number): void {
    const item = change.entry === undefined ? undefined : this.item(change.entry);
    const previous = change.previous === undefined ? undefined : this.item(change.previous);
    this.#history.push(eventOf(change, item, previous, time));
    this.#changed = Math.max(this.#changed, change.revision);
  }

  /** Takes over a change and tells the watchers. */
  apply(change: Change, time: number): void {
    const { key, entry } = change;
    const previous = this.#items.get(key) ?? (change.previous === undefined ? undefined : this.item(change.previous));
    const item = entry === undefined ? undefined : this.item(entry);
    this.#items = item === undefined ? this.#items.delete(key) : this.#items.set(item);
    this.#changed = change.revision;
    const event = eventOf(change, item, previous, time);
    this.#history.push(event);
    this.watchers.notify(event);
    event.lines = undefined;
  }

  item(entry: Entry): Item {
    return new Item(entry, this.layout);
  }
}

const eventOf = (change: Change, item: Item | undefined, previous: Item | undefined, time: number): CacheEvent => ({
  revision: change.revision,
  key: change.key,
  item,
  previous,
  time,
  lines: undefined,
});

/** Where the objects of a kind are kept: `/registry/services/`, `/registry/discovery.k8s.io/endpointslices/`. */
export const registryPrefix = ({ group, plural }: Pick<Kind, 'group' | 'plural'>): string =>
  `${registryRoot}${group === '' ? '' : `${group}/`}${plural}/`;

export const registryRoot = '/registry/';
