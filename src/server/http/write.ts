import type { ServerResponse } from 'node:http';
import { createGzip, constants } from 'node:zlib';
import type { Writable } from 'node:stream';
import { pipeline } from 'node:stream';

import { nextTurn, setTimeout } from '../../machine/timers.ts';
import type { BodyReply, Headers, Reply, Sink, StreamReply } from '../reply.ts';
import { Backlog } from './backlog.ts';
import type { Incoming, Outgoing } from './messages.ts';

/** Bodies past this size are compressed for clients that can take it. */
const gzipFromBytes = 128 * 1024;
/** Bodies past this size are counted until an HTTP/1.1 client takes them. It waits for one answer at a time. */
const countFromBytes = 16 * 1024;
/** How long a client may take to read the end of a watch. */
const lingerMs = 10_000;

/** The client of a reply. */
export interface Receiver {
  readonly incoming: Incoming;
  /** How long the server waits in all for the client to read an answer, or for a watch to read what was sent last. */
  readonly patienceMs: number;
}

/**
 * Sends a reply over either protocol; a client that has gone is not an error. Resolves when the body is made, and
 * rejects only if it could not be made.
 */
export async function writeReply(outgoing: Outgoing, reply: Reply, receiver: Receiver): Promise<void> {
  outgoing.on('error', () => undefined); // reset by the client
  if ('release' in reply && reply.release !== undefined) {
    if (isClosed(outgoing)) reply.release();
    else outgoing.on('close', reply.release);
  }
  if (isClosed(outgoing)) return;
  if ('stream' in reply) writeStream(outgoing, reply, receiver.patienceMs);
  else if (receiver.incoming.method === 'HEAD') writeHead(outgoing, reply.status, reply.headers).end();
  else await writeBody(outgoing, reply, receiver);
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
  const backlog = new Backlog(reply, () => cutOff(outgoing), receiver.patienceMs);
  backlog.begin(body.length);
  outgoing.on('finish', () => backlog.close());
  outgoing.on('close', () => backlog.close());
}

/** Sends piece by piece, each when the client has taken the one before and it is this client's turn. */
async function send(
  outgoing: Outgoing,
  reply: BodyReply,
  { pieces, incoming, patienceMs }: Receiver & { readonly pieces: Iterator<string | Buffer, unknown> },
): Promise<void> {
  const target = acceptsGzip(incoming) ? compressed(outgoing, reply) : writeHead(outgoing, reply.status, reply.headers);
  const backlog = new Backlog(reply, () => cutOff(outgoing), patienceMs);
  let onTaken = (): void => undefined;
  target.on('drain', () => onTaken());
  outgoing.on('close', () => {
    backlog.close();
    onTaken();
  });
  const turn = reply.pace ?? nextTurn;
  for (let next = pieces.next(); next.done !== true; next = pieces.next()) {
    const piece = Buffer.from(next.value);
    if (!target.write(piece)) {
      backlog.begin(piece.length);
      await new Promise<void>((resolve) => (onTaken = resolve));
      backlog.end();
    }
    await turn(); // before the next piece is made, which is the work
    if (isClosed(outgoing)) return;
  }
  target.end();
  backlog.begin(outgoing.writableLength);
}

function* chained(head: readonly string[], tail: Iterator<string, unknown>): Generator<string, void> {
  yield* head;
  for (let next = tail.next(); next.done !== true; next = tail.next()) yield next.value;
}

const acceptsGzip = (incoming: Incoming): boolean => /\bgzip\b/.test(String(incoming.headers['accept-encoding'] ?? ''));

function compressed(outgoing: Outgoing, reply: BodyReply): Writable {
  writeHead(outgoing, reply.status, { ...reply.headers, 'Content-Encoding': 'gzip', Vary: 'Accept-Encoding' });
  const gzip = createGzip({ level: constants.Z_BEST_SPEED });
  pipeline(gzip, outgoing, () => undefined); // an early end is the client's choice
  return gzip;
}

/** Drops the stream, or the connection of HTTP/1, with all that is unsent. */
const cutOff = (outgoing: Outgoing): void => void ('stream' in outgoing ? outgoing.stream : outgoing).destroy();

function writeStream(outgoing: Outgoing, reply: StreamReply, patienceMs: number): void {
  // HTTP/2's response has the calls of HTTP/1's; the types of one lack flushHeaders.
  const response = writeHead(outgoing, reply.status, reply.headers) as ServerResponse;
  response.flushHeaders(); // Go's clients wait for them before anything else
  const cut = (): void => cutOff(outgoing);
  let stalled: NodeJS.Timeout | undefined;
  const clear = (): void => clearTimeout(stalled);
  response.on('drain', clear);
  response.on('close', clear);
  const sink: Sink = {
    write(chunk) {
      // Node would cork the socket until the next tick, and encrypt what all watches send in one go.
      const socket = 'stream' in outgoing ? undefined : outgoing.socket;
      socket?.cork();
      const isTaken = response.write(chunk);
      socket?.uncork();
      clear();
      if (!isTaken) stalled = setTimeout(cut, patienceMs);
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
