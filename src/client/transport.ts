import type { Status } from '../api/errors.ts';
import { StatusError, failure } from '../api/errors.ts';

/** One request to an API server. */
export interface ApiRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** Without query; every segment is escaped. */
  readonly path: string;
  readonly query?: Query;
  readonly body?: string;
  /** The media type of `body`; default JSON. */
  readonly type?: string;
  /** The requested media type; default JSON. */
  readonly accept?: string;
  readonly signal?: AbortSignal | undefined;
  /** Called when the server has accepted a stream, before its first line. */
  readonly onBegin?: (() => void) | undefined;
}

/** Parameter → value; undefined values are omitted. */
export type Query = Readonly<Record<string, string | number | boolean | undefined>>;

/** A response with any status. */
export interface ApiResponse {
  readonly status: number;
  /** Names are in lower case. */
  readonly headers: ResponseHeaders;
  readonly body: string;
}

export type ResponseHeaders = Readonly<Record<string, string | readonly string[] | undefined>>;

/** A connection to an API server, over TLS or in the same process. Disposing of it aborts all requests. */
export interface Transport extends Disposable {
  /** Resolves with the response, whatever its status; rejects if there is none. */
  request(call: ApiRequest): Promise<ApiResponse>;
  /**
   * The lines of a streaming response without their line feeds. Throws a StatusError if the server rejects the request,
   * and the signal's reason when that fires. Leaving the loop closes the stream.
   */
  stream(call: ApiRequest): AsyncIterable<string>;
}

/** Path and query of a request. */
export function urlOf({ path, query = {} }: Pick<ApiRequest, 'path' | 'query'>): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) if (value !== undefined) parameters.set(name, String(value));
  return parameters.size === 0 ? path : `${path}?${parameters.toString()}`;
}

/** The headers of a request. */
export const headersOf = ({ body, type = jsonType, accept = jsonType }: ApiRequest): Record<string, string> => ({
  accept,
  ...(body === undefined ? {} : { 'content-type': type }),
});

const jsonType = 'application/json';

/** The error of a response. A body that is no Status, such as an error page of a proxy, becomes the message of one. */
export function statusErrorOf({ status: code, headers, body }: ApiResponse): StatusError {
  const status = parseStatus(body);
  if (status !== undefined) return new StatusError({ code, ...status });
  const seconds = Number(headers['retry-after']);
  return failure({
    code,
    reason: reasons[code] ?? (code >= 500 ? 'InternalError' : 'Unknown'),
    message: body.trim().slice(0, 1024) || `the server returned ${code}`,
    ...(seconds > 0 ? { details: { retryAfterSeconds: seconds } } : {}),
  });
}

/** Status code → reason, for codes with a single reason. */
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

/** Whether a value is a Status, as in error responses and ERROR events. */
export const isStatus = (value: unknown): value is Status =>
  typeof value === 'object' && value !== null && 'kind' in value && value.kind === 'Status';

/** Whether an error is a StatusError with this code. */
export const hasStatusCode = (error: unknown, code: number): error is StatusError =>
  error instanceof StatusError && error.status.code === code;
