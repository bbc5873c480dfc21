import { setTimeout } from '../../../machine/timers.ts';
import type { Route } from '../../routes/route.ts';
import { routeKey } from '../../routes/route.ts';
import type { Counters } from '../counters.ts';
import type { DoorPlace, Engine, OpenDoor } from '../engine.ts';
import type { UserspaceLimits } from '../options.ts';
import type { SwitchboardChange } from '../switchboard.ts';
import type { Libc } from './libc.ts';
import { Sockets } from './sockets.ts';
import { RelayThread } from './thread.ts';

export interface NativeEngineOptions {
  readonly libc: Libc;
  readonly limits: UserspaceLimits;
  readonly threads: number;
  readonly drainMs: number;
  /** A thread has ended by itself, and its connections with it. Another takes its place. */
  readonly onDeath: (error: Error) => void;
}

/** How long a thread that ended by itself is not there. */
const revivalMs = 200;

/**
 * Relays in threads beside the event loop. Listeners are opened here, once, and shared by the threads: they have the
 * descriptors of the process, and the kernel wakes one of them for each connection.
 */
export class NativeEngine implements Engine {
  readonly #options: NativeEngineOptions;
  readonly #sockets: Sockets;
  readonly #threads: RelayThread[] = [];
  /** Everything a thread that starts must be told. */
  readonly #routes = new Map<string, Route>();
  readonly #doors = new Map<number, DoorPlace>();
  #network: SwitchboardChange['network'] | undefined;
  readonly #revivals = new Set<NodeJS.Timeout>();

  constructor(options: NativeEngineOptions) {
    this.#options = options;
    this.#sockets = new Sockets(options.libc);
    for (let index = 0; index < options.threads; index++) this.#start(index);
  }

  get counters(): readonly Counters[] {
    return this.#threads.map(({ counters }) => counters);
  }

  async change(change: SwitchboardChange): Promise<void> {
    if (change.isAll) this.#routes.clear();
    for (const route of change.removed) this.#routes.delete(routeKey(route));
    for (const route of change.added) this.#routes.set(routeKey(route), route);
    this.#network = change.network;
    await Promise.all(this.#threads.map((thread) => thread.tell({ kind: 'change', change })));
  }

  async open(place: DoorPlace): Promise<OpenDoor> {
    const { address, port, heard } = place;
    const fd = this.#sockets.listen(address, port, heard);
    this.#doors.set(fd, place);
    await Promise.all(this.#threadsOf(place).map((thread) => tellOpen(thread, fd, place)));
    return { hear: (others) => this.#sockets.hear(fd, address, others), close: () => this.#close(fd, place) };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const timer of this.#revivals) clearTimeout(timer);
    await Promise.all(Array.from(this.#doors, ([fd, place]) => this.#close(fd, place)));
    await Promise.all(this.#threads.map((thread) => thread.stop(this.#options.drainMs)));
  }

  async #close(fd: number, place: DoorPlace): Promise<void> {
    if (!this.#doors.delete(fd)) return;
    // Closed while a thread still accepts from it, its number could be another socket's by then.
    await Promise.allSettled(this.#threadsOf(place).map((thread) => thread.tell({ kind: 'close', fd })));
    this.#options.libc.close(fd);
  }

  /** What is remembered of clients is remembered by one thread, so it must have all of them. */
  #threadsOf({ isSticky }: DoorPlace): readonly RelayThread[] {
    return isSticky ? this.#threads.slice(0, 1) : this.#threads;
  }

  #start(index: number): void {
    const { threads, limits, onDeath } = this.#options;
    const share = (number: number): number => Math.ceil(number / threads);
    const own = {
      ...limits,
      connections: share(limits.connections),
      connectionsPerAddress: share(limits.connectionsPerAddress),
    };
    this.#threads[index] = new RelayThread(own, (error) => {
      onDeath(error);
      // What ended it may end the next one too; until then whoever tells it something is told of its end.
      this.#revivals.add(
        setTimeout(() => {
          this.#start(index);
          this.#tellAll(index);
        }, revivalMs),
      );
    });
  }

  #tellAll(index: number): void {
    const thread = this.#threads[index];
    if (thread === undefined || this.#network === undefined) return;
    const added = [...this.#routes.values()];
    const change = { isAll: true, removed: [], added, network: this.#network };
    // Its death is told once, by itself.
    thread.tell({ kind: 'change', change }).catch(() => {});
    for (const [fd, place] of this.#doors) {
      if (this.#threadsOf(place).includes(thread)) tellOpen(thread, fd, place).catch(() => {});
    }
  }
}

const tellOpen = (thread: RelayThread, fd: number, { key, address }: DoorPlace): Promise<void> =>
  thread.tell({ kind: 'open', door: { key, address }, fd });
