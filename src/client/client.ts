import { ignoreNotFound, StatusError } from '../api/errors.ts';
import type { Kind } from '../api/kind.ts';
import type { TokenRequest } from '../api/kinds/authentication/tokenrequest/kind.ts';
import { tokenRequestKind } from '../api/kinds/authentication/tokenrequest/kind.ts';
import { serviceAccountKind } from '../api/kinds/core/serviceaccount/kind.ts';
import { apiVersionOf } from '../api/kind.ts';
import type { ApiObject } from '../api/metadata.ts';
import { LimitExceededError } from './errors.ts';
import type { Name } from './key.ts';
import { nameOf } from './key.ts';
import type { Usage } from './limits.ts';
import { defaultBudget, ObjectBudget } from './limits.ts';
import type { ListPage } from './list-pages.ts';
import { ListPages } from './list-pages.ts';
import { parseJson, stripManagedFields } from './json.ts';
import type { ApiResponse, ApiRequest, Query, ResponseHeaders, Transport } from './transport.ts';
import { hasStatusCode, isStatus, statusErrorOf } from './transport.ts';

export interface CallOptions {
  readonly signal?: AbortSignal | undefined;
}

export interface GetOptions extends CallOptions {
  /** Called with the headers of the response. */
  readonly onHeaders?: (headers: ResponseHeaders) => void;
}

export interface WriteOptions extends CallOptions {
  /** Default: the field manager of the client. */
  readonly fieldManager?: string;
  readonly dryRun?: boolean;
  /** The subresource to write, such as `status`. */
  readonly subresource?: string;
  /** Requests a response with the metadata only. */
  readonly metadataOnly?: boolean;
}

export interface PatchOptions extends WriteOptions {
  /** The patch type; default `merge`. */
  readonly type?: keyof typeof patchTypes;
}

export interface ApplyOptions extends WriteOptions {
  /** Whether to take fields over from other managers; default true, as for controllers. */
  readonly force?: boolean;
}

export interface DeleteOptions extends CallOptions {
  readonly propagationPolicy?: 'Background' | 'Foreground' | 'Orphan';
  readonly gracePeriodSeconds?: number;
  /** Rejects the request with a conflict if the object does not match. */
  readonly preconditions?: { readonly uid?: string; readonly resourceVersion?: string };
}

export interface Selection {
  /** Default: all namespaces. */
  readonly namespace?: string | undefined;
  readonly labelSelector?: string | undefined;
  readonly fieldSelector?: string | undefined;
  /** Requests the metadata of the objects only. */
  readonly metadataOnly?: boolean | undefined;
  /** Strips `managedFields` from watch events; only for kinds without another field of that name. */
  readonly withoutManagedFields?: boolean | undefined;
}

export interface ListOptions extends Selection, CallOptions {
  /** Called with the size of all pages so far; throws if that is too large. Default: `defaultBudget`. */
  readonly check?: (usage: Usage) => void;
  /** Objects per page; default 500. All pages are read. */
  readonly pageSize?: number;
}

export interface WatchOptions extends Selection, CallOptions {
  /** Starts after this revision; '' starts with the current objects. */
  readonly resourceVersion: string;
  /** Requests the current objects first, then a bookmark. */
  readonly sendInitialEvents?: boolean;
  readonly timeoutSeconds?: number;
  /** Called when the server has accepted the watch. */
  readonly onBegin?: (() => void) | undefined;
}

/** A consistent list. */
export interface ObjectList<T> {
  readonly resourceVersion: string;
  readonly items: readonly T[];
  /** Size on the wire. */
  readonly bytes: number;
}

/** A watch event. A bookmark has only a kind and a revision; ERROR events are thrown. */
export interface WatchEvent<T> {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK';
  readonly object: T;
  /** Size on the wire. */
  readonly bytes: number;
}

const patchTypes = {
  merge: 'application/merge-patch+json',
  json: 'application/json-patch+json',
  strategic: 'application/strategic-merge-patch+json',
} as const;

const applyType = 'application/apply-patch+yaml';

