import type { IncomingMessage } from 'node:http';
import { ServerResponse } from 'node:http';
import { createServer } from 'node:https';
import type { Duplex } from 'node:stream';
import { TLSSocket } from 'node:tls';

import { messageOf } from '../../api/error-message.ts';
import type { NodeServer, NodeServerOptions } from '../pods/runtime.ts';
import { Access } from './access.ts';
import { reviewsOf } from './reviews.ts';
import { servingCertificate } from './certificate.ts';
import { runAttach, runCommand } from './command.ts';
import type { Handshake, WantedStreams } from './command-session.ts';
import { commandHandshake } from './command-session.ts';
import { logOptions } from './log-lines.ts';
import { sendLog } from './logs.ts';
import { portForwardHandshake } from './port-forward.ts';
import { Statistics } from './statistics.ts';
import type { PodRoute, Route } from './route.ts';
import { permissionsOf, routeOf } from './route.ts';

/** Connections at once: each is a stream, or waits for the next request of the API server. */
const maxConnections = 2000;
const maxHeaderBytes = 64 * 1024;

/** Starts the server of this node: logs, commands, forwarded ports and metrics, for callers that the API server knows. */
export async function startServer(options: NodeServerOptions): Promise<NodeServer> {
  const certificate = await servingCertificate(options);
  const requests = new Requests(options, new Access(reviewsOf(options.client, options.nodeName)));
  const server = createServer({
    ...certificate.current(),
    ...(options.clientCa === undefined ? {} : { ca: options.clientCa }),
    requestCert: true,
    rejectUnauthorized: false, // a caller without a certificate may have a token
    minVersion: 'TLSv1.2',
    handshakeTimeout: 20_000,
    maxHeaderSize: maxHeaderBytes,
    headersTimeout: 20_000,
    requestTimeout: 60_000,
    keepAliveTimeout: 120_000,
    noDelay: true,
    keepAlive: true,
    keepAliveInitialDelay: 15_000,
  });
  server.maxConnections = maxConnections;
  certificate.onChange((renewed) =>
    server.setSecureContext({
      ...renewed,
      ...(options.clientCa === undefined ? {} : { ca: options.clientCa }),
      minVersion: 'TLSv1.2',
    }),
  );
  const open = new Set<Duplex>();
  server.on('secureConnection', (socket) => {
    open.add(socket);
    socket.on('error', () => undefined); // reset by the caller
    socket.on('close', () => open.delete(socket));
  });
  server.on('request', (request, response) => requests.serve(request, response));
  server.on('upgrade', (request, socket, head) => requests.upgrade(request, socket, head));
  server.on('tlsClientError', (_error, socket) => socket.destroy());
  server.on('clientError', (_error, socket) => socket.destroy());
  const { address, port } = options.listen;
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen({ host: address, port }, () => {
      server.off('error', reject);
      resolve();
    });
  });
  server.on('error', () => undefined); // accepting fails when descriptors run out; a later attempt may succeed
  const bound = server.address();
  return {
    port: typeof bound === 'object' && bound !== null ? bound.port : port,
    problems: () => certificate.problems(),
    async [Symbol.asyncDispose]() {
      certificate[Symbol.dispose]();
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      for (const socket of open) socket.destroy();
      await closed;
    },
  };
}

class Requests {
  readonly #options: NodeServerOptions;
  readonly #access: Access;
  readonly #statistics: Statistics;

  constructor(options: NodeServerOptions, access: Access) {
    this.#options = options;
    this.#access = access;
    this.#statistics = new Statistics(options.runtime, options.nodeName);
  }

  /** Serves a request; a failure is its response. */
  serve(request: IncomingMessage, response: ServerResponse): void {
    request.resume(); // no request has a body
    void this.#guarded(request, response, (route, query) => this.#serve(route, query, response));
  }

