// Accepts connections and relays them, without the event loop in between: one call of the system for each thing done.
import type { Counters } from '../counters.ts';
import type { UserspaceLimits } from '../options.ts';
import { dialTimeoutMs, dialTimeoutsMs } from '../options.ts';
import type { Target } from '../../routes/route.ts';
import { targetKey } from '../../routes/route.ts';
import type { Call, Switchboard } from '../switchboard.ts';
import { Direction } from './flow.ts';
import type { Pumping } from './flow.ts';
import type { Libc } from './libc.ts';
import { acceptFlags, epoll, errors } from './libc.ts';
import type { Memory } from './memory.ts';
import { allocate, allocateWith } from './memory.ts';
import { Poller } from './poller.ts';
import { encodeSocketAddress, printSocketAddress, socketAddressBytes } from './socket-address.ts';
import { Sockets } from './sockets.ts';

/** A listener of a route. */
export interface Door {
  /** The key of its route. */
  readonly key: string;
  readonly address: string;
}

/** A client that waits for a target to answer. */
interface Dial {
  readonly door: Door;
  readonly call: Call;
  readonly client: number;
  target: Target;
  backend: number;
  deadlineMs: number;
}

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
const mostAddresses = 16_384;
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
  /** Descriptor → what it belongs to. */
  readonly #dials: (Dial | undefined)[] = [];
  readonly #pairs: (Pair | undefined)[] = [];
  /** By the number of failures before, so that each is in the order of its deadlines. */
  readonly #waiting = dialTimeoutsMs.map(() => new Set<Dial>());
  /** Address → its connections. */
  readonly #perAddress = new Map<string, number>();
  /** Target → its socket address. */
  readonly #addresses = new Map<string, Memory>();
  /** Directions that had their turn and have more to do. */
  #unfinished = new Set<Pair>();
  #resting: NodeJS.Timeout | undefined;
  #again: NodeJS.Immediate | undefined;
  #timer: NodeJS.Timeout | undefined;

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

  /** Bytes that were received and could not be sent yet. */
  get heldBytes(): number {
    return this.#shared.held;
  }

  /** Resets every connection. */
  [Symbol.dispose](): void {
    for (const fd of this.#doors.keys()) this.close(fd);
    for (const dial of new Set(this.#dials)) if (dial !== undefined) this.#giveUp(dial);
    for (const pair of new Set(this.#pairs)) if (pair !== undefined) this.#end(pair, true);
    clearTimeout(this.#timer);
    clearTimeout(this.#resting);
    clearImmediate(this.#again);
    this.#poller[Symbol.dispose]();
  }

  #onEvent(fd: number, events: number): void {
    const pair = this.#pairs[fd];
    if (pair !== undefined) return this.#onPair(pair, fd, events);
    const dial = this.#dials[fd];
    if (dial !== undefined) return this.#onDial(dial, events);
    const door = this.#doors.get(fd);
    if (door !== undefined) this.#accept(fd, door);
  }

  #accept(fd: number, door: Door): void {
    const { counters, limits } = this.#options;
    for (let count = 0; count < acceptsAtOnce; count++) {
      this.#peerLength.bytes.writeUInt32LE(socketAddressBytes);
      const client = this.#libc.accept4(fd, this.#peer.address, this.#peerLength.address, acceptFlags);
      if (client === -1) {
        const errno = this.#libc.errno();
        if (errno === errors.tooManyHere || errno === errors.tooManyAnywhere) this.#rest();
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
      const call: Call = { key: door.key, source: printSocketAddress(this.#peer.bytes), failed: new Set() };
      this.#dial(door, call, client);
    }
  }

  /** Tries a target, and others if it cannot be tried at all. */
  #dial(door: Door, call: Call, client: number): void {
    const { switchboard, counters, now } = this.#options;
    for (;;) {
      const connection = switchboard.connect(call);
      if (connection.type !== 'forward') {
        counters.add(call.failed.size === 0 ? 'refused' : 'failed');
        this.#leave(door);
        return this.#reset(client);
      }
      const { target, isLast } = connection;
      const backend = this.#sockets.connect(this.#addressOf(target));
      if (backend !== -1) {
        const failures = call.failed.size;
        const dial = { door, call, client, target, backend, deadlineMs: now() + dialTimeoutMs(failures, isLast) };
        this.#dials[backend] = dial;
        this.#waiting[isLast ? dialTimeoutsMs.length - 1 : failures]?.add(dial);
        this.#watchDeadlines();
        this.#poller.addConnection(backend);
        return;
      }
      counters.add('dialFailures');
      switchboard.failed(call, target);
    }
  }

  #onDial(dial: Dial, events: number): void {
    const { backend } = dial;
    if ((events & (epoll.error | epoll.hangUp)) !== 0 && this.#sockets.hasFailed(backend)) return this.#redial(dial);
    if ((events & (epoll.out | epoll.hangUp)) === 0) return;
    this.#forget(dial);
    const { door, client } = dial;
    const up = new Direction(client, backend, firstChunk);
    const down = new Direction(backend, client, firstChunk);
    const pair: Pair = { door, client, backend, up, down };
    this.#pairs[client] = pair;
    this.#pairs[backend] = pair;
    this.#poller.addConnection(client);
    // Most clients have said something by now.
    up.canRead = true;
    this.#onPair(pair, backend, events);
  }

  #redial(dial: Dial): void {
    const { switchboard, counters } = this.#options;
    this.#forget(dial);
    this.#poller.close(dial.backend);
    counters.add('dialFailures');
    switchboard.failed(dial.call, dial.target);
    this.#dial(dial.door, dial.call, dial.client);
  }

  #giveUp(dial: Dial): void {
    this.#forget(dial);
    this.#poller.close(dial.backend);
    this.#leave(dial.door);
    this.#reset(dial.client);
  }

  #forget(dial: Dial): void {
    this.#dials[dial.backend] = undefined;
    for (const waiting of this.#waiting) if (waiting.delete(dial)) return;
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

  #watchDeadlines(): void {
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      const now = this.#options.now();
      for (const waiting of this.#waiting) {
        for (const dial of waiting) {
          if (dial.deadlineMs > now) break;
          this.#redial(dial);
        }
      }
      this.#poller.flush();
      if (this.#waiting.some(({ size }) => size > 0)) this.#watchDeadlines();
    }, 50);
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

  #addressOf(target: Target): Memory {
    const key = targetKey(target);
    let memory = this.#addresses.get(key);
    if (memory === undefined) {
      if (this.#addresses.size >= mostAddresses) this.#addresses.clear();
      memory = allocateWith(this.#libc, encodeSocketAddress(target.address, target.port));
      this.#addresses.set(key, memory);
    }
    return memory;
  }
}
