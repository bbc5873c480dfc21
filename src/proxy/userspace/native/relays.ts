// Accepts connections and relays them by direct system calls, without the event loop in between.
import { setImmediate, setTimeout } from '../../../machine/timers.ts';
import type { Counters } from '../counters.ts';
import type { UserspaceLimits } from '../options.ts';
import type { PendingConnection, Balancer } from '../balancer.ts';
import type { Dialed } from './dialer.ts';
import { Dialer } from './dialer.ts';
import { Direction } from './direction.ts';
import type { PumpContext } from './direction.ts';
import type { Libc } from './libc.ts';
import { acceptFlags, epoll, isOutOfDescriptors } from './libc.ts';
import type { Memory } from './memory.ts';
import { allocate } from './memory.ts';
import { Poller } from './poller.ts';
import type { ListenerRoute } from './protocol.ts';
import { printSocketAddress, socketAddressBytes } from './socket-address.ts';
import { Sockets } from './sockets.ts';

/** A connected client and target. */
interface Pair {
  readonly listener: ListenerRoute;
  readonly client: number;
  readonly backend: number;
  readonly up: Direction;
  readonly down: Direction;
}

export interface RelaysOptions {
  readonly libc: Libc;
  readonly balancer: Balancer;
  readonly counters: Counters;
  readonly limits: Pick<UserspaceLimits, 'connections' | 'connectionsPerAddress'>;
  readonly now: () => number;
}

/** What the kernel moves from or to one socket at a time; larger is not faster. */
const bufferBytes = 256 << 10;
const firstChunk = 32 << 10;
/** Connections accepted from one listener before others get their turn. */
const acceptBatch = 64;
/** How long accepting pauses when no descriptor is left. */
const acceptPauseMs = 50;

/** All relays of one thread. */
export class Relays implements Disposable {
  readonly #options: RelaysOptions;
  readonly #libc: Libc;
  readonly #sockets: Sockets;
  readonly #poller: Poller;
  readonly #shared: PumpContext;
  readonly #peer: Memory;
  readonly #peerLength: Memory;
  /** Listening descriptor → its route. */
  readonly #listeners = new Map<number, ListenerRoute>();
  readonly #dialer: Dialer;
  /** Descriptor → the pair it belongs to. */
  readonly #pairs: (Pair | undefined)[] = [];
  /** Address → number of its connections. */
  readonly #perAddress = new Map<string, number>();
  /** Pairs that yielded and can continue. */
  #unfinished = new Set<Pair>();
  #acceptTimer: NodeJS.Timeout | undefined;
  #again: NodeJS.Immediate | undefined;

