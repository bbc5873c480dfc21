import type { IncomingHttpHeaders, ServerHttp2Session, ServerHttp2Stream } from 'node:http2';
import { createServer as createHttp2Server } from 'node:http2';
import { createSocket } from 'node:dgram';
import type { Server, Socket } from 'node:net';
import { connect as connectTcp, createServer } from 'node:net';
import type { Duplex } from 'node:stream';
import type { Server as TlsServer, TLSSocket } from 'node:tls';
import { createServer as createTlsServer } from 'node:tls';
import type { Logger } from 'pino';

import { messageOf } from '../api/error-message.ts';
import type { GatewayService, Place } from '../api/kinds/multicluster/gateway.ts';
import { parsePlace, parseServerName, printPlace, serverNameOf } from '../api/kinds/multicluster/gateway.ts';
import { proxyHeaderOf } from '../api/proxy-header.ts';
import { setTimeout } from '../machine/timers.ts';
import type { ProbeTimes } from '../streams/http2-session.ts';
import { defaultProbeTimes, join, keepAlive, sessionSettings } from '../streams/http2-session.ts';
import { readClientHello } from './client-hello.ts';
import { DatagramReader, frameOf } from './datagrams.ts';
import type { GatewayTls } from './identity.ts';
import { alpn, headerNames, peerOf } from './identity.ts';
import type { GatewayMetrics } from './metrics.ts';
import type { Relays } from './relays.ts';
import type { ExportedService, Routes } from './routes.ts';
import { refusal } from './routes.ts';

export interface IngressOptions {
  /** The cluster of this gateway. */
  readonly own: string;
  readonly tls: GatewayTls;
  /** The gateways that connect here because they cannot be dialled. */
  readonly relays: Relays;
  readonly metrics: GatewayMetrics;
  readonly log: Logger;
  readonly probeTimes?: ProbeTimes | undefined;
}

/** Connections of gateways, whether authenticated or not. */
const maxConnections = 4096;
const handshakeMs = 10_000;
const dialMs = 2000;
const maxTries = 4;
const flowIdleMs = 60_000;
const maxWaitingBytes = 256 << 10;

interface Accepted {
  readonly session: ServerHttp2Session;
  readonly socket: TLSSocket;
  readonly cluster: string;
  readonly service: GatewayService;
}

/** Accepts the sessions of other gateways, and connects their streams to endpoints of exported services. */
export class Ingress implements AsyncDisposable {
  readonly #options: IngressOptions;
  readonly #listener: Server;
  readonly #tls: TlsServer;
  readonly #accepted = new Set<Accepted>();
  readonly #sockets = new Set<Socket>();
  #routes: Routes = { exports: new Map(), egress: new Map() };

