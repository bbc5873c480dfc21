import type { Status } from '../api/errors.ts';
import { StatusError, failure } from '../api/errors.ts';

/** One request to an API server. */
export interface ApiRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** Without query, each segment already escaped. */
  readonly path: string;
  readonly query?: Query;
  readonly body?: string;
  /** The media type of `body`; default JSON. */
  readonly type?: string;
  /** The media type that is wanted; default JSON. */
  readonly accept?: string;
  readonly signal?: AbortSignal | undefined;
  /** Called when the server has accepted a stream, before its first line. */
  readonly onBegin?: (() => void) | undefined;
}

/** Parameter → value; what is undefined is left out. */
export type Query = Readonly<Record<string, string | number | boolean | undefined>>;

/** What came back, whatever its status. */
export interface ApiResponse {
  readonly status: number;
  /** Names are in lower case. */
  readonly headers: ResponseHeaders;
  readonly body: string;
}

export type ResponseHeaders = Readonly<Record<string, string | readonly string[] | undefined>>;

/** A way to an API server: over TLS, or in the same process. Closing it drops what is under way. */
export interface Transport extends Disposable {
  /** Resolves with the answer, also when it is a refusal; rejects when there is none. */
  request(call: ApiRequest): Promise<ApiResponse>;
  /**
   * The lines of an answer that does not end by itself, each without its line feed. Throws a StatusError when the
   * server refuses, and the signal's reason when that fires. Leaving the loop drops the stream.
   */
  stream(call: ApiRequest): AsyncIterable<string>;
}

/** Path and query as they are sent. */
export function urlOf({ path, query = {} }: Pick<ApiRequest, 'path' | 'query'>): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) if (value !== undefined) parameters.set(name, String(value));
  return parameters.size === 0 ? path : `${path}?${parameters.toString()}`;
}

/** The headers that a call needs. */
export const headersOf = ({ body, type = jsonType, accept = jsonType }: ApiRequest): Record<string, string> => ({
  accept,
  ...(body === undefined ? {} : { 'content-type': type }),
});

const jsonType = 'application/json';

/** The refusal that an answer is. One without a Status, such as a proxy's page, gets one made of its code and text. */
export function statusErrorOf({ status: code, headers, body }: ApiResponse): StatusError {
  const status = parseStatus(body);
  if (status !== undefined) return new StatusError({ code, ...status });
  const seconds = Number(headers['retry-after']);
  return failure({
    code,
    reason: reasons[code] ?? (code >= 500 ? 'InternalError' : 'Unknown'),
    message: body.trim().slice(0, 1024) || `the server answered ${code}`,
    ...(seconds > 0 ? { details: { retryAfterSeconds: seconds } } : {}),
  });
}

/** Code → reason, where a code has only one. */
const reasons: Readonly<Record<number, string>> = {
  400: 'BadRequest',
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'NotFound',
  405: 'MethodNotAllowed',
  406: 'NotAcceptable',
  409: 'Conflict',
  410: 'Expired',
  413: 'RequestEntityTooLarge',
  415: 'UnsupportedMediaType',
  422: 'Invalid',
  429: 'TooManyRequests',
  503: 'ServiceUnavailable',
  504: 'Timeout',
};

function parseStatus(body: string): Status | undefined {
  try {
    const value: unknown = JSON.parse(body);
    return isStatus(value) ? value : undefined;
  } catch {
    return undefined; // plain text
  }
}

/** Whether an object is a Status: an answer, or what an ERROR event carries. */
export const isStatus = (value: unknown): value is Status =>
  typeof value === 'object' && value !== null && 'kind' in value && value.kind === 'Status';

/** Whether an error is a refusal with this code. */
export const hasStatusCode = (error: unknown, code: number): error is StatusError =>
  error instanceof StatusError && error.status.code === code;

/** Whether an error is a refusal for this reason, such as AlreadyExists. */
export const hasStatusReason = (error: unknown, reason: string): error is StatusError =>
  error instanceof StatusError && error.status.reason === reason;
