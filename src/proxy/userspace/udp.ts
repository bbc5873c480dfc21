// Datagrams: one socket for each virtual address and port, one for each flow to a target.
import type { RemoteInfo, Socket } from 'node:dgram';
import { createSocket } from 'node:dgram';

import { canonicalAddress } from '../../api/addresses.ts';
import { systemClock } from '../../client/clock.ts';
import { setInterval } from '../../machine/timers.ts';
import type { Target } from '../routes/route.ts';
import { targetKey } from '../routes/route.ts';
import type { ListenRequest, Listener } from './engine.ts';
import type { UserspaceLimits } from './options.ts';
import { isOutOfDescriptors } from './problem.ts';
import type { PendingConnection, BalancerChange } from './balancer.ts';
import { Balancer } from './balancer.ts';

/** A client socket at a listener, and the target of its datagrams. */
interface Flow {
  readonly name: string;
  readonly key: string;
  readonly target: Target;
  readonly pending: PendingConnection;
  readonly socket: Socket;
  /** Datagrams that arrived before the socket was connected; undefined: it is connected. */
  waiting: Buffer[] | undefined;
  usedMs: number;
}

export interface UdpOptions {
  readonly limits: Pick<UserspaceLimits, 'udpFlows' | 'udpIdleMs' | 'affinityEntries'>;
  readonly random?: () => number;
  readonly now?: () => number;
  /** When the last pause of this process ended, on the same clock. */
  readonly resumedAt?: () => number;
  /** Called at most once a minute while no descriptor is left for further flows. */
  readonly onExhausted?: () => void;
}

/** The send queue of one socket; datagrams beyond are dropped, as by any full queue of a network. */
const maxQueuedBytes = 1 << 20;
/** Datagrams that wait for a socket to be connected, which takes a turn of the event loop. */
const maxWaiting = 16;
const reportIntervalMs = 60_000;

/** Relays UDP: one socket for each listener, one connected socket for each flow. */
export class UdpRelays implements AsyncDisposable {
  readonly #limits: UdpOptions['limits'];
  readonly #now: () => number;
  readonly #resumedAt: () => number;
  readonly #onExhausted: () => void;
  readonly #balancer: Balancer;
  readonly #listeners = new Set<Socket>();
  /** ListenerRoute and client → flow, the one idle longest first. */
  readonly #flows = new Map<string, Flow>();
  /** ListenerRoute → how many flows it has. */
  readonly #perListener = new Map<string, number>();
  readonly #sweeper: NodeJS.Timeout;
  #reportedMs = -Infinity;
  /** Datagrams that were dropped: rejected, or beyond a queue. */
  lost = 0;
  /** Datagrams that were dropped because no descriptor was left for their flow. */
  limited = 0;
  datagrams = 0;

  constructor(options: UdpOptions) {
    const { limits, random = Math.random, now = () => performance.now(), onExhausted = () => {} } = options;
    this.#resumedAt = options.resumedAt ?? (() => systemClock.resumedAt());
    this.#limits = limits;
    this.#now = now;
    this.#onExhausted = onExhausted;
    this.#balancer = new Balancer({ random, now, maxAffinityEntries: limits.affinityEntries, maxAttempts: 4 });
    this.#sweeper = setInterval(() => this.#sweep(), Math.max(50, Math.min(1000, limits.udpIdleMs / 4)));
    this.#sweeper.unref();
  }

  get flows(): number {
    return this.#flows.size;
  }

