// Serves the page and its data over HTTP.
import { randomBytes, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { createServer } from 'node:http';
import type { Logger } from 'pino';
import { joinHostPort } from '../../api/addresses.ts';
import { codeOf, messageOf } from '../../api/error-message.ts';
import { setInterval } from '../../machine/timers.ts';
import type { ClusterSet } from '../answers/cluster-set.ts';
import { AnswerError } from '../answers/errors.ts';
import type { Board } from '../server/board.ts';
import { owner } from '../server/viewer.ts';
import type { DashboardOptions } from '../options.ts';
import { cookieOf, readJson, secure, sendJson, sendText } from './answer.ts';
import { DataAnswers } from './data.ts';
import type { PageFile } from './page-files.ts';
import { readPageFiles } from './page-files.ts';
import { rejectionOf } from './request-guard.ts';
import type { Session } from './sessions.ts';
import { Sessions } from './sessions.ts';
import { Streams } from './streams.ts';

export interface WebOptions extends Pick<DashboardOptions, 'listen' | 'portFlag'> {
  readonly board: () => Board;
  readonly set: ClusterSet;
  readonly log: Pick<Logger, 'warn'>;
}

/** Small requests only; streams are responses without an end. */
const limits = {
  maxHeaderSize: 16_384,
  headersTimeout: 10_000,
  requestTimeout: 30_000,
  keepAliveTimeout: 60_000,
  connectionsCheckingInterval: 5000,
} as const;

const maxConnections = 512;
/** Manifests are pasted by people. */
const maxBodyBytes = 256 * 1024;
const expireMs = 60_000;

/** The web server of the dashboard. */
export class WebServer implements AsyncDisposable {
  readonly sessions = new Sessions({ now: () => performance.now() });
  readonly streams: Streams;
  /** Status → number of responses. */
  readonly answers = new Map<number, number>();
  readonly #options: WebOptions;
  readonly #server: Server;
  readonly #secret = randomBytes(24).toString('base64url');
  readonly #expiry: NodeJS.Timeout;
  readonly #data = new DataAnswers();
  #port = 0;
  #hosts: ReadonlySet<string> = new Set();
  #files: Promise<ReadonlyMap<string, PageFile>> | undefined;

  constructor(options: WebOptions) {
    this.#options = options;
    this.streams = new Streams({ board: options.board });
    this.#server = createServer(limits, (request, response) => {
      response.once('close', () =>
        this.answers.set(response.statusCode, (this.answers.get(response.statusCode) ?? 0) + 1),
      );
      this.#answer(request, response).catch((error: unknown) => this.#fail(response, error));
    });
    this.#server.maxConnections = maxConnections;
    this.#expiry = setInterval(() => this.sessions.expire(), expireMs).unref();
  }

  /** Listens on the first free port. Rejects with the reason if there is none. */
  async listen(): Promise<void> {
    const { listen, portFlag } = this.#options;
    for (const [index, port] of listen.ports.entries()) {
      try {
        await listenOn(this.#server, listen.host, port);
        break;
      } catch (cause) {
        const isTaken = codeOf(cause) === 'EADDRINUSE';
        if (isTaken && index < listen.ports.length - 1) continue;
        const where = `port ${port} for the dashboard`;
        if (isTaken)
          throw new Error(`${where} is in use: stop the program that uses it or pass ${portFlag}`, { cause });
        throw new Error(`cannot listen on ${listen.host} ${where}: ${messageOf(cause)}`, { cause });
      }
    }
    const address = this.#server.address();
    this.#port = typeof address === 'object' && address !== null ? address.port : 0;
    const names = ['127.0.0.1', 'localhost', '[::1]', joinHostPort(listen.host, 0).replace(/:0$/, '')];
    this.#hosts = new Set(names.map((name) => `${name}:${this.#port}`));
    // Accepting fails when descriptors run out; the next attempt may not.
    this.#server.on('error', (error) => this.#options.log.warn({ err: error }, 'accepting a connection failed'));
  }

  /** The address that signs the owner in. */
  get url(): string {
    return `http://${joinHostPort(this.#options.listen.host, this.#port)}/enter/${this.#secret}`;
  }

  get port(): number {
    return this.#port;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    clearInterval(this.#expiry);
    this.streams[Symbol.dispose]();
    this.sessions.clear();
    if (!this.#server.listening) return;
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()));
    this.#server.closeAllConnections();
    await closed;
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    secure(response);
    const { method = 'GET', headers } = request;
    const [path = '/'] = (request.url ?? '/').split('?', 1);
    const rejection = rejectionOf({ method, headers, isForData: path.startsWith('/api/') }, this.#hosts);
    if (rejection !== undefined) return sendText(response, rejection.status, rejection.text);
    if (path.startsWith('/api/')) return this.#answerData(path, request, response);
    if (method !== 'GET' && method !== 'HEAD') throw new AnswerError(405, 'method not allowed');
    if (path.startsWith('/enter/')) return this.#enter(path.slice('/enter/'.length), response);
    const file = (await (this.#files ??= readPageFiles())).get(path);
    if (file === undefined) throw new AnswerError(404, 'not found');
    sendFile(file, request, response);
  }

  /** Exchanges the secret of the address for a cookie, so that it is not in the history or in links. */
  #enter(secret: string, response: ServerResponse): void {
    const [given, wanted] = [Buffer.from(secret), Buffer.from(this.#secret)];
    if (given.length !== wanted.length || !timingSafeEqual(given, wanted))
      throw new AnswerError(403, 'this address is of an earlier start: open the one that was printed last');
    this.#signIn(response, this.sessions.add(owner));
    response.writeHead(303, { location: '/', 'cache-control': 'no-store' });
    response.end();
  }

  #signIn(response: ServerResponse, id: string): void {
    response.setHeader('set-cookie', `${this.#cookie}=${id}; HttpOnly; SameSite=Strict; Path=/`);
  }

  /** Browsers send cookies to all ports of a host: each dashboard needs a name of its own. */
  get #cookie(): string {
    return `fairlead-dashboard-${this.#port}`;
  }

  async #answerData(path: string, request: IncomingMessage, response: ServerResponse): Promise<void> {
    const session = this.#sessionOf(request);
    const what = `${request.method ?? 'GET'} ${path}`;
    switch (what) {
      case 'GET /api/session':
        return sendJson(response, 200, { isSignedIn: session !== undefined });
      case 'GET /api/stream':
        return this.#openStream(session, response);
      default:
        return this.#answerQuestion(what, session, request, response);
    }
  }

  async #answerQuestion(
    what: string,
    session: Session | undefined,
    request: IncomingMessage,
    response: ServerResponse,
  ): Promise<void> {
    if (session === undefined) throw new AnswerError(401, 'not signed in');
    const { viewer } = session;
    await viewer.review();
    const { board, set } = this.#options;
    const query = new URLSearchParams((request.url ?? '').split('?', 2)[1]);
    const body = () => readJson(request, maxBodyBytes);
    const answer = await this.#data.answer({ what, query, body }, { board: board(), set, viewer });
    if (answer === undefined) throw new AnswerError(404, 'not found');
    sendJson(response, 200, answer);
  }

  #sessionOf(request: IncomingMessage): Session | undefined {
    const id = cookieOf(request, this.#cookie);
    return id === undefined ? undefined : this.sessions.use(id);
  }

  #openStream(session: Session | undefined, response: ServerResponse): void {
    if (session === undefined) throw new AnswerError(401, 'not signed in');
    if (!this.streams.hasRoom) throw new AnswerError(503, 'too many pages are open: close some of them');
    this.streams.open(session, response);
  }

  #fail(response: ServerResponse, error: unknown): void {
    if (response.headersSent) return void response.destroy();
    const status = error instanceof AnswerError ? error.status : 500;
    if (status === 500) this.#options.log.warn({ err: error }, 'request failed');
    sendText(response, status, messageOf(error));
  }
}

function sendFile({ type, plain, gzip, etag }: PageFile, request: IncomingMessage, response: ServerResponse): void {
  const headers = { 'content-type': type, 'cache-control': 'no-cache', etag, vary: 'accept-encoding' };
  if (request.headers['if-none-match'] === etag) return void response.writeHead(304, headers).end();
  const isCompressed = /\bgzip\b/.test(String(request.headers['accept-encoding'] ?? ''));
  const body = isCompressed ? gzip : plain;
  response.writeHead(200, {
    ...headers,
    'content-length': body.length,
    ...(isCompressed ? { 'content-encoding': 'gzip' } : {}),
  });
  response.end(request.method === 'HEAD' ? undefined : body);
}

function listenOn(server: Server, host: string, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen({ host, port, exclusive: true }, () => {
      server.off('error', reject);
      resolve();
    });
  });
}
