import { systemClock } from '../../../client/clock.ts';
import { setTimeout } from '../../../machine/timers.ts';
import type { Target } from '../../routes/route.ts';
import { targetKey } from '../../routes/route.ts';
import type { Counters } from '../counters.ts';
import { dialTimeoutMs, dialTimeoutsMs } from '../options.ts';
import type { PendingConnection, Forward, Balancer } from '../balancer.ts';
import type { Libc } from './libc.ts';
import { epoll, isOutOfDescriptors } from './libc.ts';
import type { Memory } from './memory.ts';
import { allocateWith } from './memory.ts';
import type { Poller } from './poller.ts';
import type { ListenerRoute } from './protocol.ts';
import { encodeSocketAddress } from './socket-address.ts';
import type { Sockets } from './sockets.ts';

/** A client that was accepted and has no target yet. */
export interface AcceptedClient {
  readonly listener: ListenerRoute;
  readonly pending: PendingConnection;
  readonly client: number;
}

/** A client and the socket of its target. */
export interface Dialed {
  readonly accepted: AcceptedClient;
  readonly backend: number;
  readonly proxyHeader: Uint8Array | undefined;
}

/** A dial in progress. */
interface Dial extends Dialed {
  readonly target: Target;
  readonly deadlineMs: number;
}

export interface DialerOptions {
  readonly libc: Libc;
  readonly sockets: Sockets;
  readonly poller: Poller;
  readonly balancer: Balancer;
  readonly counters: Counters;
  readonly now: () => number;
  /** A target has answered; `events` are the epoll events of its socket. */
  readonly onConnected: (dialed: Dialed, events: number) => void;
  /** No target answered, or none may be dialed. */
  readonly onRefused: (accepted: AcceptedClient) => void;
}

const maxAddresses = 16_384;
/** The resolution of deadlines. */
const tickMs = 50;

/** Connects each accepted client with the first target that answers, one after the other. */
export class Dialer implements Disposable {
  readonly #options: DialerOptions;
  /** Descriptor of a target's socket → its dial. */
  readonly #dials: (Dial | undefined)[] = [];
  /** Dials by timeout, so that each set is in the order of deadlines. */
  readonly #waiting = dialTimeoutsMs.map(() => new Set<Dial>());
  /** Target → its socket address. */
  readonly #addresses = new Map<string, Memory>();
  #timer: NodeJS.Timeout | undefined;

  constructor(options: DialerOptions) {
    this.#options = options;
  }

  /** Dials a target, or the next one if that fails at once. */
  begin(accepted: AcceptedClient): void {
    const { balancer, sockets, counters, libc, onRefused } = this.#options;
    const { pending } = accepted;
    for (;;) {
      const decision = balancer.choose(pending);
      if (decision.type !== 'forward') {
        counters.add(pending.failed.size === 0 ? 'refused' : 'failed');
        return onRefused(accepted);
      }
      const { target } = decision;
      const backend = sockets.connect(this.#addressOf(target));
      if (backend !== -1) return this.#await(accepted, backend, decision);
      // Not a failure of the target.
      if (isOutOfDescriptors(libc.errno())) {
        counters.add('limited');
        return onRefused(accepted);
      }
      counters.add('dialFailures');
      balancer.failed(pending, target);
    }
  }

  /** Handles an event of a dial; false: the socket is not being dialed. */
  onEvent(fd: number, events: number): boolean {
    const dial = this.#dials[fd];
    if (dial === undefined) return false;
    if ((events & (epoll.error | epoll.hangUp)) !== 0 && this.#options.sockets.hasFailed(fd)) this.#redial(dial);
    else if ((events & (epoll.out | epoll.hangUp)) !== 0) {
      this.#remove(dial);
      this.#options.onConnected(dial, events);
    }
    return true;
  }

  /** Rejects all waiting clients. */
  [Symbol.dispose](): void {
    clearTimeout(this.#timer);
    for (const dial of this.#dials) {
      if (dial === undefined) continue;
      this.#end(dial);
      this.#options.onRefused(dial.accepted);
    }
  }

  #await(accepted: AcceptedClient, backend: number, { target, isLast, proxyHeader }: Forward): void {
    const failures = accepted.pending.failed.size;
    const deadlineMs = this.#options.now() + dialTimeoutMs(failures, isLast);
    const dial: Dial = { accepted, backend, proxyHeader, target, deadlineMs };
    this.#dials[backend] = dial;
    this.#waiting[isLast ? dialTimeoutsMs.length - 1 : failures]?.add(dial);
    this.#watchDeadlines();
    this.#options.poller.addConnection(backend);
  }

  #redial(dial: Dial): void {
    const { balancer, counters } = this.#options;
    this.#end(dial);
    counters.add('dialFailures');
    balancer.failed(dial.accepted.pending, dial.target);
    this.begin(dial.accepted);
  }

  #end(dial: Dial): void {
    this.#remove(dial);
    this.#options.poller.close(dial.backend);
  }

  #remove(dial: Dial): void {
    this.#dials[dial.backend] = undefined;
    for (const waiting of this.#waiting) if (waiting.delete(dial)) return;
  }

  #watchDeadlines(): void {
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      const now = this.#options.now();
      const resumedAt = systemClock.resumedAt();
      for (const [index, waiting] of this.#waiting.entries()) {
        // After a pause of this process, answers of targets may still be unread.
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
      if (this.#addresses.size >= maxAddresses) this.#addresses.clear();
      memory = allocateWith(this.#options.libc, encodeSocketAddress(target.address, target.port));
      this.#addresses.set(key, memory);
    }
    return memory;
  }
}
