import { createSocket } from 'node:dgram';

import type { Clock } from '../../client/clock.ts';
import { UpstreamError } from './errors.ts';
import type { Reply } from './query.ts';
import { replyTo } from './query.ts';

/** The address of an upstream: an IP address and a port. */
export interface Endpoint {
  readonly address: string;
  readonly port: number;
}

/** After this many wrong replies the query is repeated over TCP, since someone may be guessing. */
const maxWrongReplies = 16;

/**
 * How long to wait for a reply in the right case after one in the wrong case, which may be forged. After that the query is
 * repeated over TCP.
 */
const wrongCaseGraceMs = 200;

export interface ExchangeOptions {
  readonly signal: AbortSignal;
  readonly clock: Clock;
  /** Whether replies must have the name in the case of the query. */
  readonly exactCase: boolean;
  /** Called for every datagram that is not the reply. */
  readonly onWrongReply?: () => void;
}

/**
 * Sends a query from a port of its own and waits for the reply. The kernel picks a random ephemeral port and passes on only
 * datagrams of the upstream. Rejects with `UpstreamError`.
 */
export function exchange(to: Endpoint, sent: Uint8Array, options: ExchangeOptions): Promise<Reply> {
  const { signal, clock, exactCase, onWrongReply } = options;
  return new Promise<Reply>((resolve, reject) => {
    // The address is literal; Node's lookup would use a thread.
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
    const abort = (): void => finish(() => reject(new UpstreamError('ABORTED', `${to.address}: query cancelled`)));
    if (signal.aborted) return abort();
    signal.addEventListener('abort', abort, { once: true });
    socket.on('error', fail);
    socket.on('message', (bytes) => {
      const reply = replyTo(sent, bytes);
      if (reply !== undefined && (reply.keepsCase || !exactCase)) return finish(() => resolve(reply));
      const retryOverTcp = (): void => finish(() => resolve({ truncated: true, keepsCase: reply === undefined }));
      if (reply !== undefined) cancelGrace ??= clock.after(wrongCaseGraceMs, retryOverTcp);
      onWrongReply?.();
      wrong += 1;
      if (wrong >= maxWrongReplies) retryOverTcp();
    });
    // Without a callback, an unreachable address emits `error` like any other failure.
    socket.once('connect', () => {
      if (!isOver) socket.send(sent, (error) => error && fail(error));
    });
    socket.connect(to.port, to.address);
  });
}
