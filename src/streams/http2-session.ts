// What both ends of a session agree on: limits, and how a dead peer is detected.

import type { Http2Session } from 'node:http2';
import type { Duplex } from 'node:stream';
import { pipeline } from 'node:stream';

import { setInterval, setTimeout } from '../machine/timers.ts';

/** Unread bytes of a connection, and of all connections of a session, that the receiving end buffers. */
const connectionWindow = 256 << 10;
const sessionWindow = 16 << 20;
/** Watches of a controller hold a connection each. */
const maxConnections = 1000;

export const sessionSettings = {
  enablePush: false,
  initialWindowSize: connectionWindow,
  maxConcurrentStreams: maxConnections,
} as const;

/** The protocol of a session in the TLS handshake. */
export const protocols = ['h2'];

/** How often the peer is probed, and how long it may take to answer. */
export interface ProbeTimes {
  readonly everyMs: number;
  readonly timeoutMs: number;
}

export const defaultProbeTimes: ProbeTimes = { everyMs: 10_000, timeoutMs: 15_000 };

/** Widens the window of a session, and closes the session if its peer does not answer a ping in time. */
export function keepAlive(session: Http2Session, socket: Duplex, { everyMs, timeoutMs }: ProbeTimes): void {
  session.setLocalWindowSize(sessionWindow);
  const timer = setInterval(() => {
    const fail = (): void => end(session, socket, new Error(`no answer to a ping within ${timeoutMs} ms`));
    const late = setTimeout(fail, timeoutMs);
    const isSent = session.destroyed || session.ping(() => clearTimeout(late));
    if (!isSent) clearTimeout(late);
  }, everyMs);
  socket.once('close', () => clearInterval(timer));
}

/** Ends a session at once. Without the socket it would wait for the peer to read what is still to be sent. */
export function end(session: Http2Session, socket: Duplex, error?: Error): void {
  session.destroy(error);
  socket.destroy();
}

/** Copies both directions until both end; an error of one side ends the other. */
export function join(left: Duplex, right: Duplex): void {
  pipeline(left, right, left, (error) => {
    if (error === undefined || error === null) return;
    left.destroy();
    right.destroy();
  });
}
