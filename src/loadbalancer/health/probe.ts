// One probe of a backend, and the state that several results lead to.
import { connect } from 'node:net';

import { afterPendingReads, systemClock } from '../../client/clock.ts';
import type { HealthSettings } from './settings.ts';

/** The state of a backend. */
export interface BackendHealth {
  readonly isUp: boolean;
  /** How many probes in a row had the other result. */
  readonly contrary: number;
}

/** The state after one more probe: several in a row are needed to change it. */
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
 * Whether the address accepts a connection, which is closed at once. Where this process has no descriptor for it, that is
 * nothing against the target: it counts as there. Never rejects.
 */
export function canConnect(address: string, port: number, { timeoutMs, signal }: ProbeOptions): Promise<boolean> {
  if (signal.aborted) return Promise.resolve(false);
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const socket = connect({ host: address, port });
  // The socket's own option `signal` would leave a listener behind, of every probe, on a signal that outlives them all.
  const abandon = (): void => end(false);
  const end = (isThere: boolean): void => {
    cancel();
    signal.removeEventListener('abort', abandon);
    socket.destroy();
    resolve(isThere);
  };
  // What came while this process was held up counts.
  const cancel = afterPendingReads(systemClock, timeoutMs, abandon);
  signal.addEventListener('abort', abandon);
  socket.once('connect', () => end(true));
  socket.on('error', (error) => end('code' in error && error.code === 'EMFILE'));
  return promise;
}