  constructor(options: RelaysOptions) {
    const { libc } = options;
    this.#options = options;
    this.#libc = libc;
    this.#sockets = new Sockets(libc);
    this.#shared = { libc, buffer: allocate(libc, bufferBytes), held: 0 };
    this.#peer = allocate(libc, socketAddressBytes);
    this.#peerLength = allocate(libc, 4);
    this.#poller = new Poller(libc, {
      onEvent: (fd, events) => this.#onEvent(fd, events),
      onBatch: () => this.#continueLater(),
    });
    this.#dialer = new Dialer({
      ...options,
      sockets: this.#sockets,
      poller: this.#poller,
      onConnected: (dialed, events) => this.#join(dialed, events),
      onRefused: ({ listener, client }) => {
        this.#leave(listener);
        this.#reset(client);
      },
    });
  }

  /** Starts accepting from a listener. */
  open(listener: ListenerRoute, fd: number): void {
    this.#listeners.set(fd, listener);
    if (this.#acceptTimer === undefined) this.#poller.addListener(fd);
  }

  /** Stops accepting. Connections continue. The owner of the descriptor closes it. */
  close(fd: number): void {
    if (this.#listeners.delete(fd) && this.#acceptTimer === undefined) this.#poller.remove(fd);
  }

  /** Resets every connection. */
  [Symbol.dispose](): void {
    for (const fd of this.#listeners.keys()) this.close(fd);
    this.#dialer[Symbol.dispose]();
    for (const pair of new Set(this.#pairs)) if (pair !== undefined) this.#end(pair, true);
    clearTimeout(this.#acceptTimer);
    clearImmediate(this.#again);
    this.#poller[Symbol.dispose]();
  }

  #onEvent(fd: number, events: number): void {
    const pair = this.#pairs[fd];
    if (pair !== undefined) return this.#onPair(pair, fd, events);
    if (this.#dialer.onEvent(fd, events)) return;
    const listener = this.#listeners.get(fd);
    if (listener !== undefined) this.#accept(fd, listener);
  }

  #accept(fd: number, listener: ListenerRoute): void {
    const { counters, limits } = this.#options;
    for (let count = 0; count < acceptBatch; count++) {
      this.#peerLength.bytes.writeUInt32LE(socketAddressBytes);
      const client = this.#libc.accept4(fd, this.#peer.address, this.#peerLength.address, acceptFlags);
      if (client === -1) {
        if (isOutOfDescriptors(this.#libc.errno())) this.#pauseAccepting();
        return;
      }
      counters.add('accepted');
      const own = this.#perAddress.get(listener.address) ?? 0;
      if (counters.get('open') >= limits.connections || own >= limits.connectionsPerAddress) {
        counters.add('limited');
        this.#reset(client);
        continue;
      }
      counters.add('open');
      this.#perAddress.set(listener.address, own + 1);
      const { bytes } = this.#peer;
      const source = printSocketAddress(bytes);
      const pending: PendingConnection = {
        key: listener.key,
        source,
        sourcePort: bytes.readUInt16BE(2),
        failed: new Set(),
      };
      this.#dialer.begin({ listener, pending, client });
    }
  }

  #join({ accepted: { listener, client }, backend, proxyHeader }: Dialed, events: number): void {
    const up = new Direction(client, backend, firstChunk);
    if (proxyHeader !== undefined) up.prepend(this.#shared, proxyHeader);
    const down = new Direction(backend, client, firstChunk);
    const pair: Pair = { listener, client, backend, up, down };
    this.#pairs[client] = pair;
    this.#pairs[backend] = pair;
    this.#poller.addConnection(client);
    // Most clients have sent something by now.
    up.canRead = true;
    this.#onPair(pair, backend, events);
  }

  #onPair(pair: Pair, fd: number, events: number): void {
    const [from, to] = fd === pair.client ? [pair.up, pair.down] : [pair.down, pair.up];
    const isEnding = (events & (epoll.readHangUp | epoll.hangUp | epoll.error)) !== 0;
    if (isEnding) from.isHungUp = true;
    if (isEnding || (events & epoll.in) !== 0) from.canRead = true;
    if (isEnding || (events & epoll.out) !== 0) to.canWrite = true;
    this.#pump(pair);
  }

  #pump(pair: Pair): void {
    const { up, down } = pair;
    const upward = up.pump(this.#shared, down.isOver);
    if (upward === 'broken') return this.#end(pair, true);
    const downward = down.pump(this.#shared, up.isOver);
    if (downward === 'broken') return this.#end(pair, true);
    if (up.isOver && down.isOver) return this.#end(pair, false);
    if (upward === 'more' || downward === 'more') this.#unfinished.add(pair);
  }

  /** Continues yielded pairs after all others had their turn. */
  #continueLater(): void {
    if (this.#unfinished.size === 0 || this.#again !== undefined) return;
    this.#again = setImmediate(() => {
      this.#again = undefined;
      const pairs = this.#unfinished;
      this.#unfinished = new Set();
      for (const pair of pairs) if (this.#pairs[pair.client] === pair) this.#pump(pair);
      this.#poller.flush();
    });
  }

  #end(pair: Pair, isBroken: boolean): void {
    const { client, backend, up, down, listener } = pair;
    const { counters } = this.#options;
    up.release(this.#shared);
    down.release(this.#shared);
    this.#pairs[client] = undefined;
    this.#pairs[backend] = undefined;
    this.#unfinished.delete(pair);
    counters.add('bytesUp', up.bytes);
    counters.add('bytesDown', down.bytes);
    this.#leave(listener);
    for (const fd of [client, backend]) {
      if (isBroken) this.#sockets.resetOnClose(fd);
      this.#poller.close(fd);
    }
  }

  #leave({ address }: ListenerRoute): void {
    this.#options.counters.add('open', -1);
    const left = (this.#perAddress.get(address) ?? 1) - 1;
    if (left === 0) this.#perAddress.delete(address);
    else this.#perAddress.set(address, left);
  }

  #reset(client: number): void {
    this.#sockets.resetOnClose(client);
    this.#poller.close(client);
  }

  /** Pauses accepting because no descriptor is left, instead of polling in a loop. */
  #pauseAccepting(): void {
    if (this.#acceptTimer !== undefined) return;
    for (const fd of this.#listeners.keys()) this.#poller.remove(fd);
    this.#acceptTimer = setTimeout(() => {
      this.#acceptTimer = undefined;
      for (const fd of this.#listeners.keys()) this.#poller.addListener(fd);
    }, acceptPauseMs);
  }
}
