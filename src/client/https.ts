import { Deadline } from './deadline.ts';
import { failover } from './failover.ts';
import { LineStream } from './http-stream.ts';
import type * as Pools from './http-pool.ts';
import { connectTo } from './http-socket.ts';
import { exchange } from './http-exchange.ts';
import type { HttpRequest } from './http-connection.ts';
import type { Credentials, ServerAccess } from './http-socket.ts';
import type { ApiRequest, ApiResponse, Transport } from './transport.ts';
import { headersOf, statusErrorOf, urlOf } from './transport.ts';

let pools: Promise<typeof Pools> | undefined;

/** Loads undici with the first request: components of `fairlead up` and clusters of tests send none, and start sooner. */
const loadPools = (): Promise<typeof Pools> => (pools ??= import('./http-pool.ts'));

export interface HttpsOptions {
  readonly userAgent?: string;
  /** Timeout of a response or of the start of a stream; default 60 s. */
  readonly timeoutMs?: number;
  /** Connections that requests share; default 16. Every stream has an additional connection of its own. */
  readonly connections?: number;
}

/** A transport over TLS with keep-alive connections, to one of the servers at a time. */
export function overHttps(access: ServerAccess, options: HttpsOptions = {}): Transport {
  const { otherServers = [] } = access;
  if (otherServers.length === 0) return overOneServer(access, options);
  return failover([access.server, ...otherServers].map((server) => overOneServer({ ...access, server }, options)));
}

function overOneServer(access: ServerAccess, options: HttpsOptions): Transport {
  const timeoutMs = options.timeoutMs ?? 60_000;
  const server = new HttpServer(access, timeoutMs, options);
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
      // The deadline applies only until the stream starts.
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
        lines?.drop(new Error('the reader closed the stream'));
      }
    },
    [Symbol.dispose]: () => server.close(),
  };
}

/** A server and its connection pool, which is replaced when the client certificate or the trusted authorities change. */
class HttpServer {
  readonly #access: ServerAccess;
  readonly #writer: RequestWriter;
  readonly #connections: number;
  readonly #timeoutMs: number;
  #pool: Pools.HttpPool | undefined;
  #retired: Pools.HttpPool | undefined;
  #credentials: Credentials | undefined;

  constructor(access: ServerAccess, timeoutMs: number, { userAgent = 'fairlead', connections = 16 }: HttpsOptions) {
    this.#access = access;
    this.#timeoutMs = timeoutMs;
    this.#writer = new RequestWriter(access.server, userAgent);
    this.#connections = connections;
  }

  /** Sends a request. After a 401 it is sent once more with refreshed credentials. */
  async request(call: ApiRequest, deadline: Deadline): Promise<ApiResponse> {
    const response = await this.#requestAs(call, deadline, await this.#access.credentials(false));
    if (response.status !== 401) return response;
    return this.#requestAs(call, deadline, await this.#access.credentials(true));
  }

  /** Starts a stream in the same way; throws if the server rejects it. */
  async stream(call: ApiRequest, deadline: Deadline): Promise<LineStream> {
    const first = await this.#streamAs(call, deadline, await this.#access.credentials(false));
    if ('lines' in first) return first.lines;
    const again =
      first.rejected.status === 401
        ? await this.#streamAs(call, deadline, await this.#access.credentials(true))
        : first;
    if ('lines' in again) return again.lines;
    throw statusErrorOf(again.rejected);
  }

  close(): void {
    this.#pool?.close();
    this.#retired?.close();
  }

  async #requestAs(call: ApiRequest, deadline: Deadline, credentials: Credentials): Promise<ApiResponse> {
    const request = this.#writer.write(call, credentials.token);
    const pool = this.#poolFor(credentials, await loadPools());
    await pool.acquire(deadline);
    try {
      for (;;) {
        deadline.throwIfEnded();
        const connection = pool.connection();
        deadline.onEnd((reason) => connection.drop(reason));
        deadline.throwIfEnded();
        const outcome = await exchange(connection, request);
        if ('response' in outcome) return outcome.response;
        // Only reads are sent again: the server may have executed a write before the connection closed.
        if (!outcome.isStaleConnection || call.method !== 'GET') throw outcome.error;
      }
    } finally {
      pool.release();
    }
  }

  async #streamAs(
    call: ApiRequest,
    deadline: Deadline,
    credentials: Credentials,
  ): Promise<{ readonly lines: LineStream } | { readonly rejected: ApiResponse }> {
    const request = this.#writer.write(call, credentials.token);
    const pool = this.#poolFor(credentials, await loadPools());
    for (;;) {
      deadline.throwIfEnded();
      const connection = pool.connection();
      deadline.onEnd((reason) => connection.drop(reason));
      deadline.throwIfEnded();
      const lines = new LineStream(connection);
      connection.send(request, lines.exchange);
      const head = await lines.head();
      if (head === undefined) continue;
      // The deadline still applies to the body of an error, but not to a stream.
      if (head.status === 200) {
        deadline.clearTimeout();
        return { lines };
      }
      return { rejected: { ...head, body: await lines.errorBody() } };
    }
  }

  #poolFor(credentials: Credentials, { HttpPool }: typeof Pools): Pools.HttpPool {
    const { cert, key, ca } = credentials;
    const last = this.#credentials;
    if (this.#pool !== undefined && last?.cert === cert && last?.key === key && last?.ca === ca) return this.#pool;
    let pool: Pools.HttpPool;
    try {
      const connect = connectTo(this.#access, credentials, this.#timeoutMs);
      pool = new HttpPool(new URL(this.#access.server).origin, connect, this.#connections);
    } catch (error) {
      // The certificate and its key do not match while they are being replaced: keep the last pair.
      if (this.#pool !== undefined) return this.#pool;
      throw error;
    }
    // Requests with the previous certificate may finish; older ones are aborted.
    this.#retired?.close();
    this.#retired = this.#pool;
    this.#retired?.retire();
    this.#credentials = credentials;
    this.#pool = pool;
    return pool;
  }
}

/** Writes requests to one server. Throws if a value contains characters that could inject a header or a request. */
class RequestWriter {
  readonly #pathPrefix: string;
  readonly #userAgent: string;

  constructor(server: string, userAgent: string) {
    this.#pathPrefix = new URL(server).pathname.replace(/\/$/, '');
    this.#userAgent = userAgent;
  }

  write(call: ApiRequest, token: string | undefined): HttpRequest {
    const path = this.#pathPrefix + urlOf(call);
    if (!/^[\x21-\x7e]+$/.test(path)) throw new TypeError(`the path is not escaped: ${JSON.stringify(path)}`);
    const headers: Record<string, string> = { 'user-agent': this.#userAgent, ...headersOf(call) };
    for (const [name, value] of Object.entries(headers)) {
      if (!isPrintable(value))
        throw new TypeError(`header ${name} contains characters that are not allowed: ${JSON.stringify(value)}`);
    }
    if (token !== undefined) {
      // The token is a secret, so the error does not quote it.
      if (!isPrintable(token)) throw new TypeError('the token contains characters that are not allowed in a header');
      headers['authorization'] = `Bearer ${token}`;
    }
    return { method: call.method, path, headers, ...(call.body === undefined ? {} : { body: call.body }) };
  }
}

const isPrintable = (text: string): boolean => /^[\x20-\x7e]*$/.test(text);
