import { connect } from 'node:tls';
import type { TLSSocket } from 'node:tls';

import type { Credentials } from '../harness/server.ts';

/** The bytes received on a socket before it was closed or became idle. */
export interface RawAnswer {
  /** The status of the first response; 0: there was none. */
  readonly status: number;
  readonly text: string;
  readonly isClosed: boolean;
}

/** Opens a TLS connection for HTTP/1.1, as administrator by default. */
export function openSocket(port: number, credentials: Partial<Credentials>): Promise<TLSSocket> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host: '127.0.0.1', port, ...credentials, ALPNProtocols: ['http/1.1'] }, () => {
      socket.off('error', reject);
      socket.on('error', () => undefined); // a reset is an answer too
      resolve(socket);
    });
    socket.on('error', reject);
  });
}

/** Sends bytes and collects the response until the server closes the connection or `isDone` returns true. */
export async function exchange(
  socket: TLSSocket,
  bytes: string | Buffer,
  isDone: (text: string) => boolean = isComplete,
): Promise<RawAnswer> {
  const answer = await new Promise<RawAnswer>((resolve, reject) => {
    let text = '';
    const finish = (isClosed: boolean): void => {
      clearTimeout(timer);
      resolve({ status: Number(/^HTTP\/1\.1 (\d{3})/.exec(text)?.[1] ?? 0), text, isClosed });
    };
    const timer = setTimeout(() => reject(new Error(`no answer, and not closed, after: ${text}`)), 60_000);
    socket.on('data', (chunk: Buffer) => {
      text += chunk.toString('latin1');
      if (isDone(text)) finish(false);
    });
    socket.on('close', () => finish(true));
    socket.write(bytes);
  });
  socket.destroy();
  return answer;
}

/** Whether the text contains a complete response with a Content-Length. */
export function isComplete(text: string): boolean {
  const end = text.indexOf('\r\n\r\n');
  const length = /^content-length: (\d+)/im.exec(text)?.[1];
  if (end < 0) return false;
  if (length === undefined) return text.endsWith('0\r\n\r\n');
  return text.length >= end + 4 + Number(length);
}
