import type { Duplex, Readable } from 'node:stream';

import type { Status, StatusError } from '../api/errors.ts';
import { entityTooLarge, failure } from '../api/errors.ts';
import type { User } from '../api/user.ts';
import type { OutputAccount, BufferedOutput } from './limits/unsent-bytes.ts';
import type { Item } from './cache/item.ts';
import type { ListBody, Presenter } from './negotiate/presenter.ts';

/** The reply to a request: a body, or the stream of a watch. */
export type Reply = BodyReply | StreamReply;

export interface BodyReply {
  readonly status: number;
  readonly headers: Headers;
  /** Pieces are encoded one by one while the body is sent, so that a long body is never one string. */
  readonly body: string | Buffer | Iterable<string | Buffer>;
  /** The Status in the body, before it was encoded. */
  readonly failure?: Status;
  /** Awaited between two pieces, so that other requests can run. */
  readonly pace?: () => Promise<void>;
  /** Opens the account of the bytes that the client has not read yet. */
  readonly openAccount?: (holder: BufferedOutput) => OutputAccount;
  /** Called when all pieces are sent or the client has disconnected; idempotent. */
  readonly release?: () => void;
}

/** A list that `encodeReply` encodes in the requested format. */
export interface ListReply {
  readonly status: number;
  readonly headers: Headers;
  readonly list: ListBody;
}

export interface StreamReply {
  readonly status: number;
  readonly headers: Headers;
  /** The client may leave what is sent unread for as long as it likes: the sender waits, and buffers little. */
  readonly isPatient?: boolean;
  /** Called once, after the headers have been sent. */
  stream(sink: Sink): void;
}

/** The connection continues with another protocol: WebSocket or SPDY. */
export interface UpgradeReply {
  readonly status: 101;
  readonly headers: Headers;
  /** Called once, after the headers have been sent. `head`: bytes that the client has sent already. */
  upgrade(socket: Duplex, head: Buffer): void;
}

export type Headers = Record<string, string | readonly string[]>;

/** The receiving end of a stream. */
export interface Sink {
  /** Returns false when the client is behind: wait for `onDrain`. */
  write(chunk: Buffer): boolean;
  onDrain(listener: () => void): void;
  /** Called when the client has disconnected or `end` has completed. */
  onClose(listener: () => void): void;
  /** Ends the stream once everything is sent, or after a timeout if the client does not read. */
  end(): void;
  /** Closes the connection and discards unsent bytes. */
  abort(): void;
}

/** A request, and the warnings that its response will have. */
export interface ApiCall {
  readonly request: ApiRequest;
  readonly warnings: string[];
}

/** A request, independent of the HTTP version. */
export interface ApiRequest {
  readonly method: string;
  /** Path and query as sent. */
  readonly url: string;
  header(name: string): string | undefined;
  /** Reads the body; rejects with a 413 beyond `limit` bytes. */
  body(limit: number): Promise<Buffer>;
  readonly user: User;
  /** The user to impersonate; the handler authorizes it. */
  readonly impersonation?: Impersonation | undefined;
  /** The authenticated user, when `user` is impersonated. */
  readonly impersonator?: User;
  /** The address of the client; undefined for requests in this process. */
  readonly remoteAddress?: string | undefined;
  /** Whether the client has disconnected. */
  readonly isAborted?: () => boolean;
  /** Adds an annotation to the audit event; absent: the request is not logged. */
  readonly annotate?: (key: string, value: string) => void;
  /** All headers but credentials, for requests that are passed on; absent for requests in this process. */
  readonly headers?: () => Record<string, string | string[]>;
  /** The body as it arrives, for requests that are passed on; absent for requests in this process. */
  readonly bodyStream?: Readable;
  /** Whether the connection can continue with another protocol, as the client requests. */
  readonly isUpgrade?: boolean;
}

/** The user to impersonate, from the request headers. */
export interface Impersonation {
  readonly user: string;
  readonly groups: readonly string[];
  readonly extra: ReadonlyMap<string, readonly string[]>;
  readonly uid: string;
}

export const jsonReply = (status: number, body: string, headers: Headers = {}): BodyReply => ({
  status,
  headers: { ...presentedHeaders('application/json'), ...headers },
  body,
});

/** The headers of a reply in a representation. */
export const presentedHeaders = (contentType: string): Headers => ({
  'Content-Type': contentType,
  'Cache-Control': 'no-cache, private',
});

/** A reply with one object. */
export function objectReply(status: number, presenter: Presenter, item: Item): BodyReply {
  const object = presenter.object(item);
  return {
    status,
    headers: presentedHeaders(presenter.contentType),
    body: typeof object === 'string' ? `${object}\n` : object,
  };
}

export const textReply = (status: number, body: string, headers: Headers = {}): BodyReply => ({
  status,
  headers: { 'Content-Type': 'text/plain; charset=utf-8', 'X-Content-Type-Options': 'nosniff', ...headers },
  body,
});

/** Kubernetes' reply for a path outside the API: plain text, not a Status. */
export const pathNotFound = (): BodyReply =>
  textReply(404, '404 page not found\n', { 'Cache-Control': 'no-cache, private' });

/** Kubernetes' reply for an unknown path in a group of its own. */
export const resourceNotFound = (): BodyReply => statusReply(notServed().status);

/** The error for a resource that is not served. */
export const notServed = (): StatusError =>
  failure({
    code: 404,
    reason: 'NotFound',
    message: 'the server could not find the requested resource',
    details: {},
  });

/** Kubernetes' reply for a path that does not support the method. */
export const methodNotAllowed = (): BodyReply =>
  statusReply(
    failure({
      code: 405,
      reason: 'MethodNotAllowed',
      message: 'the server does not allow this method on the requested resource',
      details: {},
    }).status,
  );

export function statusReply(status: Status, headers: Headers = {}): BodyReply {
  const retryAfter = status.details?.retryAfterSeconds;
  const reply = jsonReply(status.code ?? 200, `${JSON.stringify(status)}\n`, {
    // The message repeats parts of the request; browsers must not render it as a page.
    ...(status.code === 403 ? { 'X-Content-Type-Options': 'nosniff' } : {}),
    ...(retryAfter === undefined ? {} : { 'Retry-After': String(retryAfter) }),
    ...headers,
  });
  return { ...reply, failure: status };
}

export const tooLarge = (limit: number): Error => entityTooLarge(`limit is ${limit}`);

/** Beyond this many characters in total, each text is truncated, and further texts are left out. */
const maxWarningsLength = 4096;
const maxWarningLength = 256;

/** The values of the `Warning` header: one for each distinct text. */
export function warningHeaders(texts: readonly string[]): readonly string[] {
  const distinct = [...new Set(texts)];
  const isCut = distinct.reduce((sum, text) => sum + text.length, 0) > maxWarningsLength;
  const headers: string[] = [];
  let total = 0;
  for (const text of distinct) {
    if (total >= maxWarningsLength) break;
    const shown = isCut ? text.slice(0, maxWarningLength) : text;
    total += shown.length;
    headers.push(`299 - "${escaped(shown)}"`);
  }
  return headers;
}

/** Escapes quotes and backslashes, and replaces characters that are not allowed in headers with a question mark. */
const escaped = (text: string): string => text.replace(/[^ -~]/g, '?').replace(/[\\"]/g, '\\$&');
