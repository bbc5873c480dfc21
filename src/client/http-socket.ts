import type { Socket } from 'node:net';
import { connect as connectTcp, isIP } from 'node:net';
import type { ConnectionOptions, TLSSocket } from 'node:tls';
import { checkServerIdentity, connect as connectTls, createSecureContext } from 'node:tls';
import type { Deadline } from './deadline.ts';
import { ConnectionLostError } from './errors.ts';

/** A bearer token, or a client certificate with its key as PEM. */
export interface Credentials {
  readonly token?: string;
  readonly cert?: string;
  readonly key?: string;
}

/** The address of a server, how to verify it, and the credentials of the client. */
export interface ServerAccess {
  /** Such as `https://192.0.2.1:6443`; a path becomes the prefix of every request path. */
  readonly server: string;
  /** CA certificates as PEM; default: those of the system. */
  readonly ca?: string;
  readonly insecureSkipTlsVerify?: boolean;
  /** The name that the certificate must contain; default: the host of `server`. */
  readonly tlsServerName?: string;
  /** Called before every request. `isRefused`: the server rejected the last credentials with 401. */
  readonly credentials: (isRefused: boolean) => Promise<Credentials>;
}

/** Opens a connection to one server with one client certificate. */
export type OpenSocket = (deadline: Deadline) => Promise<Socket>;

/** Parses the certificates once and resumes the TLS session of earlier connections. */
export function socketsTo(access: ServerAccess, credentials: Credentials): OpenSocket {
  const { protocol, hostname, port } = new URL(access.server);
  // Brackets around an IPv6 address belong to the URL, not to the address.
  const host = hostname.replace(/^\[|\]$/g, '');
  if (protocol === 'http:') {
    const place = { host, port: Number(port || 80) };
    return (deadline) => opened(connectTcp(place), 'connect', deadline);
  }
  const options = tlsOptions(access, credentials, host);
  let session: Buffer | undefined;
  return async (deadline) => {
    const socket: TLSSocket = connectTls({
      ...options,
      host,
      port: Number(port || 443),
      ...(session === undefined ? {} : { session }),
    });
    socket.on('session', (latest: Buffer) => (session = latest));
    // The session may be the cause of the error.
    socket.on('error', () => (session = undefined));
    return opened(socket, 'secureConnect', deadline);
  };
}

function tlsOptions(access: ServerAccess, { cert, key }: Credentials, host: string): ConnectionOptions {
  const { ca, insecureSkipTlsVerify = false, tlsServerName } = access;
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

/** Resolves when the socket is connected and, for TLS, the server is verified. */
async function opened(socket: Socket, event: 'connect' | 'secureConnect', deadline: Deadline): Promise<Socket> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  deadline.onEnd((reason) => {
    reject(reason);
    socket.destroy();
  });
  socket.once(event, () => resolve());
  socket.once('error', reject);
  const closed = (): void =>
    reject(new ConnectionLostError('the server closed the connection before a request was sent'));
  socket.once('close', closed);
  await promise;
  socket.off('error', reject);
  socket.off('close', closed);
  return socket;
}
