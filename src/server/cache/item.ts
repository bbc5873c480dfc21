import type { ApiObject } from '../../api/metadata.ts';
import type { Entry } from '../../store/store.ts';
import type { Layout } from './layout.ts';
import { asListItem, withRevision } from './layout.ts';

/** A stored object in the cache: keeps its bytes, and the parsed object only while something references it. */
export class Item {
  readonly entry: Entry;
  /** Why the object cannot be read; `entry` then has only its name. */
  readonly problem: Error | undefined;
  readonly #layout: Layout;
  #parsed: WeakRef<ApiObject> | undefined;
  #labels: Labels | undefined;

  constructor(entry: Entry, layout: Layout, problem?: Error) {
    this.entry = entry;
    this.problem = problem;
    this.#layout = layout;
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
