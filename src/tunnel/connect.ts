import type { IncomingHttpHeaders, ServerHttp2Stream } from 'node:http2';
import { createServer } from 'node:http2';
import { connect as connectTcp, isIP } from 'node:net';
import type { TLSSocket } from 'node:tls';
import { checkServerIdentity } from 'node:tls';
import type { Logger } from 'pino';

import { messageOf } from '../api/error-message.ts';
import type { Clock } from '../client/clock.ts';
import { backoffMs, sleep } from '../client/clock.ts';
import { dialTls } from '../streams/dial-tls.ts';
import type { HubTls } from './hub.ts';
import type { ProbeTimes } from '../streams/http2-session.ts';
import { defaultProbeTimes, end, join, keepAlive, protocols, sessionSettings } from '../streams/http2-session.ts';

export interface TunnelOptions {
  readonly hub: { readonly host: string; readonly port: number };
  /** The name in the certificate of the hub; default: its host. */
  readonly hubName?: string | undefined;
  /** Read for each session, so that renewed files are used. */
  readonly tls: () => Promise<HubTls>;
  /** The API server to offer. */
  readonly server: { readonly host: string; readonly port: number };
  readonly log: Logger;
  readonly clock: Clock;
  readonly probeTimes?: ProbeTimes;
}

const backoff = { baseMs: 500, maxMs: 30_000 };
const dialMs = 10_000;

/** Keeps a session with the hub until the signal fires, and connects its streams to the API server. */
export async function runTunnel(options: TunnelOptions, signal: AbortSignal): Promise<void> {
  const { hub, log, clock } = options;
  let failures = 0;
  let lastReason = '';
  while (!signal.aborted) {
    let reason: string;
    try {
      const socket = await dial(options, signal);
      log.info({ hub: `${hub.host}:${hub.port}` }, 'connected to the hub');
      [failures, lastReason] = [0, ''];
      reason = await serve(socket, options, signal);
    } catch (error) {
      reason = messageOf(error);
    }
    if (signal.aborted) return;
    if (reason !== lastReason)
      log.warn({ hub: `${hub.host}:${hub.port}`, reason }, 'not connected to the hub, retrying');
    lastReason = reason;
    await sleep(clock, backoffMs(backoff, ++failures, Math.random), signal).catch(() => undefined);
  }
}

async function dial({ hub, hubName, tls }: TunnelOptions, signal: AbortSignal): Promise<TLSSocket> {
  const credentials = await tls();
  const name = hubName ?? hub.host;
  return dialTls(
    {
      ...hub,
      ...credentials,
      ALPNProtocols: protocols,
      // SNI must not be an address (RFC 6066 §3), but the certificate must contain it.
      ...(isIP(name) === 0 ? { servername: name } : {}),
      checkServerIdentity: (_, certificate) => checkServerIdentity(name, certificate),
    },
    signal,
  );
}

/** Serves a session until it ends; resolves with the reason. */
function serve(socket: TLSSocket, options: TunnelOptions, signal: AbortSignal): Promise<string> {
  const { promise, resolve } = Promise.withResolvers<string>();
  const server = createServer({ settings: sessionSettings });
  let reason = 'the hub closed the connection';
  server.on('session', (session) => {
    keepAlive(session, socket, options.probeTimes ?? defaultProbeTimes);
    session.on('error', (error) => (reason = messageOf(error)));
    signal.addEventListener('abort', () => end(session, socket), { once: true });
  });
  server.on('stream', (stream: ServerHttp2Stream, headers: IncomingHttpHeaders) =>
    accept(stream, headers[':method'], options),
  );
  socket.once('error', (error) => (reason = messageOf(error)));
  socket.once('close', () => resolve(reason));
  server.emit('connection', socket);
  return promise;
}

/** Connects a stream to the API server, whatever address the hub names. */
function accept(stream: ServerHttp2Stream, method: string | undefined, { server }: TunnelOptions): void {
  stream.on('error', () => stream.destroy());
  if (method !== 'CONNECT') {
    stream.respond({ ':status': 405 });
    stream.end('only CONNECT is served');
    return;
  }
  const socket = connectTcp({ ...server, timeout: dialMs });
  const refuse = (error: Error): void => {
    socket.destroy();
    if (stream.destroyed || stream.closed || stream.headersSent) return;
    stream.respond({ ':status': 502 });
    stream.end(`its API server ${server.host}:${server.port} cannot be reached: ${messageOf(error)}`);
  };
  socket.once('error', refuse);
  socket.once('timeout', () => refuse(new Error(`no connection within ${dialMs} ms`)));
  stream.once('close', () => socket.destroy());
  socket.once('connect', () => {
    socket.setTimeout(0);
    socket.setNoDelay(true);
    if (stream.destroyed || stream.closed) return;
    stream.respond({ ':status': 200 });
    join(socket, stream);
  });
}
