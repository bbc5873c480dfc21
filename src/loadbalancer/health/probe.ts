import { connect } from 'node:net';

export interface ProbeOptions {
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

/** Whether somebody accepts a connection, which is closed at once. Never rejects. */
export function accepts(address: string, port: number, { timeoutMs, signal }: ProbeOptions): Promise<boolean> {
  if (signal.aborted) return Promise.resolve(false);
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const socket = connect({ host: address, port, timeout: timeoutMs });
  // The socket's own option `signal` would leave a listener behind, of every probe, on a signal that outlives them all.
  const abandon = (): void => end(false);
  const end = (isThere: boolean): void => {
    signal.removeEventListener('abort', abandon);
    socket.destroy();
    resolve(isThere);
  };
  signal.addEventListener('abort', abandon);
  socket.once('connect', () => end(true));
  socket.once('timeout', abandon).on('error', abandon);
  return promise;
}
