import { connect } from 'node:net';

export interface ProbeOptions {
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

/** Whether somebody accepts a connection, which is closed at once. Never rejects. */
export function accepts(address: string, port: number, { timeoutMs, signal }: ProbeOptions): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const socket = connect({ host: address, port, timeout: timeoutMs, signal });
  const end = (isThere: boolean) => (): void => {
    socket.destroy();
    resolve(isThere);
  };
  socket.once('connect', end(true)).once('timeout', end(false)).on('error', end(false));
  return promise;
}
