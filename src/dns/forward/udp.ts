import { createSocket } from 'node:dgram';

import type { Clock } from '../../client/clock.ts';
import { UpstreamError } from './errors.ts';
import type { Reply } from './query.ts';
import { replyTo } from './query.ts';

/** Where an upstream listens; the address is literal. */
export interface Endpoint {
  readonly address: string;
  readonly port: number;
}

/** So many wrong replies on one socket are somebody guessing; TCP leaves nothing to guess. */
const wrongRepliesToDistrust = 16;

/**
 * How long the reply in the right case is awaited after one in another case, which may be forged. After that the query
 * is repeated over TCP.
 */
const wrongCaseGraceMs = 200;

export interface ExchangeOptions {
  readonly signal: AbortSignal;
  readonly clock: Clock;
  /** The case of the question must come back as it was sent. */
  readonly exactCase: boolean;
  /** Told of every datagram that is no reply to what was sent. */
  readonly onWrongReply?: () => void;
}

/**
 * Sends one datagram from a port of its own and waits for the reply to it. The kernel picks the port by chance, out of
 * those that the machine keeps for this, and passes on only what comes from the upstream. Rejects with `UpstreamError`.
 */
export function exchange(to: Endpoint, sent: Uint8Array, options: ExchangeOptions): Promise<Reply> {
  const { signal, clock, exactCase, onWrongReply } = options;
  return new Promise<Reply>((resolve, reject) => {
    // A lookup of our own: the address is literal, and Node's would take a thread.
    const family = to.address.includes(':') ? 6 : 4;
    const socket = createSocket({
      type: family === 6 ? 'udp6' : 'udp4',
      lookup: (host, _options, callback) => callback(null, host, family),
    });
    let wrong = 0;
    let isOver = false;
    let cancelGrace: (() => void) | undefined;
    const finish = (settle: () => void): void => {
      if (isOver) return;
      isOver = true;
      cancelGrace?.();
      signal.removeEventListener('abort', abort);
      socket.close();
      settle();
    };
    const fail = (error: Error): void =>
      finish(() => reject(new UpstreamError('NETWORK', `${to.address}: ${error.message}`, { cause: error })));
    const abort = (): void => finish(() => reject(new UpstreamError('ABORTED', `${to.address} was not waited for`)));
    if (signal.aborted) return abort();
    signal.addEventListener('abort', abort, { once: true });
    socket.on('error', fail);
    socket.on('message', (bytes) => {
      const reply = replyTo(sent, bytes);
      if (reply !== undefined && (reply.keepsCase || !exactCase)) return finish(() => resolve(reply));
      const distrust = (): void => finish(() => resolve({ truncated: true, keepsCase: reply === undefined }));
      if (reply !== undefined) cancelGrace ??= clock.after(wrongCaseGraceMs, distrust);
      onWrongReply?.();
      wrong += 1;
      if (wrong >= wrongRepliesToDistrust) distrust();
    });
    // Without a callback, so that an address that cannot be reached is an error like any other.
    socket.once('connect', () => {
      if (!isOver) socket.send(sent, (error) => error && fail(error));
    });
    socket.connect(to.port, to.address);
  });
}
