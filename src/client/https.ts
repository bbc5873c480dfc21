import { Deadline } from './deadline.ts';
import { LineStream } from './http-lines.ts';
import { HttpPool } from './http-pool.ts';
import { RequestWriter } from './http-request.ts';
import { socketsTo } from './http-socket.ts';
import { exchange } from './http-whole.ts';
import type { Credentials, ServerAccess } from './server-access.ts';
import type { ApiAnswer, ApiCall, Transport } from './transport.ts';
import { refusal } from './transport.ts';

export type { Credentials, ServerAccess } from './server-access.ts';

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
  async request(call: ApiCall, deadline: Deadline): Promise<ApiAnswer> {
    const answer = await this.#requestAs(call, deadline, await this.#access.credentials(false));
    if (answer.status !== 401) return answer;
    return this.#requestAs(call, deadline, await this.#access.credentials(true));
  }

  /** Begins a stream likewise; throws when it is refused. */
  async stream(call: ApiCall, deadline: Deadline): Promise<LineStream> {
    const first = await this.#streamAs(call, deadline, await this.#access.credentials(false));
    if ('lines' in first) return first.lines;
    const again =
      first.refused.status === 401 ? await this.#streamAs(call, deadline, await this.#access.credentials(true)) : first;
    if ('lines' in again) return again.lines;
    throw refusal(again.refused);
  }

  close(): void {
    this.#pool?.close();
    this.#retired?.close();
  }

  async #requestAs(call: ApiCall, deadline: Deadline, credentials: Credentials): Promise<ApiAnswer> {
    const text = this.#writer.write(call, credentials.token);
    const pool = this.#poolFor(credentials);
    await pool.turn(deadline);
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
      pool.done();
    }
  }

  async #streamAs(
    call: ApiCall,
    deadline: Deadline,
    credentials: Credentials,
  ): Promise<{ readonly lines: LineStream } | { readonly refused: ApiAnswer }> {
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
