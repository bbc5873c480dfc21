import { connect } from 'node:tls';
import type { TLSSocket } from 'node:tls';

import type { Credentials } from '../harness/server.ts';

/** What came back over a socket before it was closed or fell silent. */
export interface RawAnswer {
  /** Of the first answer; 0: none came. */
  readonly status: number;
  readonly text: string;
  readonly isClosed: boolean;
}

/** Opens a TLS connection that speaks HTTP/1.1, as an administrator unless told otherwise. */
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

/** Sends bytes and collects what comes back, until the server closes or `isDone` says that this is all. */
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

/** One whole answer with a length is here. */
export function isComplete(text: string): boolean {
  const end = text.indexOf('\r\n\r\n');
  const length = /^content-length: (\d+)/im.exec(text)?.[1];
  if (end < 0) return false;
  if (length === undefined) return text.endsWith('0\r\n\r\n');
  return text.length >= end + 4 + Number(length);
}
