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

/** Writes objects in the form a client asked for. */
export interface Presenter {
  readonly contentType: string;
  /** Names the form when its watch lines are the same for every watcher; undefined when they are not. */
  readonly shared: string | undefined;
  object(item: Item, revision?: number): string;
  list(items: Iterable<Item>, meta: ListMeta): Iterable<string>;
  /** The object of a bookmark. */
  bookmark(revision: number, annotations: string): string;
}

/** Objects as they are stored. */
export function storedPresenter(kind: Kind): Presenter {
  return {
    contentType: 'application/json',
    shared: 'stored',
    object: (item, revision) => item.json(revision),
    list: (items, meta) => listPieces(kind, items, meta, (item) => item.listJson()),
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
    list: (items, meta) => listPieces(kind, items, meta, (item) => convert(item, item.revision, true)),
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

/** A list, piece by piece, so that it never has to be one string. */
export function* listPieces(
  kind: { readonly kind: string; readonly group: string; readonly version: string },
  items: Iterable<Item>,
  meta: ListMeta,
  write: (item: Item) => string,
): Generator<string, void> {
  yield `{"kind":"${kind.kind}List","apiVersion":"${apiVersionOf(kind)}","metadata":${JSON.stringify(meta)},"items":[`;
  let first = true;
  for (const item of items) {
    yield first ? write(item) : `,${write(item)}`;
    first = false;
  }
  yield ']}\n';
}
