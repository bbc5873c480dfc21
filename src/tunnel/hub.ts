import type { ClientHttp2Session, ClientHttp2Stream } from 'node:http2';
import { connect } from 'node:http2';
import type { Server, TLSSocket } from 'node:tls';
import { createServer } from 'node:tls';
import type { Logger } from 'pino';

import { clusterIdErrors } from '../api/kinds/multicluster/cluster-id.ts';
import { messageOf } from '../api/error-message.ts';
import type { ProbeTimes } from '../streams/http2-session.ts';
import { defaultProbeTimes, end, keepAlive, protocols, sessionSettings } from '../streams/http2-session.ts';

/** Certificate, key and the authority of the clusters, PEM. */
export interface HubTls {
  readonly cert: string;
  readonly key: string;
  readonly ca: string;
}

export interface HubOptions {
  readonly tls: HubTls;
  /** The clusters that may connect; undefined: all with a certificate of the authority. */
  readonly clusters?: readonly string[] | undefined;
  readonly log: Logger;
  readonly probeTimes?: ProbeTimes;
}

/** Replicas of the tunnel of one cluster, and connections that have not shown a certificate yet. */
const maxSessions = 4;
const maxHandshakes = 256;
const handshakeMs = 10_000;

interface Session {
  readonly session: ClientHttp2Session;
  readonly socket: TLSSocket;
}

/** Accepts the sessions of clusters, and opens connections to their API servers through them. */
export class Hub implements AsyncDisposable {
  readonly #options: HubOptions;
  readonly #server: Server;
  /** Cluster → its sessions, the newest last. */
  readonly #sessions = new Map<string, readonly Session[]>();

  constructor(options: HubOptions) {
    this.#options = options;
    this.#server = createServer(
      {
        ...options.tls,
        requestCert: true,
        rejectUnauthorized: true,
        minVersion: 'TLSv1.3',
        ALPNProtocols: protocols,
        handshakeTimeout: handshakeMs,
      },
      (socket) => this.#accept(socket),
    );
    this.#server.maxConnections = maxHandshakes + maxSessions * 1000;
    this.#server.on('tlsClientError', (error, socket) => {
      options.log.warn({ address: socket.remoteAddress, reason: error.message }, 'rejected a connection');
    });
  }

  /** Listens for clusters; resolves with the port. */
  listen(host: string, port: number): Promise<number> {
    const { promise, resolve, reject } = Promise.withResolvers<number>();
    this.#server.once('error', reject);
    this.#server.listen(port, host, () => {
      const address = this.#server.address();
      resolve(typeof address === 'object' && address !== null ? address.port : port);
    });
    return promise;
  }

  /** Uses other certificates for new sessions; open ones continue. */
  renew(tls: HubTls): void {
    this.#server.setSecureContext(tls);
  }

  /** The connected clusters. */
  get clusters(): readonly string[] {
    return [...this.#sessions.keys()].toSorted();
  }

  /** Opens a connection to the API server of a cluster. Rejects with the reason if there is none. */
  async open(cluster: string): Promise<ClientHttp2Stream> {
    const newest = this.#sessions.get(cluster)?.at(-1);
    if (newest === undefined) throw new Error(`cluster "${cluster}" is not connected to this hub`);
    const stream = newest.session.request({ ':method': 'CONNECT', ':authority': cluster }, { endStream: false });
    const { promise, resolve, reject } = Promise.withResolvers<ClientHttp2Stream>();
    stream.once('response', (headers) => {
      if (headers[':status'] === 200) return resolve(stream);
      stream.setEncoding('utf8').once('data', (why: string) => reject(new Error(`cluster "${cluster}": ${why}`)));
      stream.once('end', () => reject(new Error(`cluster "${cluster}" refused the connection`)));
    });
    stream.once('error', (error) => reject(new Error(`cluster "${cluster}": ${messageOf(error)}`, { cause: error })));
    stream.once('close', () => reject(new Error(`cluster "${cluster}" closed the connection`)));
    return promise;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const closed = new Promise((resolve) => this.#server.close(resolve));
    for (const sessions of this.#sessions.values()) for (const { session, socket } of sessions) end(session, socket);
    await closed;
  }

  #accept(socket: TLSSocket): void {
    const { log, clusters, probeTimes = defaultProbeTimes } = this.#options;
    socket.on('error', () => socket.destroy());
    const { CN: name } = socket.getPeerCertificate().subject ?? {};
    const cluster = typeof name === 'string' ? name : '';
    const [invalid] = clusterIdErrors(cluster);
    const reason =
      invalid ?? (clusters === undefined || clusters.includes(cluster) ? undefined : 'it is not one of --clusters');
    if (reason !== undefined) {
      log.warn({ cluster, address: socket.remoteAddress, reason }, 'rejected a cluster');
      socket.destroy();
      return;
    }
    // The hub is the HTTP/2 client of the connection that it accepted: it opens streams, and serves none.
    const session = connect(`http://${cluster}`, { createConnection: () => socket, settings: sessionSettings });
    const sessions = this.#sessions.get(cluster) ?? [];
    this.#sessions.set(cluster, [...sessions, { session, socket }]);
    let why = 'it closed the connection';
    session.on('error', (error) => (why = messageOf(error)));
    socket.once('close', () => {
      const left = (this.#sessions.get(cluster) ?? []).filter((each) => each.socket !== socket);
      if (left.length === 0) this.#sessions.delete(cluster);
      else this.#sessions.set(cluster, left);
      log.warn({ cluster, reason: why, sessions: left.length }, 'cluster disconnected');
    });
    keepAlive(session, socket, probeTimes);
    log.info({ cluster, address: socket.remoteAddress, sessions: sessions.length + 1 }, 'cluster connected');
    const oldest = sessions[sessions.length - maxSessions];
    if (oldest !== undefined) end(oldest.session, oldest.socket, new Error('newer sessions replaced it'));
  }
}
