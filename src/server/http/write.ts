import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Http2ServerRequest, Http2ServerResponse } from 'node:http2';
import { createGzip, constants } from 'node:zlib';
import type { Socket } from 'node:net';
import type { Writable } from 'node:stream';
import { pipeline } from 'node:stream';

import { yieldToEventLoop, setTimeout } from '../../machine/timers.ts';
import type { BufferedOutput, OutputAccount } from '../limits/unsent-bytes.ts';
import type { BodyReply, Headers, Reply, Sink, StreamReply } from '../reply.ts';

/** Requests and responses of either protocol, through Node's compatibility API. */
export type Incoming = IncomingMessage | Http2ServerRequest;
export type Outgoing = ServerResponse | Http2ServerResponse;

/** Bodies beyond this size are compressed for clients that accept gzip. */
const gzipFromBytes = 128 * 1024;
/** Bodies beyond this size count as unsent until an HTTP/1.1 client has read them; it has one reply at a time. */
const countFromBytes = 16 * 1024;
/** How long a client may take to read the rest of an ended watch. */
const lingerMs = 10_000;

/** The client of a reply. */
export interface Receiver {
  readonly incoming: Incoming;
  /** How long the server waits in total for the client to read a reply, or the last write of a watch. */
  readonly stallTimeoutMs: number;
  /** Shared by all replies of a listener. */
  readonly frames: ChunkFrames;
  /** Called for a connection whose client may leave a reply unread. */
  readonly tolerateStalls?: (socket: Socket) => void;
}

/**
 * The frames of HTTP/1.1's chunked encoding. Keeps the last one: an event goes to many watches in turn, each of which then
 * sends the same buffer instead of three that Node would join for every client.
 */
export class ChunkFrames {
  #chunk: Buffer = Buffer.alloc(0);
  #frame: Buffer = Buffer.alloc(0);

  of(chunk: Buffer): Buffer {
    if (chunk.length === 0) return chunk; // its frame would end the reply
    if (chunk !== this.#chunk) {
      this.#frame = Buffer.concat([Buffer.from(`${chunk.length.toString(16)}\r\n`), chunk, Buffer.from('\r\n')]);
      this.#chunk = chunk;
    }
    return this.#frame;
  }
}

/**
 * Sends a reply over either protocol; a disconnected client is not an error. Resolves when the body is encoded, and
 * rejects only if encoding failed.
 */
export async function writeReply(outgoing: Outgoing, reply: Reply, receiver: Receiver): Promise<void> {
  outgoing.on('error', () => undefined); // reset by the client
  if ('release' in reply && reply.release !== undefined) {
    if (isClosed(outgoing)) reply.release();
    else outgoing.on('close', reply.release);
  }
  if (isClosed(outgoing)) return;
  if ('stream' in reply) writeStream(outgoing, reply, receiver);
  else if (receiver.incoming.method === 'HEAD') writeHead(outgoing, reply.status, reply.headers).end();
  else await writeBody(outgoing, reply, receiver);
}

/** Whether the client has disconnected. */
export const isClosed = (outgoing: Outgoing): boolean =>
  outgoing.destroyed || ('stream' in outgoing && (outgoing.stream === undefined || outgoing.stream.destroyed));

/** Both response classes have `writeHead`, but TypeScript cannot call it on their union. */
function writeHead(outgoing: Outgoing, status: number, headers: Headers): Outgoing {
  for (const [name, value] of Object.entries(headers)) outgoing.setHeader(name, value);
  outgoing.statusCode = status;
  return outgoing;
}

async function writeBody(outgoing: Outgoing, reply: BodyReply, receiver: Receiver): Promise<void> {
  const { body } = reply;
  if (typeof body === 'string' || Buffer.isBuffer(body)) {
    await writeWhole(outgoing, reply, { ...receiver, body: Buffer.from(body) });
    return;
  }
  const pieces = body[Symbol.iterator]();
  const first = pieces.next();
  const second = first.done === true ? first : pieces.next();
  if (second.done === true) {
    await writeWhole(outgoing, reply, { ...receiver, body: Buffer.from(first.value ?? '') });
    return;
  }
  await send(outgoing, reply, { ...receiver, pieces: chained([first.value ?? '', second.value], pieces) });
}

async function writeWhole(
  outgoing: Outgoing,
  reply: BodyReply,
  { body, ...receiver }: Receiver & { readonly body: Buffer },
): Promise<void> {
  if (body.length > gzipFromBytes && acceptsGzip(receiver.incoming)) {
    await send(outgoing, reply, { ...receiver, pieces: [body].values() });
    return;
  }
  writeHead(outgoing, reply.status, { ...reply.headers, 'Content-Length': String(body.length) }).end(body);
  if (body.length < countFromBytes && !('stream' in outgoing)) return;
  const pending = new PendingReply(reply, () => destroy(outgoing), receiver.stallTimeoutMs);
  pending.begin(body.length);
  outgoing.on('finish', () => pending.close());
  outgoing.on('close', () => pending.close());
}

