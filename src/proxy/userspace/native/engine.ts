import { setTimeout } from '../../../machine/timers.ts';
import type { Route } from '../../routes/route.ts';
import { routeKey } from '../../routes/route.ts';
import type { Counters } from '../counters.ts';
import type { ListenRequest, Engine, Listener } from '../engine.ts';
import type { UserspaceLimits } from '../options.ts';
import type { BalancerChange } from '../balancer.ts';
import type { Libc } from './libc.ts';
import { Sockets } from './sockets.ts';
import { RelayThread } from './thread.ts';

export interface NativeEngineOptions {
  readonly libc: Libc;
  readonly limits: UserspaceLimits;
  readonly threads: number;
  readonly drainMs: number;
  /** A thread has failed, which ends its connections. Another replaces it. */
  readonly onExit: (error: Error) => void;
}

/** The delay before a failed thread is replaced. */
const restartDelayMs = 200;

/**
 * Relays in threads beside the event loop. Listeners are opened here once and shared by all threads, which have the
 * descriptors of the process; the kernel wakes one thread for each connection.
 */
export class NativeEngine implements Engine {
  readonly #options: NativeEngineOptions;
  readonly #sockets: Sockets;
  readonly #threads: RelayThread[] = [];
  /** The state that a new thread receives. */
  readonly #routes = new Map<string, Route>();
  readonly #listeners = new Map<number, ListenRequest>();
  #network: BalancerChange['network'] | undefined;
  readonly #restarts = new Set<NodeJS.Timeout>();

  constructor(options: NativeEngineOptions) {
    this.#options = options;
    this.#sockets = new Sockets(options.libc);
    for (let index = 0; index < options.threads; index++) this.#start(index);
  }

  get counters(): readonly Counters[] {
    return this.#threads.map(({ counters }) => counters);
  }

  async change(change: BalancerChange): Promise<void> {
    if (change.isAll) this.#routes.clear();
    for (const route of change.removed) this.#routes.delete(routeKey(route));
    for (const route of change.added) this.#routes.set(routeKey(route), route);
    this.#network = change.network;
    await Promise.all(this.#threads.map((thread) => thread.send({ kind: 'change', change })));
  }

  async open(request: ListenRequest): Promise<Listener> {
    const { address, port, allowedSources } = request;
    const fd = this.#sockets.listen(address, port, allowedSources);
    this.#listeners.set(fd, request);
    await Promise.all(this.#threadsOf(request).map((thread) => sendOpen(thread, fd, request)));
    return {
      setAllowedSources: (sources) => this.#sockets.setAllowedSources(fd, address, sources),
      close: () => this.#close(fd, request),
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const timer of this.#restarts) clearTimeout(timer);
    await Promise.all(Array.from(this.#listeners, ([fd, request]) => this.#close(fd, request)));
    await Promise.all(this.#threads.map((thread) => thread.stop(this.#options.drainMs)));
  }

  async #close(fd: number, request: ListenRequest): Promise<void> {
    if (!this.#listeners.delete(fd)) return;
    // Threads stop accepting first: the number of a closed descriptor can be reused by another socket.
    await Promise.allSettled(this.#threadsOf(request).map((thread) => thread.send({ kind: 'close', fd })));
    this.#options.libc.close(fd);
  }

  /** The affinity table of a route must be in one thread. */
  #threadsOf({ isSticky }: ListenRequest): readonly RelayThread[] {
    return isSticky ? this.#threads.slice(0, 1) : this.#threads;
  }

  #start(index: number): void {
    const { threads, limits, onExit } = this.#options;
    const share = (number: number): number => Math.ceil(number / threads);
    const own = {
      ...limits,
      connections: share(limits.connections),
      connectionsPerAddress: share(limits.connectionsPerAddress),
    };
    this.#threads[index] = new RelayThread(own, (error) => {
      onExit(error);
      // Delayed, because the next thread may fail for the same reason. Requests are rejected until then.
      this.#restarts.add(
        setTimeout(() => {
          this.#start(index);
          this.#restore(index);
        }, restartDelayMs),
      );
    });
  }

  #restore(index: number): void {
    const thread = this.#threads[index];
    if (thread === undefined || this.#network === undefined) return;
    const added = [...this.#routes.values()];
    const change = { isAll: true, removed: [], added, network: this.#network };
    // Its failure is reported by onExit.
    thread.send({ kind: 'change', change }).catch(() => {});
    for (const [fd, request] of this.#listeners) {
      if (this.#threadsOf(request).includes(thread)) sendOpen(thread, fd, request).catch(() => {});
    }
  }
}

const sendOpen = (thread: RelayThread, fd: number, { key, address }: ListenRequest): Promise<void> =>
  thread.send({ kind: 'open', listener: { key, address }, fd });
