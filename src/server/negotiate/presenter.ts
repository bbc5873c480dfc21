import type { Kind } from '../../api/kind.ts';
import { apiVersionOf } from '../../api/kind.ts';
import type { ObjectMeta } from '../../api/metadata.ts';
import type { Item } from '../cache/item.ts';

/** What a list says about itself. */
export interface ListMeta {
  readonly resourceVersion: string;
  readonly continue?: string;
  readonly remainingItemCount?: number;
}

export type EventType = 'ADDED' | 'MODIFIED' | 'DELETED';

/** A list before it is encoded. Its objects are written one by one, so that it never is one string. */
export interface ListBody {
  /** The fields before the objects, in the order of JSON. */
  readonly head: Readonly<Record<string, unknown>>;
  /** The field of the objects. */
  readonly field: 'items' | 'rows';
  readonly items: Iterable<Item>;
  /** One object as JSON. */
  readonly write: (item: Item) => string;
}

/** Writes objects in the form a client asked for. */
export interface Presenter {
  readonly contentType: string;
  /** Names the form when its watch lines are the same for every watcher; undefined when they are not. */
  readonly shared: string | undefined;
  object(item: Item, revision?: number): string;
  list(items: Iterable<Item>, meta: ListMeta): ListBody;
  /** The object of a bookmark. */
  bookmark(revision: number, annotations: string): string;
}

/** Objects as they are stored. */
export function storedPresenter(kind: Kind): Presenter {
  return {
    contentType: 'application/json',
    shared: 'stored',
    object: (item, revision) => item.json(revision),
    list: (items, meta) => ({ ...listOf(kind, meta), items, write: (item) => item.listJson() }),
    bookmark: bookmarkOf(kind),
  };
}

/** Objects in a version that is a view of the stored one. */
export function convertedPresenter(kind: Kind, storage: NonNullable<Kind['storage']>): Presenter {
  const apiVersion = apiVersionOf(kind);
  const convert = (item: Item, revision: number, inList: boolean): string => {
    const { kind: _kind, apiVersion: _apiVersion, metadata, ...rest } = storage.fromStorage(item.object);
    const named = inList && !kind.custom ? {} : { kind: kind.kind, apiVersion };
    return JSON.stringify({ ...named, metadata: withRevision(metadata, revision), ...rest });
  };
  return {
    contentType: 'application/json',
    shared: apiVersion,
    object: (item, revision = item.revision) => convert(item, revision, false),
    list: (items, meta) => ({ ...listOf(kind, meta), items, write: (item) => convert(item, item.revision, true) }),
    bookmark: bookmarkOf(kind),
  };
}

/** Metadata that tells of another revision than the object's own; 0 leaves it as it is. */
export const withRevision = (metadata: ObjectMeta, revision: number): ObjectMeta =>
  revision === 0 ? metadata : { ...metadata, resourceVersion: String(revision) };

const bookmarkOf =
  (kind: Kind) =>
  (revision: number, annotations: string): string =>
    `{"kind":"${kind.kind}","apiVersion":"${apiVersionOf(kind)}","metadata":{"resourceVersion":"${revision}"${annotations}}}`;

/** What stands before the objects of a list. */
export const listOf = (
  kind: { readonly kind: string; readonly group: string; readonly version: string },
  meta: ListMeta,
): Pick<ListBody, 'head' | 'field'> => ({
  head: { kind: `${kind.kind}List`, apiVersion: apiVersionOf(kind), metadata: meta },
  field: 'items',
});
