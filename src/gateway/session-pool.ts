import type { ClientHttp2Session, ClientHttp2Stream, OutgoingHttpHeaders } from 'node:http2';
import { connect } from 'node:http2';
import type { TLSSocket } from 'node:tls';
import type { Logger } from 'pino';

import { messageOf } from '../api/error-message.ts';
import type { GatewayService, Place } from '../api/kinds/multicluster/gateway.ts';
import { printPlace, serverNameOf } from '../api/kinds/multicluster/gateway.ts';
import type { Clock } from '../client/clock.ts';
import { backoffMs } from '../client/clock.ts';
import { dialTls } from '../streams/dial-tls.ts';
import type { ProbeTimes } from '../streams/http2-session.ts';
import { defaultProbeTimes, end, keepAlive, sessionSettings } from '../streams/http2-session.ts';
import type { GatewayTls } from './identity.ts';
import { alpn, onlyCluster } from './identity.ts';

export interface SessionPoolOptions {
  readonly tls: () => GatewayTls;
  readonly clock: Clock;
  readonly log: Logger;
  readonly probeTimes?: ProbeTimes | undefined;
}

/** A service of another cluster, and the gateways that lead to it. */
export interface Target {
  readonly service: GatewayService;
  readonly gateways: readonly Place[];
}

const backoff = { baseMs: 250, maxMs: 10_000 };
const dialMs = 3000;
/** Longer than the remote gateway tries endpoints that do not answer. */
const answerMs = 10_000;
/** A session without streams is closed after this. */
const idleMs = 60_000;
/** Below the number of streams that the peer accepts in one session. */
const streamsPerSession = 900;
const maxSessionsPerGateway = 8;

interface Session {
  readonly session: ClientHttp2Session;
  readonly socket: TLSSocket;
  streams: number;
  usedAt: number;
}

/** The sessions of one service with one gateway. */
interface Peer {
  readonly sessions: Set<Session>;
  connecting: Promise<Session> | undefined;
  failures: number;
  /** Not dialled before, unless no other gateway is left. */
  retryAt: number;
}

/** The gateway answered, and refused the connection. */
class RefusedError extends Error {}

/** The gateway has a session, and does not answer in it. */
class StalledError extends Error {}

/** Pooled sessions with the gateways of other clusters: mutual TLS with the service in the handshake, streams over HTTP/2. */
export class SessionPool implements Disposable {
  readonly #options: SessionPoolOptions;
  /** `server name@address:port` → its sessions. */
  readonly #peers = new Map<string, Peer>();
  /** Cluster → gateway → why it cannot be used. */
  readonly #problems = new Map<string, Map<string, string>>();
  readonly #stop = new AbortController();
  #turn = 0;

  constructor(options: SessionPoolOptions) {
    this.#options = options;
  }

  /** Cluster → why none of its gateways can be used. */
  problems(): ReadonlyMap<string, string> {
    return new Map(
      Array.from(this.#problems, ([cluster, reasons]) => [cluster, [...new Set(reasons.values())].join('; ')]),
    );
  }

  get sessions(): number {
    return [...this.#peers.values()].reduce((sum, { sessions }) => sum + sessions.size, 0);
  }

  /** Opens a stream to a port of a service at a gateway that answers. Rejects with the reason if there is none. */
  async open(target: Target, headers: OutgoingHttpHeaders): Promise<ClientHttp2Stream> {
    const { service } = target;
    let reason: unknown = new Error(`no gateway of cluster ${service.cluster} is known`);
    for (const gateway of this.#inOrder(target)) {
      try {
        return await this.#openAt(service, gateway, {
          ...headers,
          ':method': 'CONNECT',
          ':authority': serverNameOf(service),
        });
      } catch (error) {
        reason = new Error(`gateway ${printPlace(gateway)} of cluster ${service.cluster}: ${messageOf(error)}`, {
          cause: error,
        });
      }
    }
    throw reason;
  }

  /** Uses other certificates for new sessions. Open ones end when their streams have ended. */
  renew(): void {
    for (const { sessions } of this.#peers.values()) {
      for (const { session } of sessions) session.close();
      sessions.clear();
    }
  }

  /** Connects with each gateway of a cluster, so that its state is known before a client needs it; closes idle sessions. */
  async check(targets: readonly Target[]): Promise<void> {
    const now = this.#options.clock.elapsed();
    const known = new Map<string, Set<string>>();
    const dials: Promise<unknown>[] = [];
    for (const { service, gateways } of targets) {
      if (known.has(service.cluster)) continue;
      known.set(service.cluster, new Set(gateways.map(printPlace)));
      for (const gateway of gateways) {
        if (this.#peer(service, gateway).retryAt > now) continue;
        dials.push(
          this.#sessionFor(service, gateway).then(
            (session) => (session.usedAt = now),
            () => undefined, // it is among the problems
          ),
        );
      }
    }
    for (const [cluster, reasons] of this.#problems) {
      for (const place of reasons.keys()) if (known.get(cluster)?.has(place) !== true) reasons.delete(place);
      if (reasons.size === 0) this.#problems.delete(cluster);
    }
    for (const [name, peer] of this.#peers) {
      for (const each of peer.sessions)
        if (each.streams === 0 && now - each.usedAt > idleMs) end(each.session, each.socket);
      if (peer.sessions.size === 0 && peer.connecting === undefined && peer.retryAt < now) this.#peers.delete(name);
    }
    await Promise.all(dials);
  }

