import type { ServerResponse } from 'node:http';
import { createGzip, constants } from 'node:zlib';
import { pipeline, Readable } from 'node:stream';

import { setImmediate, setTimeout } from '../../machine/timers.ts';
import type { BodyReply, Headers, Reply, Sink, StreamReply } from '../reply.ts';
import type { Incoming, Outgoing } from './messages.ts';

/** Bodies past this size are compressed for clients that can take it. */
const gzipFromBytes = 128 * 1024;
/** How much of a long list is handed to the socket at once. */
const pieceLength = 256 * 1024;
/** How long a client may take to read the end of a watch. */
const lingerMs = 10_000;
/** How long a client may take to read a piece of a list. */
const pieceMs = 60_000;

/** Sends a reply over either protocol. Never throws: a client that has gone is not an error. */
export function writeReply(outgoing: Outgoing, reply: Reply, incoming: Incoming): void {
  outgoing.on('error', () => undefined); // reset by the client
  if ('release' in reply && reply.release !== undefined) {
    if (isClosed(outgoing)) reply.release();
    else outgoing.on('close', reply.release);
  }
  if (isClosed(outgoing)) return;
  if ('stream' in reply) writeStream(outgoing, reply);
  else if (incoming.method === 'HEAD') writeHead(outgoing, reply.status, reply.headers).end();
  else writeBody(outgoing, reply, incoming);
}

/** Whether the client has gone. */
export const isClosed = (outgoing: Outgoing): boolean =>
  outgoing.destroyed || ('stream' in outgoing && (outgoing.stream === undefined || outgoing.stream.destroyed));

/** Both classes have this call; their common type lacks a signature TypeScript can call. */
function writeHead(outgoing: Outgoing, status: number, headers: Headers): Outgoing {
  for (const [name, value] of Object.entries(headers)) outgoing.setHeader(name, value);
  outgoing.statusCode = status;
  return outgoing;
}

function writeBody(outgoing: Outgoing, reply: BodyReply, incoming: Incoming): void {
  const { body } = reply;
  if (typeof body !== 'string' && !Buffer.isBuffer(body)) {
    writePieces(outgoing, reply, body, incoming);
    return;
  }
  const buffer = typeof body === 'string' ? Buffer.from(body) : body;
  if (buffer.length > gzipFromBytes && acceptsGzip(incoming)) {
    compress(outgoing, reply, Readable.from([buffer]));
    return;
  }
  writeHead(outgoing, reply.status, { ...reply.headers, 'Content-Length': String(buffer.length) }).end(buffer);
}

function writePieces(outgoing: Outgoing, reply: BodyReply, body: Iterable<string>, incoming: Incoming): void {
  const pieces = grouped(body);
  const first = pieces.next();
  if (first.done === true) {
    writeHead(outgoing, reply.status, reply.headers).end();
    return;
  }
  const second = pieces.next();
  if (second.done === true) {
    writeBody(outgoing, { ...reply, body: first.value }, incoming);
    return;
  }
  const timer = setTimeout(() => cutOff(outgoing), pieceMs);
  outgoing.on('close', () => clearTimeout(timer));
  const pace = (): Promise<void> => {
    timer.refresh();
    return (reply.pace ?? nextTurn)();
  };
  const readable = Readable.from(chained([first.value, second.value], pieces, pace), {
    objectMode: true,
    highWaterMark: 2,
  });
  if (acceptsGzip(incoming)) {
    compress(outgoing, reply, readable);
    return;
  }
  writeHead(outgoing, reply.status, reply.headers);
  pipeline(readable, outgoing, () => undefined); // an early end is the client's choice
}

/** Joins small strings to pieces worth a write of their own. */
function* grouped(strings: Iterable<string>): Generator<Buffer, void> {
  let group: string[] = [];
  let length = 0;
  for (const text of strings) {
    group.push(text);
    length += text.length;
    if (length < pieceLength) continue;
    yield Buffer.from(group.join(''));
    group = [];
    length = 0;
  }
  if (length > 0) yield Buffer.from(group.join(''));
}

/** Other requests get their turn between two pieces. */
async function* chained(
  head: readonly Buffer[],
  tail: Iterator<Buffer, void>,
  pace: () => Promise<void>,
): AsyncGenerator<Buffer, void> {
  yield* head;
  for (;;) {
    await pace(); // before the piece is made, which is the work
    const { done, value } = tail.next();
    if (done === true) return;
    yield value;
  }
}

const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

const acceptsGzip = (incoming: Incoming): boolean => /\bgzip\b/.test(String(incoming.headers['accept-encoding'] ?? ''));

function compress(outgoing: Outgoing, reply: BodyReply, readable: Readable): void {
  writeHead(outgoing, reply.status, { ...reply.headers, 'Content-Encoding': 'gzip', Vary: 'Accept-Encoding' });
  const gzip = createGzip({ level: constants.Z_BEST_SPEED });
  pipeline(readable, gzip, outgoing, () => undefined); // an early end is the client's choice
}

/** Drops the stream, or the connection of HTTP/1, with all that is unsent. */
const cutOff = (outgoing: Outgoing): void => void ('stream' in outgoing ? outgoing.stream : outgoing).destroy();

function writeStream(outgoing: Outgoing, reply: StreamReply): void {
  // HTTP/2's response has the calls of HTTP/1's; the types of one lack flushHeaders.
  const response = writeHead(outgoing, reply.status, reply.headers) as ServerResponse;
  response.flushHeaders(); // Go's clients wait for them before anything else
  const cut = (): void => cutOff(outgoing);
  const sink: Sink = {
    write(chunk) {
      // Node would cork the socket until the next tick, and encrypt what all watches send in one go.
      const socket = 'stream' in outgoing ? undefined : outgoing.socket;
      socket?.cork();
      const isTaken = response.write(chunk);
      socket?.uncork();
      return isTaken;
    },
    onDrain: (listener) => void response.on('drain', listener),
    onClose: (listener) => void response.on('close', listener),
    end() {
      response.end();
      const timer = setTimeout(cut, lingerMs);
      response.on('close', () => clearTimeout(timer));
    },
    cut,
  };
  reply.stream(sink);
}