/** Reads and writes objects of any kind. Error responses are thrown as StatusError. */
export class Client implements Disposable {
  readonly #transport: Transport;
  readonly #fieldManager: string;

  constructor(transport: Transport, { fieldManager = 'fairlead' }: { readonly fieldManager?: string } = {}) {
    this.#transport = transport;
    this.#fieldManager = fieldManager;
  }

  /** Reads any path, such as a discovery document. */
  read(path: string, { accept, signal }: CallOptions & { readonly accept?: string } = {}): Promise<unknown> {
    return this.#json({ method: 'GET', path, ...(accept === undefined ? {} : { accept }), signal });
  }

  async get<T extends ApiObject>(kind: Kind<T>, name: Name, { signal, onHeaders }: GetOptions = {}): Promise<T> {
    const { headers, body } = await this.#request({ method: 'GET', path: objectPath(kind, name), signal });
    onHeaders?.(headers);
    // A cast as in #object.
    return typed(kind, parseJson(body) as T);
  }

  /** Like `get`, but returns undefined if the object does not exist. */
  async find<T extends ApiObject>(kind: Kind<T>, name: Name, options: CallOptions = {}): Promise<T | undefined> {
    return ignoreNotFound(this.get(kind, name, options));
  }

  /** Lists the selected objects at one revision. */
  async list<T extends ApiObject>(kind: Kind<T>, options: ListOptions = {}): Promise<ObjectList<T>> {
    const { signal, pageSize = 500, check = (usage) => new ObjectBudget(defaultBudget).use(options, usage) } = options;
    const path = collectionPath(kind, options.namespace);
    const accept = acceptFor('PartialObjectMetadataList', options);
    const pages = new ListPages<T>(check);
    let query: Query = { limit: pageSize };
    for (;;) {
      let response: ApiResponse;
      try {
        response = await this.#request({
          method: 'GET',
          path,
          query: { ...selectors(options), ...query },
          accept,
          signal,
        });
      } catch (error) {
        const [limit, isContinued] = [Number(query['limit'] ?? 0), query['continue'] !== undefined];
        if (error instanceof LimitExceededError && limit > 1) {
          query = { ...query, limit: Math.ceil(limit / 8) }; // the objects are large
        } else if (hasStatusCode(error, 410) && isContinued) {
          // The revision of the first page is compacted: request everything at once.
          pages.clear();
          query = {};
        } else throw error;
        continue;
      }
      // A cast where bytes become an object: the server is trusted to send objects of the requested kind.
      const token = pages.add(parseJson(response.body) as ListPage<T>, response.body.length);
      if (token === '') break;
      query = { limit: query['limit'] ?? pageSize, continue: token };
    }
    const { resourceVersion, items, usage } = pages;
    return { resourceVersion, items: items.map((item) => typed(kind, item)), bytes: usage.bytes };
  }

  /** Yields events until the server ends the stream, the signal fires, or the caller leaves the loop. */
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
    const cut = options.withoutManagedFields === true ? stripManagedFields : unchanged;
    for await (const line of this.#transport.stream(call)) yield eventOf<T>(cut(line));
  }

  create<T extends ApiObject>(kind: Kind<T>, object: T, options: WriteOptions = {}): Promise<T> {
    const { namespace, name = '' } = object.metadata;
    const collection = collectionPath(kind, namespace);
    const path = options.subresource === undefined ? collection : objectPath(kind, { namespace, name }, options);
    return this.#write(kind, { method: 'POST', path, body: bodyOf(kind, object) }, options);
  }

  /** Replaces the object; fails with a conflict if its revision is not the latest. */
  update<T extends ApiObject>(kind: Kind<T>, object: T, options: WriteOptions = {}): Promise<T> {
    const path = objectPath(kind, nameOf(object), options);
    return this.#write(kind, { method: 'PUT', path, body: bodyOf(kind, object) }, options);
  }

  /** Replaces only the status. */
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

  /** Server-side apply: sets the fields of `object` and removes other fields that this manager applied before. */
  apply<T extends ApiObject>(kind: Kind<T>, object: T, options: ApplyOptions = {}): Promise<T> {
    const path = objectPath(kind, nameOf(object), options);
    const query = { force: options.force ?? true };
    return this.#write(kind, { method: 'PATCH', path, query, type: applyType, body: bodyOf(kind, object) }, options);
  }

  /** Deletes the object; succeeds if it does not exist. */
  async delete(kind: Kind, name: Name, { signal, ...options }: DeleteOptions = {}): Promise<void> {
    const body = JSON.stringify({ kind: 'DeleteOptions', apiVersion: 'v1', ...options });
    await ignoreNotFound(this.#json({ method: 'DELETE', path: objectPath(kind, name), body, signal }));
  }

  /** Requests a token of a service account. */
  requestToken(account: Required<Name>, seconds: number, options: CallOptions = {}): Promise<TokenRequest> {
    return this.requestBoundToken(account, { spec: { expirationSeconds: seconds } }, options);
  }

  /** Like `requestToken`, for audiences or bound to an object. */
  requestBoundToken(
    account: Required<Name>,
    { spec }: { readonly spec: Partial<TokenRequest['spec']> },
    options: CallOptions = {},
  ): Promise<TokenRequest> {
    const path = objectPath(serviceAccountKind, account, { subresource: 'token' });
    const body = JSON.stringify({ kind: tokenRequestKind.kind, apiVersion: apiVersionOf(tokenRequestKind), spec });
    return this.#write(tokenRequestKind, { method: 'POST', path, body }, options);
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
    // A cast where bytes become an object: the server is trusted to send objects of the requested kind.
    return typed(kind, (await this.#json(call)) as T);
  }

  async #json(call: ApiRequest): Promise<unknown> {
    return parseJson((await this.#request(call)).body);
  }

  async #request(call: ApiRequest): Promise<ApiResponse> {
    const response = await this.#transport.request(call);
    if (response.status < 200 || response.status > 299) throw statusErrorOf(response);
    return response;
  }
}

const selectors = ({ labelSelector, fieldSelector }: Selection): Query => ({ labelSelector, fieldSelector });

/** The media type of whole objects or of their metadata. */
const acceptFor = (as: string, { metadataOnly = false }: Pick<Selection, 'metadataOnly'>): string =>
  metadataOnly ? `application/json;as=${as};g=meta.k8s.io;v=v1` : 'application/json';

/** Adds the kind, which list items lack, so that every object can be written back. */
const typed = <T extends ApiObject>(kind: Kind<T>, object: T): T => ({
  ...object,
  kind: kind.kind,
  apiVersion: apiVersionOf(kind),
});

const bodyOf = <T extends ApiObject>(kind: Kind<T>, object: T): string => JSON.stringify(typed(kind, object));

function collectionPath(kind: Kind, namespace: string | undefined): string {
  const root = kind.group === '' ? `/api/${kind.version}` : `/apis/${kind.group}/${kind.version}`;
  const scope = kind.namespaced && namespace !== undefined ? `/namespaces/${encodeURIComponent(namespace)}` : '';
  return `${root}${scope}/${kind.plural}`;
}

function objectPath(kind: Kind, { namespace, name }: Name, { subresource }: WriteOptions = {}): string {
  if (name === '') throw new Error(`the name of the ${kind.kind} is empty`);
  const path = `${collectionPath(kind, namespace)}/${encodeURIComponent(name)}`;
  return subresource === undefined ? path : `${path}/${subresource}`;
}

const unchanged = (line: string): string => line;

const eventTypes: ReadonlySet<unknown> = new Set(['ADDED', 'MODIFIED', 'DELETED', 'BOOKMARK']);

function eventOf<T extends ApiObject>(line: string): WatchEvent<T> {
  // A cast where bytes become an object; the fields that callers need are checked below.
  const event = parseJson(line) as { readonly type?: unknown; readonly object?: T };
  if (event.type === 'ERROR' && isStatus(event.object)) throw new StatusError(event.object);
  if (!eventTypes.has(event.type) || typeof event.object?.metadata?.resourceVersion !== 'string') {
    throw new SyntaxError(`not a watch event: ${line.slice(0, 200)}`);
  }
  return { type: event.type as WatchEvent<T>['type'], object: event.object, bytes: line.length };
}
