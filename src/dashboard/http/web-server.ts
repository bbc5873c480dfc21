// Serves the page and its data over HTTP.
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import type { Logger } from 'pino';
import { messageOf } from '../../api/error-message.ts';
import { setInterval } from '../../machine/timers.ts';
import type { ClusterSet } from '../answers/cluster-set.ts';
import { AnswerError } from '../answers/errors.ts';
import type { Board } from '../server/board.ts';
import type { Viewer } from '../server/viewer.ts';
import { reviewAll, reviewed } from '../server/viewer.ts';
import { isLoopback } from '../../api/addresses.ts';
import type { DashboardOptions } from '../options.ts';
import type { SessionState } from '../view/session.ts';
import { cookieOf, readJson, secure, sendJson, sendText } from './answer.ts';
import { DataAnswers } from './data.ts';
import { Listener } from './listener.ts';
import type { PageFile } from './page-files.ts';
import { readPageFiles } from './page-files.ts';
import { rejectionOf } from './request-guard.ts';
import type { Session } from './sessions.ts';
import { Sessions } from './sessions.ts';
import { StartSecret, TokenSignIn } from './sign-in.ts';
import { Streams } from './streams.ts';

export interface WebOptions extends Pick<DashboardOptions, 'listen' | 'portFlag'> {
  readonly board: () => Board;
  readonly set: ClusterSet;
  readonly log: Pick<Logger, 'warn'>;
  /** How often rights are reviewed; default 10 s. */
  readonly reviewMs?: number;
}

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
  readonly #listener: Listener;
  readonly #secret = new StartSecret();
  readonly #tokens: TokenSignIn;
  readonly #expiry: NodeJS.Timeout;
  readonly #data = new DataAnswers();
  #files: Promise<ReadonlyMap<string, PageFile>> | undefined;

  constructor(options: WebOptions) {
    this.#options = options;
    const { board, reviewMs = 10_000 } = options;
    this.streams = new Streams({ board, reviewMs });
    this.#tokens = new TokenSignIn(reviewMs);
    const answer: RequestListener = (request, response) => {
      response.once('close', () =>
        this.answers.set(response.statusCode, (this.answers.get(response.statusCode) ?? 0) + 1),
      );
      this.#answer(request, response).catch((error: unknown) => this.#fail(response, error));
    };
    this.#listener = new Listener(options.listen, answer, options.log);
    this.#expiry = setInterval(() => this.sessions.expire(), expireMs).unref();
  }

  /** Listens on the first free port. Rejects with the reason if there is none. */
  listen(): Promise<void> {
    return this.#listener.listen(this.#options.portFlag);
  }

  /** The address of the page. On loopback it signs the owner in. */
  get url(): string {
    return `${this.#listener.origin}/${this.#isForOwner ? `enter/${this.#secret.text}` : ''}`;
  }

  get port(): number {
    return this.#listener.port;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    clearInterval(this.#expiry);
    this.streams[Symbol.dispose]();
    this.sessions.clear();
    await this.#listener[Symbol.asyncDispose]();
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    secure(response);
    const { method = 'GET', headers } = request;
    const [path = '/'] = (request.url ?? '/').split('?', 1);
    const rejection = rejectionOf({ method, headers, isForData: path.startsWith('/api/') }, (host) =>
      this.#listener.isOwn(host),
    );
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
    if (!this.#isForOwner) throw new AnswerError(404, 'not found');
    this.#signIn(response, this.#secret.check(secret));
    response.writeHead(303, { location: '/', 'cache-control': 'no-store' });
    response.end();
  }

  async #enterWithTokens(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (this.#isForOwner) throw new AnswerError(404, 'not found');
    const { board, set } = this.#options;
    const body = await readJson(request, maxBodyBytes);
    this.#signIn(response, await this.#tokens.check(body, { sources: set.sources, board: board() }));
    sendJson(response, 200, { isSignedIn: true });
  }

  #signOut(request: IncomingMessage, response: ServerResponse): void {
    const id = cookieOf(request, this.#cookie);
    if (id !== undefined) this.sessions.remove(id);
    sendJson(response, 200, { isSignedIn: false });
  }

  #signIn(response: ServerResponse, viewer: Viewer): void {
    const settings = `HttpOnly; SameSite=Strict; Path=/${this.#listener.isEncrypted ? '; Secure' : ''}`;
    response.setHeader('set-cookie', `${this.#cookie}=${this.sessions.add(viewer)}; ${settings}`);
  }

  /** Only people of this machine can have seen the secret of a loopback address. */
  get #isForOwner(): boolean {
    return isLoopback(this.#options.listen.host);
  }

  /** Browsers send cookies to all ports of a host: each dashboard needs a name of its own. */
  get #cookie(): string {
    return `fairlead-dashboard-${this.port}`;
  }

  async #answerData(path: string, request: IncomingMessage, response: ServerResponse): Promise<void> {
    const session = this.#sessionOf(request);
    const what = `${request.method ?? 'GET'} ${path}`;
    switch (what) {
      case 'GET /api/session':
        return sendJson(response, 200, this.#stateOf(session));
      case 'POST /api/sign-in':
        return this.#enterWithTokens(request, response);
      case 'POST /api/sign-out':
        return this.#signOut(request, response);
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
    const { board, set } = this.#options;
    const query = new URLSearchParams((request.url ?? '').split('?', 2)[1]);
    let content: ReturnType<typeof readJson> | undefined;
    const body = () => (content ??= readJson(request, maxBodyBytes));
    const answer = await reviewed(viewer, () =>
      this.#data.answer({ what, query, body }, { board: board(), set, viewer }),
    );
    if (answer === undefined) throw new AnswerError(404, 'not found');
    sendJson(response, 200, answer);
  }

  /** What the page shows before sign-in. */
  #stateOf(session: Session | undefined): SessionState {
    if (session !== undefined) return { isSignedIn: true, ...(session.viewer.isOwner ? {} : { canSignOut: true }) };
    return { isSignedIn: false, ...(this.#isForOwner ? {} : { clusters: [...this.#options.set.sources.keys()] }) };
  }

  #sessionOf(request: IncomingMessage): Session | undefined {
    const id = cookieOf(request, this.#cookie);
    const session = id === undefined ? undefined : this.sessions.use(id);
    return session?.viewer.isValid === true ? session : undefined;
  }

  async #openStream(session: Session | undefined, response: ServerResponse): Promise<void> {
    if (session === undefined) throw new AnswerError(401, 'not signed in');
    if (!this.streams.hasRoom) throw new AnswerError(503, 'too many pages are open: close some of them');
    if (!session.viewer.isOwner) await reviewAll(session.viewer, this.#options.board());
    if (!response.destroyed) this.streams.open(session, response);
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
