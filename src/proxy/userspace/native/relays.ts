// Accepts connections and relays them, without the event loop in between: one call of the system for each thing done.
import { setImmediate, setTimeout } from '../../../machine/timers.ts';
import type { Counters } from '../counters.ts';
import type { UserspaceLimits } from '../options.ts';
import type { Call, Switchboard } from '../switchboard.ts';
import type { Callee } from './dials.ts';
import { Dials } from './dials.ts';
import { Direction } from './flow.ts';
import type { Pumping } from './flow.ts';
import type { Libc } from './libc.ts';
import { acceptFlags, epoll, isOutOfDescriptors } from './libc.ts';
import type { Memory } from './memory.ts';
import { allocate } from './memory.ts';
import { Poller } from './poller.ts';
import type { Door } from './protocol.ts';
import { printSocketAddress, socketAddressBytes } from './socket-address.ts';
import { Sockets } from './sockets.ts';

/** A client and a target that are connected. */
interface Pair {
  readonly door: Door;
  readonly client: number;
  readonly backend: number;
  readonly up: Direction;
  readonly down: Direction;
}

export interface RelaysOptions {
  readonly libc: Libc;
  readonly switchboard: Switchboard;
  readonly counters: Counters;
  readonly limits: Pick<UserspaceLimits, 'connections' | 'connectionsPerAddress'>;
  readonly now: () => number;
}

/** As much as the kernel takes from and gives to one socket at a time; larger is not faster. */
const bufferBytes = 256 << 10;
const firstChunk = 32 << 10;
/** Connections that one listener may bring before others have their turn. */
const acceptsAtOnce = 64;
/** How long accepting rests when there are no descriptors left. */
const restMs = 50;

/** All relays of one thread. */
export class Relays implements Disposable {
  readonly #options: RelaysOptions;
  readonly #libc: Libc;
  readonly #sockets: Sockets;
  readonly #poller: Poller;
  readonly #shared: Pumping;
  readonly #peer: Memory;
  readonly #peerLength: Memory;
  /** Listening descriptor → its door. */
  readonly #doors = new Map<number, Door>();
  readonly #dials: Dials;
  /** Descriptor → the pair it belongs to. */
  readonly #pairs: (Pair | undefined)[] = [];
  /** Address → its connections. */
  readonly #perAddress = new Map<string, number>();
  /** Directions that had their turn and have more to do. */
  #unfinished = new Set<Pair>();
  #resting: NodeJS.Timeout | undefined;
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
    this.#dials = new Dials({
      ...options,
      sockets: this.#sockets,
      poller: this.#poller,
      onConnected: (callee, events) => this.#join(callee, events),
      onRefused: ({ door, client }) => {
        this.#leave(door);
        this.#reset(client);
      },
    });
  }

  /** Accepts from a listener. */
  open(door: Door, fd: number): void {
    this.#doors.set(fd, door);
    if (this.#resting === undefined) this.#poller.addListener(fd);
  }

  /** Accepts no more from a listener. Connections go on. The descriptor is left to whoever opened it. */
  close(fd: number): void {
    if (this.#doors.delete(fd) && this.#resting === undefined) this.#poller.remove(fd);
  }

  /** Resets every connection. */
  [Symbol.dispose](): void {
    for (const fd of this.#doors.keys()) this.close(fd);
    this.#dials[Symbol.dispose]();
    for (const pair of new Set(this.#pairs)) if (pair !== undefined) this.#end(pair, true);
    clearTimeout(this.#resting);
    clearImmediate(this.#again);
    this.#poller[Symbol.dispose]();
  }

  #onEvent(fd: number, events: number): void {
    const pair = this.#pairs[fd];
    if (pair !== undefined) return this.#onPair(pair, fd, events);
    if (this.#dials.onEvent(fd, events)) return;
    const door = this.#doors.get(fd);
    if (door !== undefined) this.#accept(fd, door);
  }

  #accept(fd: number, door: Door): void {
    const { counters, limits } = this.#options;
    for (let count = 0; count < acceptsAtOnce; count++) {
      this.#peerLength.bytes.writeUInt32LE(socketAddressBytes);
      const client = this.#libc.accept4(fd, this.#peer.address, this.#peerLength.address, acceptFlags);
      if (client === -1) {
        if (isOutOfDescriptors(this.#libc.errno())) this.#rest();
        return;
      }
      counters.add('accepted');
      const own = this.#perAddress.get(door.address) ?? 0;
      if (counters.get('open') >= limits.connections || own >= limits.connectionsPerAddress) {
        counters.add('limited');
        this.#reset(client);
        continue;
      }
      counters.add('open');
      this.#perAddress.set(door.address, own + 1);
      const { bytes } = this.#peer;
      const source = printSocketAddress(bytes);
      const call: Call = { key: door.key, source, sourcePort: bytes.readUInt16BE(2), failed: new Set() };
      this.#dials.begin({ door, call, client });
    }
  }

  #join({ caller: { door, client }, backend, preface }: Callee, events: number): void {
    const up = new Direction(client, backend, firstChunk);
    if (preface !== undefined) up.precede(this.#shared, preface);
    const down = new Direction(backend, client, firstChunk);
    const pair: Pair = { door, client, backend, up, down };
    this.#pairs[client] = pair;
    this.#pairs[backend] = pair;
    this.#poller.addConnection(client);
    // Most clients have said something by now.
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

  /** Those who had their turn go on after everybody else had one. */
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
    const { client, backend, up, down, door } = pair;
    const { counters } = this.#options;
    up.release(this.#shared);
    down.release(this.#shared);
    this.#pairs[client] = undefined;
    this.#pairs[backend] = undefined;
    this.#unfinished.delete(pair);
    counters.add('bytesUp', up.bytes);
    counters.add('bytesDown', down.bytes);
    this.#leave(door);
    for (const fd of [client, backend]) {
      if (isBroken) this.#sockets.resetOnClose(fd);
      this.#poller.close(fd);
    }
  }

  #leave({ address }: Door): void {
    this.#options.counters.add('open', -1);
    const left = (this.#perAddress.get(address) ?? 1) - 1;
    if (left === 0) this.#perAddress.delete(address);
    else this.#perAddress.set(address, left);
  }

  #reset(client: number): void {
    this.#sockets.resetOnClose(client);
    this.#poller.close(client);
  }

  /** Accepts nothing for a moment: there are no descriptors left, and asking again at once would change nothing. */
  #rest(): void {
    if (this.#resting !== undefined) return;
    for (const fd of this.#doors.keys()) this.#poller.remove(fd);
    this.#resting = setTimeout(() => {
      this.#resting = undefined;
      for (const fd of this.#doors.keys()) this.#poller.addListener(fd);
    }, restMs);
  }
}
