import type { Socket } from 'node:net';
import { connect as connectTcp, isIP } from 'node:net';
import type { ConnectionOptions, TLSSocket } from 'node:tls';
import { checkServerIdentity, connect as connectTls, createSecureContext } from 'node:tls';
import type { buildConnector } from 'undici';
import { setTimeout } from '../machine/timers.ts';
import { ConnectionLostError } from './errors.ts';
import { connectThrough } from './http-proxy.ts';

/** A bearer token, or a client certificate with its key as PEM. */
export interface Credentials {
  readonly token?: string;
  readonly cert?: string;
  readonly key?: string;
  /** CA certificates that replace those of the ServerAccess. */
  readonly ca?: string;
}

/** The address of a server, how to verify it, and the credentials of the client. */
export interface ServerAccess {
  /** Such as `https://192.0.2.1:6443`; a path becomes the prefix of every request path. */
  readonly server: string;
  /** Further servers of the same cluster, to use when one fails. */
  readonly otherServers?: readonly string[];
  /** CA certificates as PEM; default: those of the system. */
  readonly ca?: string;
  readonly insecureSkipTlsVerify?: boolean;
  /** An HTTP proxy through which the server is reached. */
  readonly proxyUrl?: string;
  /** The name that the certificate must contain; default: the host of `server`. */
  readonly tlsServerName?: string;
  /** Called before every request. `isRefused`: the server rejected the last credentials with 401. */
  readonly credentials: (isRefused: boolean) => Promise<Credentials>;
}

/** Opens a connection, as the HTTP library calls it. */
export type Connect = buildConnector.connector;

/** Parses the certificates once and resumes the TLS session of earlier connections. */
export function connectTo(access: ServerAccess, credentials: Credentials, timeoutMs: number): Connect {
  const { protocol, hostname, port } = new URL(access.server);
  // Brackets around an IPv6 address belong to the URL, not to the address.
  const host = hostname.replace(/^\[|\]$/g, '');
  const proxy = access.proxyUrl === undefined ? undefined : new URL(access.proxyUrl);
  if (protocol === 'http:') {
    const place = { host, port: Number(port || 80) };
    return (_, callback) => {
      if (proxy === undefined) return opened(connectTcp(place), 'connect', timeoutMs, callback);
      connectThrough(proxy, place, timeoutMs).then(
        (socket) => callback(null, socket),
        (error: Error) => callback(error, null),
      );
    };
  }
  const options = tlsOptions(access, credentials, host);
  let session: Buffer | undefined;
  const place = { host, port: Number(port || 443) };
  const secure = (over: ConnectionOptions, callback: buildConnector.Callback): void => {
    const socket: TLSSocket = connectTls({ ...options, ...over, ...(session === undefined ? {} : { session }) });
    socket.on('session', (latest: Buffer) => (session = latest));
    // The session may be the cause of the error.
    socket.on('error', () => (session = undefined));
    opened(socket, 'secureConnect', timeoutMs, callback);
  };
  if (proxy === undefined) return (_, callback) => secure(place, callback);
  return (_, callback) => {
    connectThrough(proxy, place, timeoutMs).then(
      (socket) => secure({ socket }, callback),
      (error: Error) => callback(error, null),
    );
  };
}

function tlsOptions(access: ServerAccess, { cert, key, ca = access.ca }: Credentials, host: string): ConnectionOptions {
  const { insecureSkipTlsVerify = false, tlsServerName } = access;
  const name = tlsServerName ?? host;
  return {
    secureContext: createSecureContext({
      ...(ca === undefined ? {} : { ca }),
      ...(cert === undefined ? {} : { cert }),
      ...(key === undefined ? {} : { key }),
    }),
    rejectUnauthorized: !insecureSkipTlsVerify,
    ALPNProtocols: ['http/1.1'],
    // SNI must not be an address (RFC 6066 §3), but the certificate must contain it.
    ...(isIP(name) === 0 ? { servername: name } : {}),
    checkServerIdentity: (_, certificate) => checkServerIdentity(name, certificate),
  };
}

/** Calls back when the socket is connected and, for TLS, the server is verified. */
function opened(
  socket: Socket,
  event: 'connect' | 'secureConnect',
  timeoutMs: number,
  callback: buildConnector.Callback,
): void {
  socket.setNoDelay(true);
  // Detects a peer that disappeared without closing the connection.
  socket.setKeepAlive(true, 30_000);
  const late = setTimeout(() => {
    socket.destroy(Object.assign(new Error(`no connection within ${timeoutMs} ms`), { code: 'ETIMEDOUT' }));
  }, timeoutMs);
  const finish = (error: Error | null): void => {
    clearTimeout(late);
    socket.off(event, connected).off('error', finish).off('close', closed);
    if (error === null) callback(null, socket);
    else callback(error, null);
  };
  const connected = (): void => finish(null);
  const closed = (): void =>
    finish(new ConnectionLostError('the server closed the connection before a request was sent'));
  socket.once(event, connected).once('error', finish).once('close', closed);
}
