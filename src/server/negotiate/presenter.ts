import type { Status } from '../../api/errors.ts';
import type { Kind } from '../../api/kind.ts';
import { apiVersionOf } from '../../api/kind.ts';
import type { ApiObject, ObjectMeta } from '../../api/metadata.ts';
import type { TypeMeta } from '../../api/schema/protobuf.ts';
import { encodeEvent, encodeItem, encodeObject } from '../../api/schema/protobuf.ts';
import type { StructSchema } from '../../api/schema/schema.ts';
import type { Item } from '../cache/item.ts';
import { itemInVersion } from '../cache/item.ts';
import { partialObjectMetadata, statusSchema } from '../openapi/meta-schemas.ts';
import { protobufType } from './accept.ts';

/** The metadata of a list. */
export interface ListMeta {
  readonly resourceVersion: string;
  readonly continue?: string;
  readonly remainingItemCount?: number;
}

export type EventType = 'ADDED' | 'MODIFIED' | 'DELETED';

/** A list before it is encoded. Its objects are encoded one by one, so that the list is never in memory as a whole. */
export type ListBody = TextList | ProtobufList;

/** A list that is encoded as JSON, and as YAML from there. */
export interface TextList {
  /** The fields before the objects, in the order of JSON. */
  readonly head: Readonly<Record<string, unknown>>;
  readonly field: 'items' | 'rows';
  readonly items: Iterable<Item>;
  readonly write: (item: Item) => string;
}

/** A list that is encoded in protobuf. */
export interface ProtobufList {
  readonly type: TypeMeta;
  readonly metadata: ListMeta;
  readonly items: Iterable<Item>;
  /** An object as a field of the list. */
  readonly encode: (item: Item) => Buffer;
}

/** Encodes objects in the requested representation. */
export interface Presenter<Encoded extends string | Buffer = string | Buffer> {
  readonly contentType: string;
  /** The Content-Type of a watch. */
  readonly streamType: string;
  /** Identifies representations whose watch events all watches share; undefined if they cannot be shared. */
  readonly shared: string | undefined;
  /** The kind to whose version a webhook must have converted the items, if any. */
  readonly inVersion?: Kind | undefined;
  object(item: Item, revision?: number): Encoded;
  list(items: Iterable<Item>, meta: ListMeta): ListBody;
  /** An event of a watch, framed. */
  event(type: EventType, item: Item, revision?: number): Encoded;
  /** A bookmark event; `isInitialEnd` marks the end of the initial objects. */
  bookmark(revision: number, isInitialEnd: boolean): Encoded;
  /** The event of an error. */
  error(status: Status): Encoded;
}

interface JsonForm {
  readonly shared: string | undefined;
  readonly inVersion?: Kind | undefined;
  readonly object: (item: Item, revision?: number) => string;
  readonly list: (items: Iterable<Item>, meta: ListMeta) => ListBody;
  /** The object of a bookmark. */
  readonly bookmark: (metadata: ObjectMeta) => string;
}

/** A presenter that writes each event of a watch as a line of JSON. */
export const jsonPresenter = ({ shared, inVersion, object, list, bookmark }: JsonForm): Presenter<string> => ({
  contentType: 'application/json',
  streamType: 'application/json',
  shared,
  inVersion,
  object,
  list,
  event: (type, item, revision) => eventLine(type, object(item, revision)),
  bookmark: (revision, isInitialEnd) => eventLine('BOOKMARK', bookmark(bookmarkMetadata(revision, isInitialEnd))),
  error: (status) => eventLine('ERROR', JSON.stringify(status)),
});

const eventLine = (type: string, object: string): string => `{"type":"${type}","object":${object}}\n`;

const bookmarkMetadata = (revision: number, isInitialEnd: boolean): ObjectMeta => ({
  resourceVersion: String(revision),
  ...(isInitialEnd ? { annotations: { 'k8s.io/initial-events-end': 'true' } } : {}),
});

/** Objects as they are stored. */
export const storedPresenter = (kind: Kind): Presenter<string> =>
  jsonPresenter({
    shared: 'stored',
    object: (item, revision) => item.json(revision),
    list: (items, meta) => ({ ...listOf(kind, meta), items, write: (item) => item.listJson() }),
    bookmark: bookmarkOf(kind),
  });