  constructor(options: IngressOptions) {
    this.#options = options;
    this.#tls = createTlsServer(
      {
        ...options.tls,
        requestCert: true,
        rejectUnauthorized: true,
        minVersion: 'TLSv1.3',
        ALPNProtocols: [alpn.forward, alpn.reverse],
        handshakeTimeout: handshakeMs,
      },
      (socket) => this.#authenticated(socket),
    );
    this.#tls.on('tlsClientError', (error, socket) =>
      options.log.warn({ address: socket.remoteAddress, reason: error.message }, 'rejected a connection'),
    );
    this.#listener = createServer({ noDelay: true }, (socket) => this.#connected(socket));
    this.#listener.maxConnections = maxConnections;
  }

  /** Listens for gateways of other clusters; resolves with the port. */
  listen({ host, port }: Place): Promise<number> {
    const { promise, resolve, reject } = Promise.withResolvers<number>();
    this.#listener.on('error', (error) => {
      reject(error);
      this.#options.log.error({ reason: error.message }, 'listener for gateways of other clusters failed');
    });
    this.#listener.listen(port, host, () => {
      const address = this.#listener.address();
      resolve(typeof address === 'object' && address !== null ? address.port : port);
    });
    return promise;
  }

  get sessions(): number {
    return this.#accepted.size;
  }

  /** Uses other routes; ends the sessions of clusters that may not use their service any more. */
  update(routes: Routes): void {
    this.#routes = routes;
    for (const { cluster, service, session, socket } of this.#accepted) {
      const reason = refusal(routes, service, cluster);
      if (reason === undefined) continue;
      this.#options.log.info(
        { cluster, service: serverNameOf(service) },
        'ended a session: the service is not exported to the cluster any more',
      );
      session.destroy();
      socket.destroy();
    }
  }

  /** Uses other certificates for new sessions. Open ones end when their streams have ended. */
  renew(tls: GatewayTls): void {
    this.#tls.setSecureContext(tls);
    for (const { session } of this.#accepted) session.close();
  }

  /** Accepts a connection of another gateway that arrived through a relay. */
  accept(connection: Duplex): void {
    this.#tls.emit('connection', connection);
  }

  /** Accepts nothing new; open streams continue. */
  drain(): void {
    this.#listener.close();
    for (const { session } of this.#accepted) session.close();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#listener.close();
    for (const { session, socket } of this.#accepted) {
      session.destroy();
      socket.destroy();
    }
    for (const socket of this.#sockets) socket.destroy();
  }

  /** Reads the cluster that the connection is for, and relays those for others without terminating their TLS. */
  #connected(socket: Socket): void {
    const { own, relays, log } = this.#options;
    this.#sockets.add(socket);
    const late = setTimeout(() => socket.destroy(), handshakeMs);
    socket.on('error', () => socket.destroy());
    socket.once('close', () => {
      clearTimeout(late);
      this.#sockets.delete(socket);
    });
    let head: Buffer = Buffer.alloc(0);
    const read = (): void => {
      const bytes = socket.read() as Buffer | null;
      if (bytes === null) return;
      head = head.length === 0 ? bytes : Buffer.concat([head, bytes]);
      const hello = readClientHello(head);
      if (hello.state === 'incomplete') return;
      clearTimeout(late);
      socket.off('readable', read);
      if (hello.state === 'invalid') {
        log.warn({ address: socket.remoteAddress, reason: 'it is not TLS' }, 'rejected a connection');
        socket.destroy();
        return;
      }
      socket.unshift(head);
      const cluster = parseServerName(hello.serverName)?.cluster ?? own;
      if (cluster === own) this.accept(socket);
      else relays.pass(cluster, socket);
    };
    socket.on('readable', read);
  }

  #authenticated(socket: TLSSocket): void {
    const { log, metrics, relays, own, probeTimes = defaultProbeTimes } = this.#options;
    socket.on('error', () => socket.destroy());
    const cluster = peerOf(socket);
    const reject = (reason: string): void => {
      log.warn({ cluster, address: socket.remoteAddress, reason }, 'rejected a gateway');
      metrics.connections.inc({ cluster: cluster ?? '', direction: 'in', result: 'refused' });
      socket.destroy();
    };
    if (cluster === undefined) return reject('the common name of its certificate is not a cluster ID');
    if (socket.alpnProtocol === alpn.reverse) {
      relays.add(cluster, socket);
      return;
    }
    const service = parseServerName(typeof socket.servername === 'string' ? socket.servername : '');
    if (service?.cluster !== own) return reject('the server name is not <service>.<namespace>.<cluster>');
    const server = createHttp2Server({ settings: sessionSettings });
    server.on('session', (session) => {
      const entry = { session, socket, cluster, service };
      this.#accepted.add(entry);
      socket.once('close', () => this.#accepted.delete(entry));
      session.on('error', () => undefined); // the socket closes
      keepAlive(session, socket, probeTimes);
    });
    server.on('stream', (stream: ServerHttp2Stream, headers: IncomingHttpHeaders) => {
      stream.on('error', () => stream.destroy());
      void this.#serve(stream, { headers, cluster, service }); // handles its errors
    });
    server.emit('connection', socket);
  }

  async #serve(
    stream: ServerHttp2Stream,
    { headers, cluster, service }: Pick<Accepted, 'cluster' | 'service'> & { readonly headers: IncomingHttpHeaders },
  ): Promise<void> {
    const { metrics } = this.#options;
    const refuse = (status: number, reason: string): void => {
      metrics.connections.inc({ cluster, direction: 'in', result: status === 403 ? 'refused' : 'failed' });
      if (isGone(stream) || stream.headersSent) return;
      stream.respond({ ':status': status });
      stream.end(reason);
    };
    if (headers[':method'] !== 'CONNECT') return refuse(405, 'only CONNECT is served');
    const refused = refusal(this.#routes, service, cluster);
    if (refused !== undefined) return refuse(403, refused);
    const exported = this.#routes.exports.get(`${service.namespace}/${service.name}`);
    const port = textOf(headers[headerNames.port]);
    const endpoints = shuffled(exported?.ports.get(port) ?? []);
    if (exported === undefined || endpoints.length === 0)
      return refuse(503, `${serverNameOf(service)} has no endpoint with port ${port}`);
    const client = parsePlace(textOf(headers[headerNames.client]));
    try {
      if (port.startsWith('UDP/')) serveDatagrams(stream, endpoints[0] ?? { host: '', port: 0 });
      else await connectStream(stream, endpoints, { exported, client });
      metrics.connections.inc({
        cluster,
        direction: 'in',
        result: port.startsWith('UDP/') ? 'datagrams' : 'connected',
      });
    } catch (error) {
      refuse(502, messageOf(error));
    }
  }
}

/** Whether the peer has reset a stream, which then throws when it is used. */
const isGone = (stream: ServerHttp2Stream): boolean => stream.destroyed || stream.closed;

const textOf = (header: string | readonly string[] | undefined): string => (typeof header === 'string' ? header : '');

function shuffled<T>(list: readonly T[]): readonly T[] {
  const start = Math.floor(Math.random() * list.length);
  return [...list.slice(start), ...list.slice(0, start)];
}

interface Connection {
  readonly exported: ExportedService;
  readonly client: Place | undefined;
}

async function connectStream(
  stream: ServerHttp2Stream,
  endpoints: readonly Place[],
  { exported: { proxyProtocol }, client }: Connection,
): Promise<void> {
  let reason: unknown;
  for (const endpoint of endpoints.slice(0, maxTries)) {
    const socket = await dial(endpoint).catch((error: unknown) => {
      reason = error;
      return undefined;
    });
    if (socket === undefined) continue;
    if (isGone(stream)) {
      socket.destroy();
      return;
    }
    // The header has addresses of one family.
    if (proxyProtocol !== undefined && client?.host.includes(':') === endpoint.host.includes(':'))
      socket.write(
        proxyHeaderOf(proxyProtocol, {
          source: client.host,
          sourcePort: client.port,
          address: endpoint.host,
          port: endpoint.port,
        }),
      );
    stream.respond({ ':status': 200 });
    join(stream, socket);
    return;
  }
  throw new Error(`no endpoint accepts connections: ${messageOf(reason)}`);
}

function dial(place: Place): Promise<Socket> {
  const { promise, resolve, reject } = Promise.withResolvers<Socket>();
  const socket = connectTcp({ ...place, allowHalfOpen: true, noDelay: true });
  const late = setTimeout(
    () => socket.destroy(new Error(`no connection with ${printPlace(place)} within ${dialMs} ms`)),
    dialMs,
  );
  socket.once('error', reject);
  socket.once('close', () => clearTimeout(late));
  socket.once('connect', () => {
    clearTimeout(late);
    socket.off('error', reject);
    resolve(socket);
  });
  return promise;
}

function serveDatagrams(stream: ServerHttp2Stream, endpoint: Place): void {
  const socket = createSocket(endpoint.host.includes(':') ? 'udp6' : 'udp4');
  const end = (): void => stream.close();
  const idle = setTimeout(end, flowIdleMs);
  const reader = new DatagramReader();
  let isOpen = true;
  socket.on('error', end);
  stream.once('close', () => {
    clearTimeout(idle);
    isOpen = false;
    socket.close();
  });
  socket.connect(endpoint.port, endpoint.host);
  socket.once('connect', () => {
    if (!isOpen || isGone(stream)) return;
    stream.respond({ ':status': 200 });
    stream.on('data', (bytes: Buffer) => {
      idle.refresh();
      for (const datagram of reader.read(bytes)) if (isOpen) socket.send(datagram);
    });
  });
  socket.on('message', (datagram) => {
    idle.refresh();
    if (isOpen && stream.writableLength < maxWaitingBytes) stream.write(frameOf(datagram));
  });
  stream.once('end', end);
}
