import { setImmediate } from '../../../machine/timers.ts';
import type { Libc } from './libc.ts';
import { epoll } from './libc.ts';
import type { Memory } from './memory.ts';
import { allocate } from './memory.ts';
import { systemError } from './sockets.ts';

const batch = 256;
/** Batches in a row before the thread's event loop gets its turn. */
const rounds = 4;
const connectionEvents = epoll.in | epoll.out | epoll.readHangUp | epoll.edge;

/**
 * epoll events of many sockets, through one descriptor that the thread's event loop watches. A descriptor is closed after all
 * events of a batch were handled, so that no event reaches a new socket with the same number.
 */
export class Poller implements Disposable {
  readonly #libc: Libc;
  readonly #epoll: number;
  readonly #events: Memory;
  readonly #event: Memory;
  readonly #stopWatching: () => void;
  readonly #onEvent: (fd: number, events: number) => void;
  readonly #onBatch: () => void;
  #closing: number[] = [];

  constructor(libc: Libc, handlers: { onEvent: (fd: number, events: number) => void; onBatch: () => void }) {
    this.#libc = libc;
    this.#onEvent = handlers.onEvent;
    this.#onBatch = handlers.onBatch;
    this.#epoll = libc.epoll_create1(0x8_0000);
    if (this.#epoll === -1) throw systemError(libc);
    this.#events = allocate(libc, batch * epoll.eventBytes);
    this.#event = allocate(libc, epoll.eventBytes);
    this.#stopWatching = libc.watch(this.#epoll, () => {
      try {
        this.poll();
      } catch (error) {
        // An error thrown in a native callback would be lost. It is a bug and must end the thread.
        setImmediate(() => {
          throw error;
        });
      }
    });
  }

  /** Watches for connections to accept. Of several threads with one listener, the kernel wakes one. */
  addListener(fd: number): void {
    this.#add(fd, epoll.in | epoll.exclusive);
  }

  /** Watches for readability and writability, edge-triggered. */
  addConnection(fd: number): void {
    this.#add(fd, connectionEvents);
  }

  remove(fd: number): void {
    this.#libc.epoll_ctl(this.#epoll, epoll.remove, fd, 0);
  }

  /** Closes a descriptor with the next `flush`. */
  close(fd: number): void {
    this.#closing.push(fd);
  }

  /** Handles pending events. */
  poll(): void {
    const { bytes, address } = this.#events;
    for (let round = 0; round < rounds; round++) {
      const count = this.#libc.epoll_wait(this.#epoll, address, batch, 0);
      for (let index = 0; index < count; index++) {
        const at = index * epoll.eventBytes;
        this.#onEvent(bytes.readInt32LE(at + epoll.dataOffset), bytes.readUInt32LE(at));
      }
      this.flush();
      if (count < batch) break;
    }
  }

  /** Closes descriptors. */
  flush(): void {
    this.#onBatch();
    for (const fd of this.#closing) this.#libc.close(fd);
    this.#closing.length = 0;
  }

  [Symbol.dispose](): void {
    this.#stopWatching();
    this.flush();
    this.#libc.close(this.#epoll);
  }

  #add(fd: number, events: number): void {
    const { bytes, address } = this.#event;
    bytes.writeUInt32LE(events >>> 0, 0);
    bytes.writeInt32LE(fd, epoll.dataOffset);
    if (this.#libc.epoll_ctl(this.#epoll, epoll.add, fd, address) === -1) throw systemError(this.#libc);
  }
}
