import type { Kind } from '../../api/kind.ts';
import { apiVersionOf } from '../../api/kind.ts';
import type { ObjectMeta } from '../../api/metadata.ts';
import type { Item } from '../cache/item.ts';

/** The metadata of a list. */
export interface ListMeta {
  readonly resourceVersion: string;
  readonly continue?: string;
  readonly remainingItemCount?: number;
}

export type EventType = 'ADDED' | 'MODIFIED' | 'DELETED';

/** A list before it is encoded. Its objects are encoded one by one, so that the list is never one string. */
export interface ListBody {
  /** The fields before the objects, in the order of JSON. */
  readonly head: Readonly<Record<string, unknown>>;
  readonly field: 'items' | 'rows';
  readonly items: Iterable<Item>;
  readonly write: (item: Item) => string;
}

/** Encodes objects in the requested representation. */
export interface Presenter {
  readonly contentType: string;
  /** Identifies representations whose watch lines all watches share; undefined if they cannot be shared. */
  readonly shared: string | undefined;
  object(item: Item, revision?: number): string;
  list(items: Iterable<Item>, meta: ListMeta): ListBody;
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

/** Objects converted from the stored version. */
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

/** Objects as PartialObjectMetadata. */
export function metadataPresenter(version: string): Presenter {
  const kind = { kind: 'PartialObjectMetadata', group: 'meta.k8s.io', version };
  const partial = (item: Item, revision = item.revision): string => {
    const metadata = withRevision(item.object.metadata, revision);
    return JSON.stringify({ kind: kind.kind, apiVersion: `meta.k8s.io/${version}`, metadata });
  };
  return {
    contentType: 'application/json',
    shared: `metadata/${version}`,
    object: partial,
    list: (items, meta) => ({ ...listOf(kind, meta), items, write: (item) => partial(item) }),
    bookmark: (revision, annotations) =>
      `{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/${version}","metadata":{"resourceVersion":"${revision}"${annotations}}}`,
  };
}

/** Metadata with another revision, such as that of a deletion; 0 leaves it unchanged. */
const withRevision = (metadata: ObjectMeta, revision: number): ObjectMeta =>
  revision === 0 ? metadata : { ...metadata, resourceVersion: String(revision) };

const bookmarkOf =
  (kind: Kind) =>
  (revision: number, annotations: string): string =>
    `{"kind":"${kind.kind}","apiVersion":"${apiVersionOf(kind)}","metadata":{"resourceVersion":"${revision}"${annotations}}}`;

/** The fields before the objects of a list. */
const listOf = (
  kind: { readonly kind: string; readonly group: string; readonly version: string },
  meta: ListMeta,
): Pick<ListBody, 'head' | 'field'> => ({
  head: { kind: `${kind.kind}List`, apiVersion: apiVersionOf(kind), metadata: meta },
  field: 'items',
});
