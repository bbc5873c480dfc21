// Rejects requests that pages of other origins can cause: DNS rebinding, and requests of other sites that carry our cookie.
import type { IncomingHttpHeaders } from 'node:http';

/** The parts of a request that decide. */
export interface GuardedRequest {
  readonly method: string;
  /** Whether it is for data; the page itself is public. */
  readonly isForData: boolean;
  readonly headers: IncomingHttpHeaders;
}

/** An HTTP status and its reason. */
export interface Rejection {
  readonly status: 403 | 421;
  readonly text: string;
}

/**
 * Why a request is rejected; undefined: it is not. `isOwn` returns whether a value of `Host` names this server. Browsers
 * send `Origin` with every POST, and `Sec-Fetch-Site` with every request.
 */
export function rejectionOf(
  { method, isForData, headers }: GuardedRequest,
  isOwn: (host: string) => boolean,
): Rejection | undefined {
  const host = (headers.host ?? '').toLowerCase();
  if (!isOwn(host)) {
    return {
      status: 421,
      text: `the dashboard is not served at ${JSON.stringify(host.slice(0, 200))}: open the address that fairlead printed, or pass --host`,
    };
  }
  const isWrite = method !== 'GET' && method !== 'HEAD';
  if (!isForData && !isWrite) return undefined;
  const { origin } = headers;
  const site = headers['sec-fetch-site'];
  const isOwnOrigin = origin === `http://${host}` || origin === `https://${host}`;
  const isForeign = origin === undefined ? isWrite : !isOwnOrigin;
  // `none`: a person typed the address.
  const isCrossSite = site !== undefined && site !== 'same-origin' && (isWrite || site !== 'none');
  if (isForeign || isCrossSite) return { status: 403, text: 'requests of other origins are rejected' };
  return undefined;
}