  /** New flows follow the change. Flows to targets that no longer serve end, so that their next datagram goes to another target. */
  change(change: BalancerChange): void {
    this.#balancer.change(change);
    for (const flow of this.#flows.values()) {
      if (this.#balancer.route(flow.key)?.serving?.has(targetKey(flow.target)) !== true) this.#cut(flow);
    }
  }

  async open({ key, address, port }: Pick<ListenRequest, 'key' | 'address' | 'port'>): Promise<Listener> {
    const listener = createSocket({ type: address.includes(':') ? 'udp6' : 'udp4', ipv6Only: address.includes(':') });
    listener.on('message', (message, from) => this.#receive(listener, key, message, from));
    await new Promise<void>((resolve, reject) => {
      listener.once('error', reject);
      listener.bind({ address, port, exclusive: true }, () => {
        listener.off('error', reject);
        listener.on('error', () => this.lost++);
        resolve();
      });
    }).catch((error: unknown) => {
      listener.close();
      throw error;
    });
    this.#listeners.add(listener);
    return { close: () => this.#closeListener(listener, key) };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    clearInterval(this.#sweeper);
    for (const flow of this.#flows.values()) this.#cut(flow);
    await Promise.all(Array.from(this.#listeners, (listener) => closed(listener)));
    this.#listeners.clear();
  }

  async #closeListener(listener: Socket, key: string): Promise<void> {
    this.#listeners.delete(listener);
    for (const flow of this.#flows.values()) if (flow.key === key) this.#cut(flow);
    await closed(listener);
  }

  #receive(listener: Socket, key: string, message: Buffer, from: RemoteInfo): void {
    this.datagrams++;
    const name = `${key} ${from.address} ${from.port}`;
    const flow = this.#flows.get(name) ?? this.#begin(listener, { name, key, from });
    if (flow === undefined || flow.socket.getSendQueueSize() > maxQueuedBytes) {
      this.lost++;
      return;
    }
    this.#use(flow);
    if (flow.waiting === undefined) this.#send(flow, message);
    else if (flow.waiting.length < maxWaiting) flow.waiting.push(message);
    else this.lost++;
  }

  #send(flow: Flow, message: Buffer): void {
    flow.socket.send(message, (error) => {
      if (error !== null) this.#failed(flow);
    });
  }

  #begin(
    listener: Socket,
    { name, key, from }: { readonly name: string; readonly key: string; readonly from: RemoteInfo },
  ): Flow | undefined {
    const source = canonicalAddress(from.address) ?? '';
    const pending: PendingConnection = { key, source, sourcePort: from.port, failed: new Set() };
    const decision = this.#balancer.choose(pending);
    if (decision.type !== 'forward') return undefined;
    this.#makeRoom(key);
    const { target } = decision;
    const socket = createSocket(target.address.includes(':') ? 'udp6' : 'udp4');
    const flow: Flow = { name, key, target, pending, socket, waiting: [], usedMs: this.#now() };
    socket.on('error', (error) => (isOutOfDescriptors(error) ? this.#exhausted(flow) : this.#failed(flow)));
    // A connected socket receives from the target only, and ICMP errors of it. A missing route is an 'error' event; a callback of
    // `connect` would be called as if it had connected.
    socket.once('connect', () => {
      const { waiting = [] } = flow;
      flow.waiting = undefined;
      if (this.#flows.get(name) === flow) for (const message of waiting) this.#send(flow, message);
    });
    socket.connect(target.port, target.address);
    socket.on('message', (message) => {
      if (!this.#listeners.has(listener) || listener.getSendQueueSize() > maxQueuedBytes) {
        this.lost++;
        return;
      }
      this.#use(flow);
      listener.send(message, from.port, from.address, (error) => {
        if (error !== null) this.lost++;
      });
    });
    this.#flows.set(name, flow);
    this.#perListener.set(key, (this.#perListener.get(key) ?? 0) + 1);
    return flow;
  }

  /** At the limit, ends the least recently used flow; a listener with half of all flows loses one of its own. */
  #makeRoom(key: string): void {
    const { udpFlows } = this.#limits;
    if (this.#flows.size < udpFlows) return;
    const isGreedy = (this.#perListener.get(key) ?? 0) >= udpFlows / 2;
    for (const flow of this.#flows.values()) if (!isGreedy || flow.key === key) return this.#cut(flow);
  }

  #use(flow: Flow): void {
    flow.usedMs = this.#now();
    this.#flows.delete(flow.name);
    this.#flows.set(flow.name, flow);
  }

  #failed(flow: Flow): void {
    if (this.#flows.get(flow.name) !== flow) return;
    this.#balancer.failed(flow.pending, flow.target);
    this.#cut(flow);
  }

  /** No descriptor: not a failure of the target. The client's next datagram tries again. */
  #exhausted(flow: Flow): void {
    this.limited += flow.waiting?.length ?? 0;
    flow.waiting = undefined;
    this.#cut(flow);
    if (this.#now() - this.#reportedMs < reportIntervalMs) return;
    this.#reportedMs = this.#now();
    this.#onExhausted();
  }

  #cut(flow: Flow): void {
    if (this.#flows.get(flow.name) !== flow) return;
    this.lost += flow.waiting?.length ?? 0;
    this.#flows.delete(flow.name);
    const left = (this.#perListener.get(flow.key) ?? 1) - 1;
    if (left === 0) this.#perListener.delete(flow.key);
    else this.#perListener.set(flow.key, left);
    flow.socket.close();
  }

  #sweep(): void {
    const oldest = this.#now() - this.#limits.udpIdleMs;
    // After a pause of this process, datagrams of clients may still be unread.
    if (this.#resumedAt() > oldest) return;
    for (const flow of this.#flows.values()) {
      if (flow.usedMs > oldest) return;
      this.#cut(flow);
    }
  }
}

const closed = (socket: Socket): Promise<void> => new Promise((resolve) => socket.close(() => resolve()));
