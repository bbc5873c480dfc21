import type { Kind } from '../../api/kind.ts';
import type { ApiObject } from '../../api/metadata.ts';
import type { Entry } from '../../store/store.ts';
import type { Layout } from './layout.ts';
import { asListItem, withRevision } from './layout.ts';

/** What distinguishes an item from others of its cache. */
interface ItemState {
  /** Why the object cannot be read. */
  readonly problem?: Error;
  /** The kind of its version, if that is not the one of the cache and only a webhook can convert it. */
  readonly version?: Kind;
  /** A write would store the object in another version or format. */
  readonly isOutdated?: boolean;
}

/** A stored object in the cache: keeps its bytes, and the parsed object only while something references it. */
export class Item {
  readonly entry: Entry;
  /** Why the object cannot be read; `entry` then has only its name. */
  readonly problem: Error | undefined;
  /** The kind of its version, if that is not the one of the cache. */
  readonly version: Kind | undefined;
  /** A write would store the object in another version or format, even if it does not change the object. */
  readonly isOutdated: boolean;
  readonly #layout: Layout;
  #parsed: WeakRef<ApiObject> | undefined;
  #labels: Labels | undefined;
  /** The object in other versions, as a webhook converted it */
  #views: Map<Kind, Item> | undefined;

  constructor(entry: Entry, layout: Layout, { problem, version, isOutdated = false }: ItemState = {}) {
    this.entry = entry;
    this.problem = problem;
    this.version = version;
    this.isOutdated = isOutdated;
    this.#layout = layout;
  }

  /** The object in a version between which and its own a webhook converts; undefined if it has not been converted. */
  inVersion(kind: Kind): Item | undefined {
    return (this.version ?? kind.storage?.kind ?? kind) === kind ? this : this.#views?.get(kind);
  }

  /** Keeps the object in another version, as a webhook converted it. */
  addVersion(kind: Kind, item: Item): void {
    (this.#views ??= new Map()).set(kind, item);
  }

  get key(): string {
    return this.entry.key;
  }

  get revision(): number {
    return this.entry.revision;
  }

  /** The object, with its resourceVersion unless it was never stored (revision 0). Shared: must not be modified. */
  get object(): ApiObject {
    const held = this.#parsed?.deref();
    if (held !== undefined) return held;
    // The store holds only what `serialise` wrote.
    const stored = JSON.parse(this.entry.value) as ApiObject;
    const object = this.entry.revision === 0 ? stored : revised(stored, this.entry.revision);
    this.#parsed = new WeakRef(object);
    return object;
  }

  /** The labels, kept after the first use: a list with a label selector needs those of every object. */
  get labels(): Labels {
    return (this.#labels ??= this.object.metadata.labels ?? noLabels);
  }

  /** The object as JSON; for a deletion `revision` is that of the deletion. */
  json(revision: number = this.entry.revision): string {
    return withRevision(this.#layout, this.entry.value, revision);
  }

  listJson(): string {
    return asListItem(this.#layout, this.entry.value, this.entry.revision);
  }
}

type Labels = Readonly<Record<string, string>>;

const noLabels: Labels = {};

const revised = (object: ApiObject, revision: number): ApiObject => ({
  ...object,
  metadata: { ...object.metadata, resourceVersion: String(revision) },
});

/** An item in the version of `kind`. Conversions by a webhook must be awaited before. */
export function itemInVersion(kind: Kind, item: Item): Item {
  if (kind.webhookVersions === undefined) return item;
  const found = item.inVersion(kind);
  if (found === undefined) throw new Error(`bug: ${item.key} was not converted to ${kind.version}`);
  return found;
}

/** The object of an item in the version of `kind`. Conversions by a webhook must be awaited before. */
export function objectInVersion(kind: Kind, item: Item): ApiObject {
  if (kind.webhookVersions !== undefined) return itemInVersion(kind, item).object;
  return kind.storage === undefined ? item.object : kind.storage.fromStorage(item.object);
}