  /** Serves a request that continues with another protocol. */
  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    const response = new ServerResponse(request);
    // The socket of an HTTP server is a network socket.
    response.assignSocket(socket as TLSSocket);
    response.shouldKeepAlive = false;
    response.on('finish', () => socket.end());
    void this.#guarded(request, response, (route, query) =>
      this.#stream(route, query, { request, response, socket, head }),
    );
  }

  async #guarded(
    request: IncomingMessage,
    response: ServerResponse,
    serve: (route: Route, query: URLSearchParams) => Promise<void>,
  ): Promise<void> {
    const { pathname, searchParams } = new URL(request.url ?? '/', 'https://node');
    try {
      const caller =
        request.socket instanceof TLSSocket
          ? await this.#access.identify(request.socket, request.headers.authorization)
          : undefined;
      if (caller === undefined) {
        sendText(response, 401, 'Unauthorized');
        return;
      }
      const needed = permissionsOf(request.method ?? '', pathname);
      if (!(await this.#access.isAllowed(caller, needed))) {
        const [{ verb, subresource } = { verb: '', subresource: '' }] = needed.at(-1) ?? [];
        const { nodeName } = this.#options;
        sendText(
          response,
          403,
          `Forbidden (user=${caller.username}, verb=${verb}, resource=nodes, subresource(s)=[${subresource}], name=${nodeName})`,
        );
        return;
      }
      const route = routeOf(pathname);
      if (route === undefined) sendText(response, 404, '404 page not found');
      else await serve(route, searchParams);
    } catch (error) {
      this.#options.log.warn({ err: error, url: pathname }, 'request failed');
      if (response.headersSent) response.destroy();
      else sendText(response, 500, messageOf(error));
    }
  }

  async #serve(route: Route, query: URLSearchParams, response: ServerResponse): Promise<void> {
    const { runtime, metrics } = this.#options;
    switch (route.type) {
      case 'logs': {
        const options = logOptions(query, Date.now());
        if (typeof options === 'string') {
          sendText(response, 422, options);
          return;
        }
        const gone = new AbortController();
        response.on('close', () => gone.abort());
        const failure = await sendLog(runtime, route, { options, response, signal: gone.signal });
        if (failure !== undefined) sendText(response, failure.status, failure.message);
        return;
      }
      case 'pods':
        sendJson(response, {
          kind: 'PodList',
          apiVersion: 'v1',
          metadata: {},
          items: runtime.pods().map(({ pod }) => pod),
        });
        return;
      case 'healthz':
        sendText(response, 200, 'ok');
        return;
      case 'metrics':
        response.writeHead(200, { 'Content-Type': metrics.contentType }).end(await metrics.metrics());
        return;
      case 'exec':
      case 'attach':
      case 'portForward':
        sendText(response, 400, 'Upgrade request required');
        return;
      case 'resourceMetrics':
        response.writeHead(200, { 'Content-Type': 'text/plain; version=0.0.4' }).end(await this.#statistics.metrics());
        return;
      case 'summary':
        sendJson(response, await this.#statistics.summary());
    }
  }

  async #stream(route: Route, query: URLSearchParams, connection: Connection): Promise<void> {
    const { request, response } = connection;
    if (route.type === 'portForward') {
      const { namespace, pod: name, uid } = route;
      const pod = this.#options.runtime.find(namespace, name, uid === '' ? undefined : uid);
      if (pod === undefined) sendText(response, 404, 'pod does not exist');
      else await accepted(portForwardHandshake(headerOf(request), query, pod), connection);
      return;
    }
    if (route.type !== 'exec' && route.type !== 'attach') {
      await this.#serve(route, query, response);
      return;
    }
    const wanted = wantedStreams(query);
    if (!wanted.stdin && !wanted.stdout && !wanted.stderr) {
      sendText(response, 400, 'you must specify at least 1 of stdin, stdout, stderr');
      return;
    }
    const container = this.#containerOf(route);
    if (typeof container === 'string') {
      sendText(response, 404, container);
      return;
    }
    const session = await accepted(commandHandshake(headerOf(request), wanted), connection);
    if (session === undefined) return;
    if (route.type === 'attach') await runAttach(container, { session });
    else await runCommand(container, query.getAll('command'), { session, wanted });
  }

  #containerOf({ namespace, pod, uid, container }: PodRoute): ReturnType<typeof found> {
    return found(this.#options.runtime.find(namespace, pod, uid === '' ? undefined : uid), container);
  }
}

interface Connection {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly socket: Duplex;
  readonly head: Buffer;
}

const found = (pod: ReturnType<NodeServerOptions['runtime']['find']>, name: string) => {
  if (pod === undefined) return 'pod does not exist';
  return pod.containers.find((each) => each.name === name) ?? `container not found (${JSON.stringify(name)})`;
};

/** With a terminal, its output is all stdout. */
function wantedStreams(query: URLSearchParams): WantedStreams {
  const isSet = (name: string): boolean => query.get(name) === '1';
  const tty = isSet('tty');
  return { stdin: isSet('input'), stdout: isSet('output'), stderr: isSet('error') && !tty, tty };
}

const headerOf =
  ({ headers }: IncomingMessage): ((name: string) => string | undefined) =>
  (name) => {
    const value = headers[name];
    return Array.isArray(value) ? value.join(',') : value;
  };

/** Completes a handshake; undefined if it was refused. */
async function accepted<Session>(
  handshake: Handshake<Session>,
  { response, socket, head }: Connection,
): Promise<Session | undefined> {
  if ('status' in handshake) {
    for (const [name, value] of Object.entries(handshake.headers ?? {})) response.setHeader(name, value);
    sendText(response, handshake.status, handshake.message);
    return undefined;
  }
  // The socket of an HTTP server is a network socket.
  response.detachSocket(socket as TLSSocket);
  const lines = Object.entries(handshake.headers).map(([name, value]) => `${name}: ${value}`);
  socket.write(['HTTP/1.1 101 Switching Protocols', ...lines, '', ''].join('\r\n'));
  return handshake.accept(socket, head);
}

function sendText(response: ServerResponse, status: number, text: string): void {
  const body = `${text}\n`;
  response
    .writeHead(status, { 'Content-Type': 'text/plain; charset=utf-8', 'X-Content-Type-Options': 'nosniff' })
    .end(body);
}

const sendJson = (response: ServerResponse, value: unknown): void =>
  void response.writeHead(200, { 'Content-Type': 'application/json' }).end(JSON.stringify(value));