  [Symbol.dispose](): void {
    this.#stop.abort();
    for (const { sessions } of this.#peers.values()) for (const each of sessions) end(each.session, each.socket);
  }

  /** In turn; those that failed recently come last. */
  #inOrder({ service, gateways }: Target): readonly Place[] {
    const now = this.#options.clock.elapsed();
    const start = this.#turn++ % Math.max(1, gateways.length);
    const turned = [...gateways.slice(start), ...gateways.slice(0, start)];
    const isWaiting = (gateway: Place): boolean => this.#peer(service, gateway).retryAt > now;
    return [...turned.filter((each) => !isWaiting(each)), ...turned.filter(isWaiting)];
  }

  #peer(service: GatewayService, gateway: Place): Peer {
    const name = `${serverNameOf(service)}@${printPlace(gateway)}`;
    const known = this.#peers.get(name);
    if (known !== undefined) return known;
    const peer: Peer = { sessions: new Set(), connecting: undefined, failures: 0, retryAt: 0 };
    this.#peers.set(name, peer);
    return peer;
  }

  async #sessionFor(service: GatewayService, gateway: Place): Promise<Session> {
    const peer = this.#peer(service, gateway);
    const [least] = [...peer.sessions].toSorted((left, right) => left.streams - right.streams);
    const isFull = least !== undefined && least.streams >= streamsPerSession;
    if (least !== undefined && (!isFull || peer.sessions.size >= maxSessionsPerGateway)) return least;
    peer.connecting ??= this.#connect(peer, service, gateway).finally(() => (peer.connecting = undefined));
    return peer.connecting;
  }

  async #connect(peer: Peer, service: GatewayService, gateway: Place): Promise<Session> {
    const { clock, log, tls, probeTimes = defaultProbeTimes } = this.#options;
    const { cluster } = service;
    const place = printPlace(gateway);
    try {
      const options = {
        ...gateway,
        ...tls(),
        servername: serverNameOf(service),
        ALPNProtocols: [alpn.forward],
        checkServerIdentity: onlyCluster(cluster),
      };
      const socket = await dialTls(options, this.#stop.signal, dialMs);
      const session = connect(`http://${cluster}`, { createConnection: () => socket, settings: sessionSettings });
      const entry: Session = { session, socket, streams: 0, usedAt: clock.elapsed() };
      peer.sessions.add(entry);
      this.#solved(peer, cluster, place);
      let reason = 'it closed the connection';
      session.on('error', (error) => (reason = messageOf(error)));
      // It renews its certificate, or stops: streams end in their own time, and new ones use another session.
      session.on('goaway', () => peer.sessions.delete(entry));
      socket.once('close', () => {
        peer.sessions.delete(entry);
        log.debug({ cluster, gateway: place, reason }, 'session with a gateway ended');
      });
      keepAlive(session, socket, probeTimes);
      return entry;
    } catch (error) {
      this.#failed(peer, cluster, { place, reason: messageOf(error) });
      throw error;
    }
  }

  /** Tries other gateways first for a while, and reports the reason. */
  #failed(peer: Peer, cluster: string, { place, reason }: { readonly place: string; readonly reason: string }): void {
    peer.retryAt = this.#options.clock.elapsed() + backoffMs(backoff, ++peer.failures, Math.random);
    const reasons = this.#problems.get(cluster) ?? new Map<string, string>();
    this.#problems.set(cluster, reasons);
    const text = `gateway ${place}: ${reason}`;
    if (reasons.get(place) !== text && !this.#stop.signal.aborted)
      this.#options.log.warn(
        { cluster, gateway: place, reason },
        'gateway of another cluster cannot be used, retrying',
      );
    reasons.set(place, text);
  }

  #solved(peer: Peer, cluster: string, place: string): void {
    [peer.failures, peer.retryAt] = [0, 0];
    const reasons = this.#problems.get(cluster);
    reasons?.delete(place);
    if (reasons?.size === 0) this.#problems.delete(cluster);
  }

  async #openAt(service: GatewayService, gateway: Place, headers: OutgoingHttpHeaders): Promise<ClientHttp2Stream> {
    const entry = await this.#sessionFor(service, gateway);
    const [peer, place] = [this.#peer(service, gateway), printPlace(gateway)];
    try {
      const stream = await this.#request(entry, headers);
      if (peer.failures > 0) this.#solved(peer, service.cluster, place);
      return stream;
    } catch (error) {
      if (error instanceof StalledError) this.#failed(peer, service.cluster, { place, reason: error.message });
      if (error instanceof RefusedError || !entry.session.closed) throw error;
      // The other end was about to close the session, and has not connected anything.
      return this.#request(await this.#sessionFor(service, gateway), headers);
    }
  }

  #request(entry: Session, headers: OutgoingHttpHeaders): Promise<ClientHttp2Stream> {
    const { promise, resolve, reject } = Promise.withResolvers<ClientHttp2Stream>();
    const stream = entry.session.request(headers, { endStream: false });
    entry.streams++;
    const late = this.#options.clock.after(answerMs, () => {
      reject(new StalledError(`no answer within ${answerMs} ms`));
      stream.destroy();
    });
    stream.once('response', (answer) => {
      late();
      if (answer[':status'] === 200) return resolve(stream);
      stream.setEncoding('utf8').once('data', (why: string) => reject(new RefusedError(why)));
      stream.once('end', () => reject(new RefusedError('it refused the connection')));
    });
    stream.on('error', reject);
    stream.once('close', () => {
      late();
      entry.streams--;
      entry.usedAt = this.#options.clock.elapsed();
      reject(new Error('it closed the stream'));
    });
    return promise;
  }
}
