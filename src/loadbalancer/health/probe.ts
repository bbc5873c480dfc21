// A TCP probe, and the health of a backend after several results.
import { connect } from 'node:net';

import { afterPendingReads, systemClock } from '../../client/clock.ts';
import type { HealthSettings } from './settings.ts';

export interface BackendHealth {
  readonly isUp: boolean;
  /** Consecutive probes with the opposite result. */
  readonly contrary: number;
}

/** The health after another probe; `rise` or `fall` consecutive results change it. */
export function nextHealth(before: BackendHealth, isAnswered: boolean, { rise, fall }: HealthSettings): BackendHealth {
  if (isAnswered === before.isUp) return { isUp: before.isUp, contrary: 0 };
  const contrary = before.contrary + 1;
  return contrary >= (before.isUp ? fall : rise) ? { isUp: isAnswered, contrary: 0 } : { isUp: before.isUp, contrary };
}

export interface ProbeOptions {
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

/**
 * Whether a TCP connection can be opened; it is closed at once. If this process has no file descriptor left, the target
 * counts as healthy. Never rejects.
 */
export function canConnect(address: string, port: number, { timeoutMs, signal }: ProbeOptions): Promise<boolean> {
  if (signal.aborted) return Promise.resolve(false);
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const socket = connect({ host: address, port });
  // The `signal` option of sockets would leak a listener per probe on this long-lived signal.
  const abandon = (): void => end(false);
  const end = (isThere: boolean): void => {
    cancel();
    signal.removeEventListener('abort', abandon);
    socket.destroy();
    resolve(isThere);
  };
  // A blocked event loop must not cause a timeout.
  const cancel = afterPendingReads(systemClock, timeoutMs, abandon);
  signal.addEventListener('abort', abandon);
  socket.once('connect', () => end(true));
  socket.on('error', (error) => end('code' in error && error.code === 'EMFILE'));
  return promise;
}
