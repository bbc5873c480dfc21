import type { Status } from '../api/errors.ts';
import { entityTooLarge, failure } from '../api/errors.ts';
import type { OutputAccount, BufferedOutput } from './limits/unsent-bytes.ts';
import type { ListBody } from './negotiate/presenter.ts';

/** What a handler answers: a body, or a stream that a watch writes to for as long as it lasts. */
export type Reply = BodyReply | StreamReply;

export interface BodyReply {
  readonly status: number;
  readonly headers: Headers;
  /** Pieces are made one by one while the body is sent, so that a long one is never one string. */
  readonly body: string | Buffer | Iterable<string>;
  /** Waited for between two pieces, so that others get their turn. */
  readonly pace?: () => Promise<void>;
  /** Counts what the client has not taken yet. */
  readonly openAccount?: (holder: BufferedOutput) => OutputAccount;
  /** Called when the pieces are sent, or when nobody takes them any more; more than once does no harm. */
  readonly release?: () => void;
}

/** A list that is encoded as the client asked when the verb is done. */
export interface ListReply {
  readonly status: number;
  readonly headers: Headers;
  readonly list: ListBody;
}

export interface StreamReply {
  readonly status: number;
  readonly headers: Headers;
  /** Called once, after the headers have been sent. */
  stream(sink: Sink): void;
}

export type Headers = Record<string, string | readonly string[]>;

/** The receiving end of a stream. */
export interface Sink {
  /** False: the client is behind; wait for `onDrain`. */
  write(chunk: Buffer): boolean;
  onDrain(listener: () => void): void;
  /** The client has gone, or `end` has completed. */
  onClose(listener: () => void): void;
  /** Ends the stream once everything is sent; a client that does not take it is cut off after a while. */
  end(): void;
  /** Drops the connection with all that is unsent. */
  abort(): void;
}

/** A request, free of the protocol that carried it. */
export interface ApiRequest {
  readonly method: string;
  /** Path and query as sent. */
  readonly url: string;
  header(name: string): string | undefined;
  /** Reads the body; rejects with a 413 past `limit` bytes. */
  body(limit: number): Promise<Buffer>;
  readonly user: User;
  /** Whom the user wants to be taken for; the handler asks whether they may. */
  readonly impersonation?: Impersonation | undefined;
  /** Who really asks, when `user` is somebody they are taken for. */
  readonly impersonator?: User;
  /** The address that it came from; undefined in one process. */
  readonly remote?: string | undefined;
  /** Whether nobody waits for the answer any more. */
  readonly isAborted?: () => boolean;
}

/** Who asks. */
export interface User {
  readonly name: string;
  readonly uid: string;
  readonly groups: readonly string[];
  /** What else the credentials say, such as the Pod that a token is bound to: key → values. */
  readonly extra?: Readonly<Record<string, readonly string[]>>;
}

/** Whom a request wants to be taken for, as its headers say. */
export interface Impersonation {
  readonly user: string;
  readonly groups: readonly string[];
  readonly extra: ReadonlyMap<string, readonly string[]>;
  readonly uid: string;
}

const jsonType = 'application/json';

export const jsonReply = (status: number, body: string, headers: Headers = {}): BodyReply => ({
  status,
  headers: { 'Content-Type': jsonType, 'Cache-Control': 'no-cache, private', ...headers },
  body,
});

export const textReply = (status: number, body: string, headers: Headers = {}): BodyReply => ({
  status,
  headers: { 'Content-Type': 'text/plain; charset=utf-8', 'X-Content-Type-Options': 'nosniff', ...headers },
  body,
});

/** Kubernetes' answer to a path outside its API: plain text, not a Status. */
export const pathNotFound = (): BodyReply =>
  textReply(404, '404 page not found\n', { 'Cache-Control': 'no-cache, private' });

/** Kubernetes' answer to a path that a group it serves does not have. */
export const resourceNotFound = (): BodyReply =>
  statusReply(
    failure({
      code: 404,
      reason: 'NotFound',
      message: 'the server could not find the requested resource',
      details: {},
    }).status,
  );

/** The path is there, and does not do this. */
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
  return jsonReply(status.code ?? 200, `${JSON.stringify(status)}\n`, {
    // A refusal repeats what was asked; no browser may take it for a page.
    ...(status.code === 403 ? { 'X-Content-Type-Options': 'nosniff' } : {}),
    ...(retryAfter === undefined ? {} : { 'Retry-After': String(retryAfter) }),
    ...headers,
  });
}

export const tooLarge = (limit: number): Error => entityTooLarge(`limit is ${limit}`);
