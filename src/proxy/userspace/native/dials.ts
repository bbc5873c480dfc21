import { systemClock } from '../../../client/clock.ts';
import { setTimeout } from '../../../machine/timers.ts';
import type { Target } from '../../routes/route.ts';
import { targetKey } from '../../routes/route.ts';
import type { Counters } from '../counters.ts';
import { dialTimeoutMs, dialTimeoutsMs } from '../options.ts';
import type { Call, Forward, Switchboard } from '../switchboard.ts';
import type { Libc } from './libc.ts';
import { epoll, isOutOfDescriptors } from './libc.ts';
import type { Memory } from './memory.ts';
import { allocateWith } from './memory.ts';
import type { Poller } from './poller.ts';
import type { Door } from './protocol.ts';
import { encodeSocketAddress } from './socket-address.ts';
import type { Sockets } from './sockets.ts';

/** A client that wants to be connected. */
export interface Caller {
  readonly door: Door;
  readonly call: Call;
  readonly client: number;
}

/** A caller, and the socket of the target it is connected with, which is told something first. */
export interface Callee {
  readonly caller: Caller;
  readonly backend: number;
  readonly preface: Uint8Array | undefined;
}

/** One that has to answer. */
interface Dial extends Callee {
  readonly target: Target;
  readonly deadlineMs: number;
}

export interface DialsOptions {
  readonly libc: Libc;
  readonly sockets: Sockets;
  readonly poller: Poller;
  readonly switchboard: Switchboard;
  readonly counters: Counters;
  readonly now: () => number;
  /** A target has answered. `events` are those of its socket by then. */
  readonly onConnected: (callee: Callee, events: number) => void;
  /** Nobody did, or nobody may be asked. */
  readonly onRefused: (caller: Caller) => void;
}

const mostAddresses = 16_384;
/** How exactly a deadline is kept. */
const tickMs = 50;

/** Finds a target that answers for each caller, one after the other. */
export class Dials implements Disposable {
  readonly #options: DialsOptions;
  /** Descriptor of a target's socket → its dial. */
  readonly #dials: (Dial | undefined)[] = [];
  /** By how long they may take, so that each is in the order of its deadlines. */
  readonly #waiting = dialTimeoutsMs.map(() => new Set<Dial>());
  /** Target → its socket address. */
  readonly #addresses = new Map<string, Memory>();
  #timer: NodeJS.Timeout | undefined;

  constructor(options: DialsOptions) {
    this.#options = options;
  }

  /** Tries a target, and others if it cannot be tried at all. */
  begin(caller: Caller): void {
    const { switchboard, sockets, counters, libc, onRefused } = this.#options;
    const { call } = caller;
    for (;;) {
      const connection = switchboard.connect(call);
      if (connection.type !== 'forward') {
        counters.add(call.failed.size === 0 ? 'refused' : 'failed');
        return onRefused(caller);
      }
      const { target } = connection;
      const backend = sockets.connect(this.#addressOf(target));
      if (backend !== -1) return this.#await(caller, backend, connection);
      // That is nobody's fault but ours.
      if (isOutOfDescriptors(libc.errno())) {
        counters.add('limited');
        return onRefused(caller);
      }
      counters.add('dialFailures');
      switchboard.failed(call, target);
    }
  }

  /** Whether it was an event of a socket that was to connect. */
  onEvent(fd: number, events: number): boolean {
    const dial = this.#dials[fd];
    if (dial === undefined) return false;
    if ((events & (epoll.error | epoll.hangUp)) !== 0 && this.#options.sockets.hasFailed(fd)) this.#redial(dial);
    else if ((events & (epoll.out | epoll.hangUp)) !== 0) {
      this.#forget(dial);
      this.#options.onConnected(dial, events);
    }
    return true;
  }

  /** Refuses everybody who waits. */
  [Symbol.dispose](): void {
    clearTimeout(this.#timer);
    for (const dial of this.#dials) {
      if (dial === undefined) continue;
      this.#end(dial);
      this.#options.onRefused(dial.caller);
    }
  }

  #await(caller: Caller, backend: number, { target, isLast, preface }: Forward): void {
    const failures = caller.call.failed.size;
    const deadlineMs = this.#options.now() + dialTimeoutMs(failures, isLast);
    const dial: Dial = { caller, backend, preface, target, deadlineMs };
    this.#dials[backend] = dial;
    this.#waiting[isLast ? dialTimeoutsMs.length - 1 : failures]?.add(dial);
    this.#watchDeadlines();
    this.#options.poller.addConnection(backend);
  }

  #redial(dial: Dial): void {
    const { switchboard, counters } = this.#options;
    this.#end(dial);
    counters.add('dialFailures');
    switchboard.failed(dial.caller.call, dial.target);
    this.begin(dial.caller);
  }

  #end(dial: Dial): void {
    this.#forget(dial);
    this.#options.poller.close(dial.backend);
  }

  #forget(dial: Dial): void {
    this.#dials[dial.backend] = undefined;
    for (const waiting of this.#waiting) if (waiting.delete(dial)) return;
  }

  #watchDeadlines(): void {
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      const now = this.#options.now();
      const resumedAt = systemClock.resumedAt();
      for (const [index, waiting] of this.#waiting.entries()) {
        // What targets answered while this process was paused has not been read yet.
        const firstDeadlineMs = resumedAt + (dialTimeoutsMs[index] ?? 0);
        for (const dial of waiting) {
          if (Math.max(dial.deadlineMs, firstDeadlineMs) > now) break;
          this.#redial(dial);
        }
      }
      this.#options.poller.flush();
      if (this.#waiting.some(({ size }) => size > 0)) this.#watchDeadlines();
    }, tickMs);
  }

  #addressOf(target: Target): Memory {
    const key = targetKey(target);
    let memory = this.#addresses.get(key);
    if (memory === undefined) {
      if (this.#addresses.size >= mostAddresses) this.#addresses.clear();
      memory = allocateWith(this.#options.libc, encodeSocketAddress(target.address, target.port));
      this.#addresses.set(key, memory);
    }
    return memory;
  }
}
