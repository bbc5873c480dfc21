import type { ClientHttp2Session } from 'node:http2';
import { connect } from 'node:http2';
import type { Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import type { Logger } from 'pino';

import { messageOf } from '../api/error-message.ts';
import type { ProbeTimes } from '../streams/http2-session.ts';
import { defaultProbeTimes, end, join, keepAlive, sessionSettings } from '../streams/http2-session.ts';

export interface RelaysOptions {
  readonly log: Logger;
  readonly probeTimes?: ProbeTimes | undefined;
}

/** Replicas of the gateway of one cluster. */
const maxSessions = 8;

interface Session {
  readonly session: ClientHttp2Session;
  readonly socket: TLSSocket;
}

/**
 * The gateways that opened a session to this one because they cannot be dialled. Connections for their clusters are relayed
 * unchanged: TLS is between the two ends, and this gateway sees neither their certificates nor the content.
 */
export class Relays implements Disposable {
  readonly #options: RelaysOptions;
  /** Cluster → its sessions, the newest last. */
  readonly #sessions = new Map<string, readonly Session[]>();
  #turn = 0;

  constructor(options: RelaysOptions) {
    this.#options = options;
  }

  /** Adds the session of a gateway. */
  add(cluster: string, socket: TLSSocket): void {
    const { log, probeTimes = defaultProbeTimes } = this.#options;
    // This end opens streams although it accepted the connection.
    const session = connect(`http://${cluster}`, { createConnection: () => socket, settings: sessionSettings });
    const before = this.#sessions.get(cluster) ?? [];
    this.#sessions.set(cluster, [...before, { session, socket }]);
    let reason = 'it closed the connection';
    session.on('error', (error) => (reason = messageOf(error)));
    socket.once('close', () => {
      const left = (this.#sessions.get(cluster) ?? []).filter((each) => each.socket !== socket);
      if (left.length === 0) this.#sessions.delete(cluster);
      else this.#sessions.set(cluster, left);
      log.warn({ cluster, reason, sessions: left.length }, 'gateway disconnected');
    });
    keepAlive(session, socket, probeTimes);
    log.info({ cluster, sessions: before.length + 1 }, 'gateway connected');
    const oldest = before[before.length - maxSessions];
    if (oldest !== undefined) end(oldest.session, oldest.socket, new Error('newer sessions replaced it'));
  }

  /** Relays a connection to the gateway of a cluster, to its replicas in turn. */
  pass(cluster: string, connection: Socket): void {
    const sessions = (this.#sessions.get(cluster) ?? []).filter(({ session }) => !session.closed && !session.destroyed);
    const next = sessions[this.#turn++ % Math.max(1, sessions.length)];
    if (next === undefined) {
      const reason = `no gateway of cluster "${cluster}" is connected to this one`;
      this.#options.log.warn({ cluster, address: connection.remoteAddress, reason }, 'rejected a connection');
      connection.destroy();
      return;
    }
    const stream = next.session.request({ ':method': 'CONNECT', ':authority': cluster }, { endStream: false });
    const fail = (): void => void connection.destroy();
    stream.once('response', ({ ':status': status }) => {
      if (status !== 200) {
        stream.destroy();
        return;
      }
      stream.off('close', fail); // bytes for a slow reader may still wait in the connection
      join(connection, stream);
    });
    stream.on('error', fail);
    stream.once('close', fail);
    connection.once('close', () => stream.destroy());
  }

  [Symbol.dispose](): void {
    for (const sessions of this.#sessions.values()) for (const { session, socket } of sessions) end(session, socket);
  }
}
