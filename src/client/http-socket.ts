import type { Socket } from 'node:net';
import { connect as connectTcp, isIP } from 'node:net';
import type { ConnectionOptions, TLSSocket } from 'node:tls';
import { checkServerIdentity, connect as connectTls, createSecureContext } from 'node:tls';
import type { Deadline } from './deadline.ts';
import { ConnectionLostError } from './errors.ts';

/** What proves who we are: a token, or a certificate with its key, as PEM. */
export interface Credentials {
  readonly token?: string;
  readonly cert?: string;
  readonly key?: string;
}

/** Where a server is, how it is known and who connects. */
export interface ServerAccess {
  /** Such as `https://192.0.2.1:6443`; a path is kept in front of every request. */
  readonly server: string;
  /** PEM of those who may sign the server's certificate; default: whom the system trusts. */
  readonly ca?: string;
  readonly insecureSkipTlsVerify?: boolean;
  /** The name to expect in the certificate; default: that of `server`. */
  readonly tlsServerName?: string;
  /** Asked before every request. `isRefused`: the last ones were answered with 401. */
  readonly credentials: (isRefused: boolean) => Promise<Credentials>;
}

/** Opens connections to one server in the name of one certificate. */
export type OpenSocket = (deadline: Deadline) => Promise<Socket>;

/** How sockets to a server are opened. Certificates are read once, and a session with the server is taken up again. */
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
    // Whatever went wrong, it may be the session's fault.
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
    // An address is never sent as a name (RFC 6066 §3), but expected in the certificate all the same.
    ...(isIP(name) === 0 ? { servername: name } : {}),
    checkServerIdentity: (_, certificate) => checkServerIdentity(name, certificate),
  };
}

/** Resolves when a socket is open, and for TLS when the server is known to be who it says. */
async function opened(socket: Socket, event: 'connect' | 'secureConnect', deadline: Deadline): Promise<Socket> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  deadline.guard((reason) => {
    reject(reason);
    socket.destroy();
  });
  socket.once(event, () => resolve());
  socket.once('error', reject);
  const closed = (): void => reject(new ConnectionLostError('the server closed the connection before it was asked'));
  socket.once('close', closed);
  await promise;
  socket.off('error', reject);
  socket.off('close', closed);
  return socket;
}