/** Objects converted from the stored version. */
export function convertedPresenter(kind: Kind, storage: NonNullable<Kind['storage']>): Presenter<string> {
  const apiVersion = apiVersionOf(kind);
  const convert = (item: Item, revision: number, inList: boolean): string => {
    const { kind: _kind, apiVersion: _apiVersion, metadata, ...rest } = storage.fromStorage(item.object);
    const named = inList && !kind.custom ? {} : { kind: kind.kind, apiVersion };
    return JSON.stringify({ ...named, metadata: withRevision(metadata, revision), ...rest });
  };
  return jsonPresenter({
    shared: apiVersion,
    object: (item, revision = item.revision) => convert(item, revision, false),
    list: (items, meta) => ({ ...listOf(kind, meta), items, write: (item) => convert(item, item.revision, true) }),
    bookmark: bookmarkOf(kind),
  });
}

/** Objects in a version to which a webhook converted them. */
export const versionPresenter = (kind: Kind): Presenter<string> =>
  jsonPresenter({
    shared: apiVersionOf(kind),
    inVersion: kind,
    object: (item, revision) => itemInVersion(kind, item).json(revision),
    list: (items, meta) => ({
      ...listOf(kind, meta),
      items,
      write: (item) => itemInVersion(kind, item).listJson(),
    }),
    bookmark: bookmarkOf(kind),
  });

/** Objects as PartialObjectMetadata. */
export function metadataPresenter(version: string): Presenter<string> {
  const kind = partialKind(version);
  const partial = (metadata: ObjectMeta): string =>
    JSON.stringify({ kind: kind.kind, apiVersion: apiVersionOf(kind), metadata });
  const object = (item: Item, revision = item.revision): string =>
    partial(withRevision(item.object.metadata, revision));
  return jsonPresenter({
    shared: `metadata/${version}`,
    object,
    list: (items, meta) => ({ ...listOf(kind, meta), items, write: (item) => object(item) }),
    bookmark: partial,
  });
}

const partialKind = (version: string): KindName => ({ kind: 'PartialObjectMetadata', group: 'meta.k8s.io', version });

type KindName = Pick<Kind, 'kind' | 'group' | 'version' | 'listKind'>;

/** Objects of a built-in kind in protobuf. */
export const protobufPresenter = (kind: Kind): Presenter<Buffer> =>
  protobufForm(kind, kind.schema, kind.storage === undefined ? ({ object }) => object : convertFrom(kind.storage));

const convertFrom =
  (storage: NonNullable<Kind['storage']>) =>
  ({ object }: Item): ApiObject =>
    storage.fromStorage(object);

/** Objects as PartialObjectMetadata in protobuf. */
export const protobufMetadataPresenter = (version: string): Presenter<Buffer> =>
  protobufForm(partialKind(version), partialObjectMetadata, ({ object: { metadata } }) => ({ metadata }));

function protobufForm(kind: KindName, schema: StructSchema, viewed: (item: Item) => ApiObject): Presenter<Buffer> {
  const type: TypeMeta = { apiVersion: apiVersionOf(kind), kind: kind.kind };
  const revised = (item: Item, revision = item.revision): ApiObject => {
    const object = viewed(item);
    return revision === item.revision ? object : { ...object, metadata: withRevision(object.metadata, revision) };
  };
  return {
    contentType: protobufType,
    streamType: `${protobufType};stream=watch`,
    shared: `protobuf/${type.apiVersion}/${type.kind}`,
    object: (item, revision) => encodeObject(type, schema, revised(item, revision)),
    list: (items, metadata) => ({
      type: { ...type, kind: `${type.kind}List` },
      metadata,
      items,
      encode: (item) => encodeItem(schema, viewed(item)),
    }),
    event: (eventType, item, revision) => encodeEvent(eventType, type, schema, revised(item, revision)),
    bookmark: (revision, isInitialEnd) =>
      encodeEvent('BOOKMARK', type, schema, { metadata: bookmarkMetadata(revision, isInitialEnd) }),
    error: (status) => encodeEvent('ERROR', status, statusSchema, status),
  };
}

/** Metadata with another revision, such as that of a deletion; 0 leaves it unchanged. */
const withRevision = (metadata: ObjectMeta, revision: number): ObjectMeta =>
  revision === 0 ? metadata : { ...metadata, resourceVersion: String(revision) };

const bookmarkOf =
  (kind: Kind) =>
  (metadata: ObjectMeta): string =>
    JSON.stringify({ kind: kind.kind, apiVersion: apiVersionOf(kind), metadata });

/** The fields before the objects of a list. */
const listOf = (kind: KindName, meta: ListMeta): Pick<TextList, 'head' | 'field'> => ({
  head: { kind: kind.listKind ?? `${kind.kind}List`, apiVersion: apiVersionOf(kind), metadata: meta },
  field: 'items',
});
