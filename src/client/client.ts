import { StatusError } from '../api/errors.ts';
import type { Kind } from '../api/kind.ts';
import { apiVersionOf } from '../api/kind.ts';
import type { ApiObject } from '../api/metadata.ts';
import { LimitExceededError } from './errors.ts';
import type { Usage } from './limits.ts';
import { defaultBudget, ObjectBudget } from './limits.ts';
import type { ListPage } from './list-pages.ts';
import { ListPages } from './list-pages.ts';
import { parseJson, stripManagedFields } from './json.ts';
import type { ApiResponse, ApiRequest, Query, Transport } from './transport.ts';
import { hasStatusCode, isStatus, statusErrorOf } from './transport.ts';

/** Which object. A namespace is given for kinds that are in one. */
export interface Name {
  readonly namespace?: string | undefined;
  readonly name: string;
}

export interface CallOptions {
  readonly signal?: AbortSignal | undefined;
}

export interface WriteOptions extends CallOptions {
  /** Who owns the fields that are written; default: the client's. */
  readonly fieldManager?: string;
  readonly dryRun?: boolean;
  /** Writes this endpoint of the object, such as `status`. */
  readonly subresource?: string;
  /** Has the server answer with the metadata alone, for a writer that knows the rest. */
  readonly metadataOnly?: boolean;
}

export interface PatchOptions extends WriteOptions {
  /** What the patch is; default `merge`. */
  readonly type?: keyof typeof patchTypes;
}

export interface ApplyOptions extends WriteOptions {
  /** Takes fields over from other managers; default true, as controllers do. */
  readonly force?: boolean;
}

export interface DeleteOptions extends CallOptions {
  readonly propagationPolicy?: 'Background' | 'Foreground' | 'Orphan';
  readonly gracePeriodSeconds?: number;
  /** Refuses with a conflict when the object is another by now, or has changed. */
  readonly preconditions?: { readonly uid?: string; readonly resourceVersion?: string };
}

export interface Selection {
  /** Default: all namespaces. */
  readonly namespace?: string | undefined;
  readonly labelSelector?: string | undefined;
  readonly fieldSelector?: string | undefined;
  /** Asks for the metadata of the objects alone. */
  readonly metadataOnly?: boolean | undefined;
  /** Watches without `managedFields`; for kinds of which no other field has that name. */
  readonly withoutManagedFields?: boolean | undefined;
}

export interface ListOptions extends Selection, CallOptions {
  /** Called with the size of all pages so far; throws when that is too much. Default: more than any cluster has. */
  readonly check?: (usage: Usage) => void;
  /** Objects a page; default 500. All pages are read. */
  readonly pageSize?: number;
}

export interface WatchOptions extends Selection, CallOptions {
  /** Events after this revision; '' begins with what there is now. */
  readonly resourceVersion: string;
  /** Asks for the present objects, and a bookmark where they end. */
  readonly sendInitialEvents?: boolean;
  readonly timeoutSeconds?: number;
  /** Called when the server has accepted the watch. */
  readonly onBegin?: (() => void) | undefined;
}

/** The objects of one moment. */
export interface ObjectList<T> {
  readonly resourceVersion: string;
  readonly items: readonly T[];
  /** How many the server sent for them. */
  readonly bytes: number;
}

/** What a watch says. A bookmark has a kind and a revision only; an ERROR is thrown instead. */
export interface WatchEvent<T> {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK';
  readonly object: T;
  /** How many the server sent for it. */
  readonly bytes: number;
}

const patchTypes = {
  merge: 'application/merge-patch+json',
  json: 'application/json-patch+json',
  strategic: 'application/strategic-merge-patch+json',
} as const;

const applyType = 'application/apply-patch+yaml';

/** Reads and writes objects of any kind. Refusals are thrown as StatusError. */
export class Client implements Disposable {
  readonly #transport: Transport;
  readonly #fieldManager: string;

  constructor(transport: Transport, { fieldManager = 'fairlead' }: { readonly fieldManager?: string } = {}) {
    this.#transport = transport;
    this.#fieldManager = fieldManager;
  }

  /** Whatever is under a path, such as what a server serves; see discovery.ts. */
  read(path: string, { accept, signal }: CallOptions & { readonly accept?: string } = {}): Promise<unknown> {
    return this.#json({ method: 'GET', path, ...(accept === undefined ? {} : { accept }), signal });
  }

  get<T extends ApiObject>(kind: Kind<T>, name: Name, { signal }: CallOptions = {}): Promise<T> {
    return this.#object(kind, { method: 'GET', path: objectPath(kind, name), signal });
  }

