import type { IncomingHttpHeaders, ServerHttp2Stream } from 'node:http2';
import { createServer } from 'node:http2';
import type { Duplex } from 'node:stream';
import type { TLSSocket } from 'node:tls';
import type { Logger } from 'pino';

import { messageOf } from '../api/error-message.ts';
import type { Clock } from '../client/clock.ts';
import { backoffMs, sleep } from '../client/clock.ts';
import { dialTls } from '../streams/dial-tls.ts';
import type { ProbeTimes } from '../streams/http2-session.ts';
import { defaultProbeTimes, end, keepAlive, sessionSettings } from '../streams/http2-session.ts';
import type { GatewayTls } from './identity.ts';
import { alpn, clusterOf } from './identity.ts';

export interface ReverseOptions {
  /** A gateway of another cluster; a name or an address. */
  readonly relay: { readonly host: string; readonly port: number };
  readonly tls: () => GatewayTls;
  /** Accepts a connection for this cluster. */
  readonly accept: (connection: Duplex) => void;
  readonly log: Logger;
  readonly clock: Clock;
  readonly probeTimes?: ProbeTimes | undefined;
}

const backoff = { baseMs: 500, maxMs: 15_000 };

/** Keeps a session with a gateway that others can dial, and accepts the connections that it relays. */
export class ReverseSession {
  readonly #options: ReverseOptions;
  /** Why there is no session; undefined: there is one. */
  problem: string | undefined = 'not connected yet';

  constructor(options: ReverseOptions) {
    this.#options = options;
  }

  async run(signal: AbortSignal): Promise<void> {
    const { relay, log, clock } = this.#options;
    const place = `${relay.host}:${relay.port}`;
    let failures = 0;
    let last = '';
    while (!signal.aborted) {
      let reason: string;
      try {
        const socket = await this.#dial(signal);
        log.info({ gateway: place }, 'connected to a gateway, for connections from other clusters');
        [failures, last, this.problem] = [0, '', undefined];
        reason = await this.#serve(socket, signal);
      } catch (error) {
        reason = messageOf(error);
      }
      if (signal.aborted) return;
      this.problem = `not connected to gateway ${place}: ${reason}`;
      if (reason !== last) log.warn({ gateway: place, reason }, 'not connected to a gateway, retrying');
      last = reason;
      await sleep(clock, backoffMs(backoff, ++failures, Math.random), signal).catch(() => undefined);
    }
  }

  #dial(signal: AbortSignal): Promise<TLSSocket> {
    const { relay, tls } = this.#options;
    return dialTls(
      {
        ...relay,
        ...tls(),
        servername: '',
        ALPNProtocols: [alpn.reverse],
        // Any cluster of the set may relay connections: TLS inside them ends at the gateway of the other cluster.
        checkServerIdentity: (_, certificate) =>
          clusterOf(certificate) === undefined ? new Error('its certificate is of no cluster') : undefined,
      },
      signal,
    );
  }

  #serve(socket: TLSSocket, signal: AbortSignal): Promise<string> {
    const { accept, probeTimes = defaultProbeTimes } = this.#options;
    const { promise, resolve } = Promise.withResolvers<string>();
    const server = createServer({ settings: sessionSettings });
    let reason = 'it closed the connection';
    server.on('session', (session) => {
      keepAlive(session, socket, probeTimes);
      session.on('error', (error) => (reason = messageOf(error)));
      const stop = (): void => end(session, socket);
      signal.addEventListener('abort', stop, { once: true });
      socket.once('close', () => signal.removeEventListener('abort', stop));
    });
    server.on('stream', (stream: ServerHttp2Stream, headers: IncomingHttpHeaders) => {
      stream.on('error', () => stream.destroy());
      if (headers[':method'] !== 'CONNECT') {
        stream.respond({ ':status': 405 }, { endStream: true });
        return;
      }
      stream.respond({ ':status': 200 });
      accept(stream);
    });
    socket.on('error', (error) => (reason = messageOf(error)));
    socket.once('close', () => resolve(reason));
    server.emit('connection', socket);
    return promise;
  }
}
