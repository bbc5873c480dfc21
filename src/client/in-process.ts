import { StringDecoder } from 'node:string_decoder';
import { LineSplitter } from './line-splitter.ts';
import type { ResponseHeaders, ApiResponse, ApiRequest, Transport } from './transport.ts';
import { headersOf, statusErrorOf, urlOf } from './transport.ts';

/** The request type of a server in this process. */
export interface LocalRequest {
  readonly method: string;
  readonly url: string;
  header(name: string): string | undefined;
  body(limit: number): Promise<Buffer>;
  readonly isAborted: () => boolean;
}

/** The response of such a server: a body, or a stream that it writes to. */
export type LocalReply = LocalBody | LocalStream;

interface LocalBody {
  readonly status: number;
  readonly headers: ResponseHeaders;
  readonly body: string | Buffer | Iterable<string | Buffer>;
  readonly release?: () => void;
}

interface LocalStream {
  readonly status: number;
  readonly headers: ResponseHeaders;
  stream(sink: LocalSink): void;
}

/** The receiving end of a stream. */
export interface LocalSink {
  write(chunk: Buffer): boolean;
  onDrain(listener: () => void): void;
  onClose(listener: () => void): void;
  end(): void;
  abort(): void;
}

/**
 * A transport to a server in this process: no port, no encryption. `handle` is the server's own function, with the
 * user filled in: `inProcess((request) => server.handle({ ...request, user }))`.
 */
export function inProcess(handle: (request: LocalRequest) => Promise<LocalReply>): Transport {
  const closed = new AbortController();
  const send = async (call: ApiRequest): Promise<LocalReply> => {
    const signal = withClosed(call.signal, closed.signal);
    signal.throwIfAborted();
    return handle(requestOf(call, signal));
  };
  return {
    async request(call) {
      const reply = await send(call);
      if ('stream' in reply) throw new Error(`${call.method} ${call.path} is a stream: use stream()`);
      call.signal?.throwIfAborted();
      return responseOf(reply);
    },
    async *stream(call) {
      const reply = await send(call);
      if (!('stream' in reply)) throw statusErrorOf(responseOf(reply));
      call.onBegin?.();
      const lines = new LocalLines(withClosed(call.signal, closed.signal));
      reply.stream(lines);
      yield* lines.read();
    },
    [Symbol.dispose]: () => closed.abort(new Error('the transport is closed')),
  };
}

const withClosed = (signal: AbortSignal | undefined, closed: AbortSignal): AbortSignal =>
  signal === undefined ? closed : AbortSignal.any([signal, closed]);

function requestOf(call: ApiRequest, signal: AbortSignal): LocalRequest {
  const headers = headersOf(call);
  return {
    method: call.method,
    url: urlOf(call),
    header: (name) => headers[name],
    body: async () => Buffer.from(call.body ?? ''),
    isAborted: () => signal.aborted,
  };
}

function responseOf({ status, headers, body, release }: LocalBody): ApiResponse {
  const text = typeof body === 'string' || Buffer.isBuffer(body) ? body.toString() : [...body].join('');
  release?.();
  const lowered = Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value] as const);
  return { status, headers: Object.fromEntries(lowered), body: text };
}

/** Unread lines at which the writer has to wait. */
const highWater = 1024;

/** A sink whose lines a loop reads. */
class LocalLines implements LocalSink {
  readonly #signal: AbortSignal;
  readonly #splitter = new LineSplitter();
  readonly #decoder = new StringDecoder('utf8');
  readonly #drained: (() => void)[] = [];
  readonly #closed: (() => void)[] = [];
  #lines: string[] = [];
  #end: 'open' | 'ended' | 'cut' = 'open';
  #isClosed = false;
  #wake = (): void => {};

  constructor(signal: AbortSignal) {
    this.#signal = signal;
  }

  write(chunk: Buffer): boolean {
    this.#lines.push(...this.#splitter.push(this.#decoder.write(chunk)));
    this.#wake();
    return this.#lines.length < highWater;
  }

  onDrain(listener: () => void): void {
    this.#drained.push(listener);
  }

  onClose(listener: () => void): void {
    if (this.#isClosed) listener();
    else this.#closed.push(listener);
  }

  end(): void {
    if (this.#end === 'open') this.#end = 'ended';
    this.#wake();
  }

  abort(): void {
    this.#end = 'cut';
    this.#wake();
  }

  async *read(): AsyncGenerator<string> {
    const wake = (): void => this.#wake();
    this.#signal.addEventListener('abort', wake);
    try {
      for (;;) {
        this.#signal.throwIfAborted();
        const lines = this.#lines;
        this.#lines = [];
        if (lines.length >= highWater) for (const listener of this.#drained) listener();
        for (const line of lines) {
          this.#signal.throwIfAborted();
          yield line;
        }
        if (this.#end === 'cut') throw new Error('the server cut the stream');
        if (this.#lines.length > 0) continue;
        if (this.#end === 'ended') return;
        await new Promise<void>((resolve) => {
          this.#wake = resolve;
          // Do not wait if something changed before #wake was set.
          if (this.#lines.length > 0 || this.#end !== 'open' || this.#signal.aborted) resolve();
        });
      }
    } finally {
      this.#signal.removeEventListener('abort', wake);
      this.#isClosed = true;
      for (const listener of this.#closed) listener();
    }
  }
}
