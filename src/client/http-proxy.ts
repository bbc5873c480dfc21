import type { Socket } from 'node:net';
import { connect } from 'node:net';

import { joinHostPort } from '../api/addresses.ts';
import { setTimeout } from '../machine/timers.ts';
import { ConnectionLostError } from './errors.ts';

interface Place {
  readonly host: string;
  readonly port: number;
}

/** The head of the response of a proxy, and what is kept of its reason. */
const maxHeadBytes = 16 << 10;
const maxReasonLength = 256;

/** Opens a connection to a place through an HTTP proxy, with CONNECT. Rejects with the reason of the proxy. */
export function connectThrough(proxy: URL, { host, port }: Place, timeoutMs: number): Promise<Socket> {
  const { promise, resolve, reject } = Promise.withResolvers<Socket>();
  const target = joinHostPort(host, port);
  const socket = connect({ host: proxy.hostname.replace(/^\[|\]$/g, ''), port: Number(proxy.port || 80) });
  const late = setTimeout(
    () => fail(new Error(`the proxy ${proxy.host} did not answer within ${timeoutMs} ms`)),
    timeoutMs,
  );
  let received = Buffer.alloc(0);
  const finish = (): void => {
    clearTimeout(late);
    socket.off('data', read).off('error', fail).off('close', closed);
  };
  const fail = (error: Error): void => {
    finish();
    socket.on('error', () => undefined).destroy();
    reject(error);
  };
  const closed = (): void => fail(new ConnectionLostError(`the proxy ${proxy.host} closed the connection`));
  const read = (bytes: Buffer): void => {
    received = Buffer.concat([received, bytes]);
    const end = received.indexOf('\r\n\r\n');
    if (end < 0) {
      if (received.length > maxHeadBytes) fail(new Error(`the proxy ${proxy.host} sent no response to CONNECT`));
      return;
    }
    const head = received.subarray(0, end).toString('latin1');
    const rest = received.subarray(end + 4);
    const status = /^HTTP\/1\.[01] (\d{3})/.exec(head)?.[1];
    if (status === '200') {
      finish();
      socket.pause();
      if (rest.length > 0) socket.unshift(rest);
      resolve(socket);
      return;
    }
    const why = rest.toString().trim().slice(0, maxReasonLength) || (head.split('\r\n', 1)[0] ?? '');
    fail(new Error(`the proxy ${proxy.host} does not connect to ${target}: ${why}`));
  };
  socket.on('data', read).on('error', fail).on('close', closed);
  const { username, password } = proxy;
  const credentials = Buffer.from(`${decodeURIComponent(username)}:${decodeURIComponent(password)}`).toString('base64');
  const authorization = username === '' ? '' : `Proxy-Authorization: Basic ${credentials}\r\n`;
  socket.write(`CONNECT ${target} HTTP/1.1\r\nHost: ${target}\r\n${authorization}\r\n`);
  return promise;
}
