import type { ConnectionOptions, TLSSocket } from 'node:tls';
import { connect } from 'node:tls';

const handshakeMs = 10_000;

/** Opens a TLS connection. Rejects with the reason if there is none in time, or if the signal fires. */
export function dialTls(options: ConnectionOptions, signal: AbortSignal, timeoutMs = handshakeMs): Promise<TLSSocket> {
  const { promise, resolve, reject } = Promise.withResolvers<TLSSocket>();
  const socket = connect({ minVersion: 'TLSv1.3', ...options, timeout: timeoutMs });
  const abort = (): void => void socket.destroy();
  if (signal.aborted) abort();
  signal.addEventListener('abort', abort, { once: true });
  socket.once('secureConnect', () => {
    socket.setTimeout(0);
    socket.setNoDelay(true);
    resolve(socket);
  });
  socket.once('timeout', () => socket.destroy(new Error(`no handshake within ${timeoutMs} ms`)));
  socket.once('error', reject);
  socket.once('close', () => {
    signal.removeEventListener('abort', abort);
    reject(new Error('the peer closed the connection'));
  });
  return promise;
}
