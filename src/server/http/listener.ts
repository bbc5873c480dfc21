import type { IncomingMessage } from 'node:http';
import { ServerResponse, STATUS_CODES } from 'node:http';
import { createSecureServer } from 'node:http2';
import type { Socket } from 'node:net';

import { isImpersonationHeader, readImpersonation } from '../access/identity/impersonation.ts';
import type { User } from '../../api/user.ts';
import type { ApiRequest, Reply, UpgradeReply } from '../reply.ts';
import { textReply } from '../reply.ts';
import { tooManyRequests } from '../limits/flow-control.ts';
import { AuthRateLimiter } from './auth-rate-limiter.ts';
import { readBody } from './body.ts';
import type { ConnectionLimits } from './connections.ts';
import { Connections, defaultConnectionLimits } from './connections.ts';
import type { Incoming, Outgoing } from './write.ts';
import { ChunkFrames, isClosed, writeReply } from './write.ts';

export interface ListenerOptions {
  readonly host: string;
  /** 0 picks a free one. */
  readonly port: number;
  readonly tls: { readonly cert: string; readonly key: string; readonly ca: string };
  /** The user of the request, a function that authenticates it, or undefined if no credential is valid. */
  identify(request: Incoming): User | undefined | (() => Promise<User | undefined>);
  /** Must not reject: every failure is a reply. */
  handle(request: ApiRequest): Promise<Reply | UpgradeReply>;
  /** Called for errors that are bugs. */
  onUnexpectedError(error: unknown): void;
  /** The reply to a request without valid credentials; it has no user. */
  unauthorized(request: ApiRequest): Reply;
  readonly connections?: Partial<ConnectionLimits>;
}

/** An open port. `close` stops accepting, lets requests finish, and closes remaining connections after a grace period. */
export interface Listener {
  readonly port: number;
  /** Uses this certificate for new connections; open ones are not affected. */
  renew(tls: ListenerOptions['tls']): void;
  close(graceMs?: number): Promise<void>;
}

const maxHeaderBytes = 64 * 1024;
const maxUrlBytes = 16 * 1024;

/** Serves HTTP/1.1 and HTTP/2 over TLS on one port. */
export async function listen(options: ListenerOptions): Promise<Listener> {
  const server = createSecureServer({
    allowHTTP1: true,
    cert: options.tls.cert,
    key: options.tls.key,
    ca: options.tls.ca,
    requestCert: true,
    rejectUnauthorized: false, // a request without a certificate may still carry a token
    minVersion: 'TLSv1.2',
    maxHeaderSize: maxHeaderBytes, // bearer tokens and impersonation headers exceed Node's 16 KiB
    maxSessionMemory: 64,
    // CVE-2023-44487: closes the connection of a client that opens and resets streams faster than this.
    streamResetBurst: 500,
    streamResetRate: 50,
    maxOutstandingSettings: 10,
    handshakeTimeout: 20_000,
    noDelay: true, // otherwise a second small write waits up to 40 ms for the acknowledgement of the first
    keepAlive: true, // detects clients whose machine has failed, to end their watches
    keepAliveInitialDelay: 15_000,
    settings: { maxConcurrentStreams: 1000, initialWindowSize: 256 * 1024, maxHeaderListSize: maxHeaderBytes },
    http1Options: {
      // Go's clients keep idle connections for 90 s; closing first would reset a POST in flight.
      keepAliveTimeout: 120_000,
      headersTimeout: 20_000,
      requestTimeout: 60_000,
      connectionsCheckingInterval: 5000,
    },
  } as Parameters<typeof createSecureServer>[0]); // maxHeaderSize and http1Options timeouts are missing in the types
  const limits = { ...defaultConnectionLimits, ...options.connections };
  const connections = new Connections(server, limits);

  const serving: Serving = {
    ...options,
    authLimiter: new AuthRateLimiter(),
    stallTimeoutMs: limits.stallMs,
    frames: new ChunkFrames(),
    tolerateStalls: (socket) => connections.tolerateStalls(socket),
  };

  server.on('request', (incoming: Incoming, outgoing: Outgoing) => {
    // Failures are replies, so an error here is a bug; it costs one connection, not the server.
    serve(incoming, outgoing, serving).catch((error: unknown) => {
      options.onUnexpectedError(error);
      outgoing.destroy();
    });
  });
  // Other requests with an Upgrade header are served as if they had none. Node reads this option from the server.
  Object.assign(server, { shouldUpgradeCallback: ({ url = '' }: IncomingMessage) => upgradablePaths.test(url) });
  server.on('upgrade', (incoming: IncomingMessage, socket: Socket, head: Buffer) => {
    serveUpgrade(incoming, { socket, head }, serving).catch((error: unknown) => {
      options.onUnexpectedError(error);
      socket.destroy();
    });
  });
  server.on('clientError', (error: NodeJS.ErrnoException, socket: Socket) => rejectMalformed(error, socket));
  server.on('sessionError', () => undefined); // the session closes itself
  server.on('tlsClientError', (_error, socket) => socket.destroy());

  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen({ host: options.host, port: options.port, backlog: 1024 }, () => {
      server.off('error', reject);
      resolve();
    });
  });
  // Accepting fails when descriptors run out; a later attempt may succeed.
  server.on('error', () => undefined);
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : options.port;
  return {
    port,
    renew: ({ cert, key, ca }) => server.setSecureContext({ cert, key, ca, minVersion: 'TLSv1.2' }),
    close: (graceMs = 5000) => connections.close(graceMs),
  };
}

