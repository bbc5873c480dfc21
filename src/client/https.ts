import { Deadline } from './deadline.ts';
import { LineStream } from './http-stream.ts';
import { HttpPool } from './http-pool.ts';
import { socketsTo } from './http-socket.ts';
import { exchange } from './http-exchange.ts';
import type { Credentials, ServerAccess } from './http-socket.ts';
import type { ApiRequest, ApiResponse, Transport } from './transport.ts';
import { headersOf, statusErrorOf, urlOf } from './transport.ts';

export interface HttpsOptions {
  readonly userAgent?: string;
  /** How long an answer, or the beginning of a stream, may take; default 60 s. */
  readonly timeoutMs?: number;
  /** How many connections requests share; default 16. Every stream has one of its own beside them. */
  readonly connections?: number;
}

/** A transport over TLS with connections that are kept. Every stream has a connection of its own. */
export function overHttps(access: ServerAccess, options: HttpsOptions = {}): Transport {
  const server = new HttpServer(access, options);
  const timeoutMs = options.timeoutMs ?? 60_000;
  return {
    async request(call) {
      const deadline = new Deadline(call, timeoutMs);
      try {
        return await server.request(call, deadline);
      } finally {
        deadline.clear();
      }
    },
    async *stream(call) {
      // A stream may last for ever, but not take for ever to begin.
      const deadline = new Deadline(call, timeoutMs);
      let lines: LineStream | undefined;
      try {
        lines = await server.stream(call, deadline);
        call.onBegin?.();
        for (let batch = await lines.next(); batch !== undefined; batch = await lines.next()) {
          for (const line of batch) yield line;
        }
      } finally {
        deadline.clear();
        lines?.drop(new Error('nobody reads the stream any more'));
      }
    },
    [Symbol.dispose]: () => server.close(),
  };
}

/** A server and the connections to it; they are made anew when the client certificate changes. */
class HttpServer {
  readonly #access: ServerAccess;
  readonly #writer: RequestWriter;
  readonly #connections: number;
  #pool: HttpPool | undefined;
  #retired: HttpPool | undefined;
  #certificate: Credentials | undefined;

  constructor(access: ServerAccess, { userAgent = 'fairlead', connections = 16 }: HttpsOptions) {
    this.#access = access;
    this.#writer = new RequestWriter(access.server, userAgent);
    this.#connections = connections;
  }

  /** Sends a call; one that is answered with 401 is sent once more, with credentials that are read anew. */
  async request(call: ApiRequest, deadline: Deadline): Promise<ApiResponse> {
    const answer = await this.#requestAs(call, deadline, await this.#access.credentials(false));
    if (answer.status !== 401) return answer;
    return this.#requestAs(call, deadline, await this.#access.credentials(true));
  }

  /** Begins a stream likewise; throws when it is refused. */
  async stream(call: ApiRequest, deadline: Deadline): Promise<LineStream> {
    const first = await this.#streamAs(call, deadline, await this.#access.credentials(false));
    if ('lines' in first) return first.lines;
    const again =
      first.refused.status === 401 ? await this.#streamAs(call, deadline, await this.#access.credentials(true)) : first;
    if ('lines' in again) return again.lines;
    throw statusErrorOf(again.refused);
  }

  close(): void {
    this.#pool?.close();
    this.#retired?.close();
  }

  async #requestAs(call: ApiRequest, deadline: Deadline, credentials: Credentials): Promise<ApiResponse> {
    const text = this.#writer.write(call, credentials.token);
    const pool = this.#poolFor(credentials);
    await pool.acquire(deadline);
    try {
      for (;;) {
        deadline.throwIfEnded();
        const connection = await pool.connection(deadline);
        deadline.guard((reason) => connection.drop(reason));
        deadline.throwIfEnded();
        const outcome = await exchange(connection, text);
        if ('answer' in outcome) return outcome.answer;
        // Only what changes nothing is sent twice: the server may have acted, and only its answer be lost.
        if (!outcome.isUnanswered || call.method !== 'GET') throw outcome.error;
      }
    } finally {
      pool.release();
    }
  }

  async #streamAs(
    call: ApiRequest,
    deadline: Deadline,
    credentials: Credentials,
  ): Promise<{ readonly lines: LineStream } | { readonly refused: ApiResponse }> {
    const text = this.#writer.write(call, credentials.token);
    const pool = this.#poolFor(credentials);
    for (;;) {
      deadline.throwIfEnded();
      const connection = await pool.connection(deadline);
      deadline.guard((reason) => connection.drop(reason));
      deadline.throwIfEnded();
      const lines = new LineStream(connection);
      connection.send(text, lines.exchange);
      const head = await lines.head();
      if (head === undefined) continue;
      // A refusal has to come to its end in time; a stream need not.
      if (head.status === 200) {
        deadline.begun();
        return { lines };
      }
      return { refused: { ...head, body: await lines.refusal() } };
    }
  }

  #poolFor(credentials: Credentials): HttpPool {
    const { cert, key } = credentials;
    if (this.#pool !== undefined && this.#certificate?.cert === cert && this.#certificate?.key === key)
      return this.#pool;
    let pool: HttpPool;
    try {
      pool = new HttpPool(socketsTo(this.#access, credentials), this.#connections);
    } catch (error) {
      // A certificate whose key is not replaced yet, or the other way round: the last pair may still do.
      if (this.#pool !== undefined) return this.#pool;
      throw error;
    }
    // What is under way with the last certificate may finish; what is older yet is cut.
    this.#retired?.close();
    this.#retired = this.#pool;
    this.#retired?.retire();
    this.#certificate = credentials;
    this.#pool = pool;
    return pool;
  }
}

/** Writes requests to one server as they are sent. Throws for what would be read as more than one line. */
class RequestWriter {
  /** In front of every path. */
  readonly #prefix: string;
  /** The headers of every request. */
  readonly #headers: string;

  constructor(server: string, userAgent: string) {
    const { host, pathname } = new URL(server);
    this.#prefix = pathname.replace(/\/$/, '');
    this.#headers = `Host: ${host}\r\n${line('User-Agent', userAgent)}`;
  }

  /** The text of a request, in the name of whom the token is. */
  write(call: ApiRequest, token: string | undefined): string {
    const url = this.#prefix + urlOf(call);
    if (!/^[\x21-\x7e]+$/.test(url)) throw new TypeError(`a path that must be escaped: ${JSON.stringify(url)}`);
    let text = `${call.method} ${url} HTTP/1.1\r\n${this.#headers}`;
    for (const [name, value] of Object.entries(headersOf(call))) text += line(name, value);
    if (token !== undefined) {
      // Not told: a token does not belong into a log.
      if (!isPrintable(token)) throw new TypeError('the token has characters that cannot be sent');
      text += `Authorization: Bearer ${token}\r\n`;
    }
    if (call.body === undefined) return `${text}\r\n`;
    return `${text}Content-Length: ${Buffer.byteLength(call.body)}\r\n\r\n${call.body}`;
  }
}

const isPrintable = (text: string): boolean => /^[\x20-\x7e]*$/.test(text);

function line(name: string, value: string): string {
  if (!isPrintable(value)) throw new TypeError(`a header that cannot be sent: ${name}: ${JSON.stringify(value)}`);
  return `${name}: ${value}\r\n`;
}