  /** As `get`, but undefined when there is none. */
  async find<T extends ApiObject>(kind: Kind<T>, name: Name, options: CallOptions = {}): Promise<T | undefined> {
    return unlessGone(this.get(kind, name, options));
  }

  /** Everything selected, as of one revision. */
  async list<T extends ApiObject>(kind: Kind<T>, options: ListOptions = {}): Promise<ObjectList<T>> {
    const { signal, pageSize = 500, check = (usage) => new ObjectBudget(defaultBudget).use(options, usage) } = options;
    const path = collectionPath(kind, options.namespace);
    const accept = acceptFor('PartialObjectMetadataList', options);
    const pages = new ListPages<T>(check);
    let query: Query = { limit: pageSize };
    for (;;) {
      let answer: ApiResponse;
      try {
        answer = await this.#answer({
          method: 'GET',
          path,
          query: { ...selectors(options), ...query },
          accept,
          signal,
        });
      } catch (error) {
        const [limit, isContinued] = [Number(query['limit'] ?? 0), query['continue'] !== undefined];
        if (error instanceof LimitExceededError && limit > 1) {
          query = { ...query, limit: Math.ceil(limit / 8) }; // its objects are large
        } else if (hasStatusCode(error, 410) && isContinued) {
          // The revision of the first page is forgotten already: everything at once instead.
          pages.clear();
          query = {};
        } else throw error;
        continue;
      }
      // A cast where bytes become an object: what the server sends of a kind is trusted to be of it.
      const token = pages.add(parseJson(answer.body) as ListPage<T>, answer.body.length);
      if (token === '') break;
      query = { limit: query['limit'] ?? pageSize, continue: token };
    }
    const { resourceVersion, items, usage } = pages;
    return { resourceVersion, items: items.map((item) => typed(kind, item)), bytes: usage.bytes };
  }

  /** Events until the server ends the stream, the signal fires, or the loop is left. An ERROR event is thrown. */
  async *watch<T extends ApiObject>(kind: Kind<T>, options: WatchOptions): AsyncGenerator<WatchEvent<T>> {
    const { resourceVersion, sendInitialEvents, timeoutSeconds, signal, onBegin } = options;
    const query: Query = {
      watch: true,
      allowWatchBookmarks: true,
      ...selectors(options),
      ...(resourceVersion === '' ? {} : { resourceVersion }),
      ...(sendInitialEvents === undefined ? {} : { sendInitialEvents, resourceVersionMatch: 'NotOlderThan' }),
      timeoutSeconds,
    };
    const path = collectionPath(kind, options.namespace);
    const accept = acceptFor('PartialObjectMetadata', options);
    const call: ApiRequest = { method: 'GET', path, query, accept, signal, onBegin };
    const cut = options.withoutManagedFields === true ? stripManagedFields : asItIs;
    for await (const line of this.#transport.stream(call)) yield eventOf<T>(cut(line));
  }

  create<T extends ApiObject>(kind: Kind<T>, object: T, options: WriteOptions = {}): Promise<T> {
    const { namespace, name = '' } = object.metadata;
    const collection = collectionPath(kind, namespace);
    const path = options.subresource === undefined ? collection : objectPath(kind, { namespace, name }, options);
    return this.#write(kind, { method: 'POST', path, body: bodyOf(kind, object) }, options);
  }

  /** Replaces the object; refused with a conflict when it carries a revision that is no longer the latest. */
  update<T extends ApiObject>(kind: Kind<T>, object: T, options: WriteOptions = {}): Promise<T> {
    const path = objectPath(kind, nameOf(object), options);
    return this.#write(kind, { method: 'PUT', path, body: bodyOf(kind, object) }, options);
  }

  /** Replaces the status alone. */
  updateStatus<T extends ApiObject>(kind: Kind<T>, object: T, options: WriteOptions = {}): Promise<T> {
    return this.update(kind, object, { ...options, subresource: 'status' });
  }

  patch<T extends ApiObject>(
    kind: Kind<T>,
    name: Name,
    { body, ...options }: { readonly body: unknown } & PatchOptions,
  ): Promise<T> {
    const type = patchTypes[options.type ?? 'merge'];
    const path = objectPath(kind, name, options);
    return this.#write(kind, { method: 'PATCH', path, type, body: JSON.stringify(body) }, options);
  }

  /** Server-side apply: makes the fields of `object` so, and drops those that this manager applied before. */
  apply<T extends ApiObject>(kind: Kind<T>, object: T, options: ApplyOptions = {}): Promise<T> {
    const path = objectPath(kind, nameOf(object), options);
    const query = { force: options.force ?? true };
    return this.#write(kind, { method: 'PATCH', path, query, type: applyType, body: bodyOf(kind, object) }, options);
  }

  /** Deletes the object; one that is gone already is no error. */
  async delete(kind: Kind, name: Name, { signal, ...options }: DeleteOptions = {}): Promise<void> {
    const body = JSON.stringify({ kind: 'DeleteOptions', apiVersion: 'v1', ...options });
    await unlessGone(this.#json({ method: 'DELETE', path: objectPath(kind, name), body, signal }));
  }

  [Symbol.dispose](): void {
    this.#transport[Symbol.dispose]();
  }

  #write<T extends ApiObject>(kind: Kind<T>, call: ApiRequest, options: WriteOptions): Promise<T> {
    const { fieldManager = this.#fieldManager, dryRun = false, signal } = options;
    const query = { ...call.query, fieldManager, dryRun: dryRun ? 'All' : undefined };
    return this.#object(kind, { ...call, query, accept: acceptFor('PartialObjectMetadata', options), signal });
  }

  async #object<T extends ApiObject>(kind: Kind<T>, call: ApiRequest): Promise<T> {
    // A cast where bytes become an object: what the server sends of a kind is trusted to be of it.
    return typed(kind, (await this.#json(call)) as T);
  }

  async #json(call: ApiRequest): Promise<unknown> {
    return parseJson((await this.#answer(call)).body);
  }

  async #answer(call: ApiRequest): Promise<ApiResponse> {
    const answer = await this.#transport.request(call);
    if (answer.status < 200 || answer.status > 299) throw statusErrorOf(answer);
    return answer;
  }
}

const selectors = ({ labelSelector, fieldSelector }: Selection): Query => ({ labelSelector, fieldSelector });

/** The media types of objects as they are, or of their metadata. */
const acceptFor = (as: string, { metadataOnly = false }: Pick<Selection, 'metadataOnly'>): string =>
  metadataOnly ? `application/json;as=${as};g=meta.k8s.io;v=v1` : 'application/json';

/** Items of lists come without their kind; with it, an object can be written as it is. */
const typed = <T extends ApiObject>(kind: Kind<T>, object: T): T => ({
  ...object,
  kind: kind.kind,
  apiVersion: apiVersionOf(kind),
});

const bodyOf = <T extends ApiObject>(kind: Kind<T>, object: T): string => JSON.stringify(typed(kind, object));

const nameOf = ({ metadata: { namespace, name = '' } }: ApiObject): Name => ({ namespace, name });

function collectionPath(kind: Kind, namespace: string | undefined): string {
  const root = kind.group === '' ? `/api/${kind.version}` : `/apis/${kind.group}/${kind.version}`;
  const scope = kind.namespaced && namespace !== undefined ? `/namespaces/${encodeURIComponent(namespace)}` : '';
  return `${root}${scope}/${kind.plural}`;
}

function objectPath(kind: Kind, { namespace, name }: Name, { subresource }: WriteOptions = {}): string {
  if (name === '') throw new Error(`a ${kind.kind} without a name was asked for`);
  const path = `${collectionPath(kind, namespace)}/${encodeURIComponent(name)}`;
  return subresource === undefined ? path : `${path}/${subresource}`;
}

async function unlessGone<T>(answer: Promise<T>): Promise<T | undefined> {
  try {
    return await answer;
  } catch (error) {
    if (hasStatusCode(error, 404)) return undefined;
    throw error;
  }
}

const asItIs = (line: string): string => line;

const eventTypes: ReadonlySet<unknown> = new Set(['ADDED', 'MODIFIED', 'DELETED', 'BOOKMARK']);

function eventOf<T extends ApiObject>(line: string): WatchEvent<T> {
  // A cast where bytes become an object; what the loop relies on is checked below.
  const event = parseJson(line) as { readonly type?: unknown; readonly object?: T };
  if (event.type === 'ERROR' && isStatus(event.object)) throw new StatusError(event.object);
  if (!eventTypes.has(event.type) || typeof event.object?.metadata?.resourceVersion !== 'string') {
    throw new SyntaxError(`not a watch event: ${line.slice(0, 200)}`);
  }
  return { type: event.type as WatchEvent<T>['type'], object: event.object, bytes: line.length };
}