/** Sends one piece at a time, each after the client has read the one before and the flow has its turn. */
async function send(
  outgoing: Outgoing,
  reply: BodyReply,
  { pieces, incoming, stallTimeoutMs }: Receiver & { readonly pieces: Iterator<string | Buffer, unknown> },
): Promise<void> {
  const target = acceptsGzip(incoming) ? compressed(outgoing, reply) : writeHead(outgoing, reply.status, reply.headers);
  const pending = new PendingReply(reply, () => destroy(outgoing), stallTimeoutMs);
  let onRead = (): void => undefined;
  target.on('drain', () => onRead());
  outgoing.on('close', () => {
    pending.close();
    onRead();
  });
  const turn = reply.pace ?? yieldToEventLoop;
  for (let next = pieces.next(); next.done !== true; next = pieces.next()) {
    const piece = Buffer.from(next.value);
    if (piece.length > 0 && !target.write(piece)) {
      pending.begin(piece.length);
      await new Promise<void>((resolve) => (onRead = resolve));
      pending.end();
    }
    await turn(); // before the next piece is encoded, which is the expensive part
    if (isClosed(outgoing)) return;
  }
  target.end();
  pending.begin(outgoing.writableLength);
}

function* chained(
  head: readonly (string | Buffer)[],
  tail: Iterator<string | Buffer, unknown>,
): Generator<string | Buffer, void> {
  yield* head;
  for (let next = tail.next(); next.done !== true; next = tail.next()) yield next.value;
}

const acceptsGzip = (incoming: Incoming): boolean => /\bgzip\b/.test(String(incoming.headers['accept-encoding'] ?? ''));

function compressed(outgoing: Outgoing, reply: BodyReply): Writable {
  writeHead(outgoing, reply.status, { ...reply.headers, 'Content-Encoding': 'gzip', Vary: 'Accept-Encoding' });
  const gzip = createGzip({ level: constants.Z_BEST_SPEED });
  pipeline(gzip, outgoing, () => undefined); // the client may disconnect early
  return gzip;
}

/** Destroys the HTTP/2 stream or HTTP/1 connection and discards unsent bytes. */
const destroy = (outgoing: Outgoing): void => void ('stream' in outgoing ? outgoing.stream : outgoing).destroy();

function writeStream(
  outgoing: Outgoing,
  reply: StreamReply,
  { stallTimeoutMs, frames, tolerateStalls }: Receiver,
): void {
  // HTTP/2's response has the calls of HTTP/1's; the types of one lack flushHeaders.
  const response = writeHead(outgoing, reply.status, reply.headers) as ServerResponse;
  response.flushHeaders(); // Go's clients wait for them before anything else
  // False for HTTP/1.0, and missing for HTTP/2.
  const isChunked = response.chunkedEncoding === true;
  if (isChunked) response.chunkedEncoding = false; // the frames are in what we write
  if (reply.isPatient === true && !('stream' in outgoing) && outgoing.socket !== null)
    tolerateStalls?.(outgoing.socket);
  const abort = (): void => destroy(outgoing);
  let stalled: NodeJS.Timeout | undefined;
  const clear = (): void => clearTimeout(stalled);
  response.on('drain', clear);
  response.on('close', clear);
  const sink: Sink = {
    write(chunk) {
      // Otherwise Node corks the socket until the next tick and encrypts the writes of all watches at once.
      const socket = 'stream' in outgoing ? undefined : outgoing.socket;
      socket?.cork();
      const isTaken = response.write(isChunked ? frames.of(chunk) : chunk);
      socket?.uncork();
      clear();
      if (!isTaken && reply.isPatient !== true) stalled = setTimeout(abort, stallTimeoutMs);
      return isTaken;
    },
    onDrain: (listener) => void response.on('drain', listener),
    onClose: (listener) => void response.on('close', listener),
    end() {
      if (isChunked) response.end('0\r\n\r\n');
      else response.end();
      if (reply.isPatient === true) return;
      const timer = setTimeout(abort, lingerMs);
      response.on('close', () => clearTimeout(timer));
    },
    abort,
  };
  reply.stream(sink);
}

/** The bytes of one reply that the client has not read. Aborts the reply when the waits add up to `stallTimeoutMs`. */
class PendingReply implements BufferedOutput {
  readonly #account: OutputAccount | undefined;
  readonly #abort: () => void;
  #stallTimeoutMs: number;
  #bytes = 0;
  #since = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor({ openAccount }: BodyReply, abort: () => void, stallTimeoutMs: number) {
    this.#abort = abort;
    this.#stallTimeoutMs = stallTimeoutMs;
    this.#account = openAccount?.(this);
  }

  get pendingBytes(): number {
    return this.#bytes;
  }

  /** Starts to wait until the client has read `bytes`. */
  begin(bytes: number): void {
    this.#bytes = bytes;
    this.#since = performance.now();
    this.#timer = setTimeout(() => this.abort(), Math.max(0, this.#stallTimeoutMs));
    this.#account?.add(bytes);
  }

  end(): void {
    if (this.#timer === undefined) return;
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#stallTimeoutMs -= performance.now() - this.#since;
    this.#account?.subtract(this.#bytes);
    this.#bytes = 0;
  }

  abort(): void {
    this.#abort();
    this.close();
  }

  /** Ends the accounting, because the reply is sent or aborted. */
  close(): void {
    this.end();
    this.#account?.close();
  }
}