interface Serving extends ListenerOptions {
  readonly authLimiter: AuthRateLimiter;
  readonly stallTimeoutMs: number;
  readonly frames: ChunkFrames;
  readonly tolerateStalls: (socket: Socket) => void;
}

/** The paths of subresources that continue with another protocol. */
const upgradablePaths = /\/(?:attach|exec|portforward|proxy)(?:[/?]|$)/;

interface Upgrade {
  readonly socket: Socket;
  readonly head: Buffer;
}

/** Serves a request to upgrade the connection, which Node no longer reads. Replies other than 101 close it. */
async function serveUpgrade(incoming: IncomingMessage, upgrade: Upgrade, options: Serving): Promise<void> {
  const { socket, head } = upgrade;
  const outgoing = new ServerResponse(incoming);
  outgoing.assignSocket(socket);
  outgoing.shouldKeepAlive = false;
  outgoing.on('finish', () => socket.end());
  await serve(incoming, outgoing, options, (reply) => {
    outgoing.detachSocket(socket);
    options.tolerateStalls(socket);
    socket.write(headOf(reply));
    reply.upgrade(socket, head);
  });
}

function headOf({ status, headers }: UpgradeReply): string {
  const lines = Object.entries(headers).flatMap(([name, values]) =>
    [values].flat().map((value) => `${name}: ${value}`),
  );
  return [`HTTP/1.1 ${status} ${STATUS_CODES[status]}`, ...lines, '', ''].join('\r\n');
}

async function serve(
  incoming: Incoming,
  outgoing: Outgoing,
  options: Serving,
  upgrade?: (reply: UpgradeReply) => void,
): Promise<void> {
  const write = async (reply: Reply | UpgradeReply): Promise<void> => {
    if ('upgrade' in reply) upgrade?.(reply);
    else await writeReply(outgoing, reply, { ...options, incoming });
  };
  const isUpgrade = upgrade !== undefined;
  if ((incoming.url ?? '').length > maxUrlBytes) {
    incoming.resume();
    await write(textReply(414, `URI too long: limit is ${maxUrlBytes}\n`));
    return;
  }
  const identified = options.identify(incoming);
  // Only tokens that are not cached need asynchronous work; other requests continue in the same tick.
  const user =
    typeof identified === 'object' ? identified : await authenticate(incoming, identified, options.authLimiter);
  if (user === 'rate limited' || user === undefined) {
    incoming.resume();
    await write(
      user === undefined
        ? options.unauthorized(requestOf(incoming, outgoing, { user: nobody, isUpgrade }))
        : tooManyRequests(),
    );
    return;
  }
  await write(await options.handle(requestOf(incoming, outgoing, { user, isUpgrade })));
}

/** Verifies credentials that are not cached, unless their address has failed too often. */
async function authenticate(
  { socket }: Incoming,
  verify: (() => Promise<User | undefined>) | undefined,
  limiter: AuthRateLimiter,
): Promise<User | undefined | 'rate limited'> {
  const address = socket?.remoteAddress ?? '';
  if (!limiter.take(address)) return 'rate limited';
  const user = await verify?.();
  if (user !== undefined) limiter.refund(address);
  return user;
}

const nobody: User = { name: '', uid: '', groups: [] };

function requestOf(
  incoming: Incoming,
  outgoing: Outgoing,
  { user, isUpgrade }: { readonly user: User; readonly isUpgrade: boolean },
): ApiRequest {
  return {
    method: incoming.method ?? 'GET',
    url: incoming.url ?? '/',
    header(name) {
      if (isCredential(name)) return undefined; // already used: later stages must not read or log credentials
      const value = incoming.headers[name];
      return Array.isArray(value) ? value.join(',') : value;
    },
    body: (limit) => readBody(incoming, limit),
    user,
    impersonation: readImpersonation(incoming.rawHeaders),
    remoteAddress: incoming.socket?.remoteAddress,
    isAborted: () => isClosed(outgoing),
    headers: () => passedHeaders(incoming),
    bodyStream: incoming,
    isUpgrade,
  };
}

/** The headers of a request, without credentials and those of HTTP/2 itself. */
function passedHeaders({ headers }: Incoming): Record<string, string | string[]> {
  const kept = Object.entries(headers).flatMap(([name, value]): [string, string | string[]][] =>
    value === undefined || name.startsWith(':') || isCredential(name) ? [] : [[name, value]],
  );
  return Object.fromEntries(kept);
}

const isCredential = (header: string): boolean => header === 'authorization' || isImpersonationHeader(header);

/** Replies to input that Node could not parse as HTTP, if the socket is still writable. */
function rejectMalformed({ code = '' }: NodeJS.ErrnoException, socket: Socket): void {
  const status = parseFailures.get(code) ?? '400 Bad Request';
  if (socket.writable) socket.end(`HTTP/1.1 ${status}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`);
  else socket.destroy();
}

const parseFailures = new Map([
  ['HPE_HEADER_OVERFLOW', '431 Request Header Fields Too Large'],
  ['ERR_HTTP_REQUEST_TIMEOUT', '408 Request Timeout'],
]);
