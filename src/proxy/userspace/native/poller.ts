import { setImmediate } from '../../../machine/timers.ts';
import type { Libc } from './libc.ts';
import { epoll } from './libc.ts';
import type { Memory } from './memory.ts';
import { allocate } from './memory.ts';
import { systemError } from './sockets.ts';

const batch = 256;
/** Batches in a row before the event loop of the thread has its turn. */
const rounds = 4;
const connectionEvents = epoll.in | epoll.out | epoll.readHangUp | epoll.edge;

/**
 * Events of many sockets, by one descriptor that the event loop of the thread watches. A descriptor that is closed while
 * events are told stays open until all were told, so that none reaches another socket of the same number.
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
        // Thrown from a native callback it would be lost; it is a bug, and must end the thread.
        setImmediate(() => {
          throw error;
        });
      }
    });
  }

  /** Tells of connections that wait to be accepted. Of several threads with one listener, one is woken. */
  addListener(fd: number): void {
    this.#add(fd, epoll.in | epoll.exclusive);
  }

  /** Tells once each time that something can be read or written. */
  addConnection(fd: number): void {
    this.#add(fd, connectionEvents);
  }

  remove(fd: number): void {
    this.#libc.epoll_ctl(this.#epoll, epoll.remove, fd, 0);
  }

  /** Closes a descriptor, and thereby forgets it. */
  close(fd: number): void {
    this.#closing.push(fd);
  }

  /** Tells what there is. */
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

  /** Closes what is to be closed. */
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
