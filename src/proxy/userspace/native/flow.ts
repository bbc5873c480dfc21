import type { Libc } from './libc.ts';
import { errors, messageFlags, shutdownWrite } from './libc.ts';
import type { Memory } from './memory.ts';
import { allocateWith } from './memory.ts';

/** How a pump ended: nothing to do until an event; more can be done at once; the far side was told of the end; broken. */
export type Pumped = 'waits' | 'more' | 'ended' | 'broken';

/** What all directions of a thread share. */
export interface Pumping {
  readonly libc: Libc;
  /** What was received and is sent at once. */
  readonly buffer: Memory;
  /** Bytes that were received and could not be sent yet, of all directions. */
  held: number;
}

/** More than this is not held: reads become small while others hold so much. */
const mostHeld = 64 << 20;
const least = 4096;
/** Chunks that one direction may move before others have their turn. */
const turns = 8;

/**
 * One direction of a connection: what one socket sends, the other gets. It reads only when what it read before is gone,
 * so that a slow reader slows down the writer, not this program.
 */
export class Direction {
  canRead = false;
  /** The sender has hung up: a short read is not the last one. */
  isHungUp = false;
  canWrite = true;
  bytes = 0;
  /** The end was passed on. */
  isOver = false;
  #from: number;
  #to: number;
  /** Received, and not yet sent. */
  #rest: Memory | undefined;
  #restAt = 0;
  #isAtEnd = false;
  /** How much is read at once; less after the receiver was too slow. */
  #chunk: number;

  constructor(from: number, to: number, chunk: number) {
    this.#from = from;
    this.#to = to;
    this.#chunk = chunk;
  }

  /** Has the receiver get something before all that is read. It does not count as read. */
  precede(shared: Pumping, preface: Uint8Array): void {
    this.#keep(shared, preface);
    this.bytes -= preface.length;
  }

  /** Moves what can be moved. */
  pump(shared: Pumping, isLast: boolean): Pumped {
    for (let turn = 0; turn < turns; turn++) {
      if (this.#rest !== undefined) {
        const done = this.#sendRest(shared, this.#rest);
        if (done !== 'more') return done;
      }
      if (this.#isAtEnd) return this.#end(shared.libc, isLast);
      if (!this.canRead || !this.canWrite) return 'waits';
      const done = this.#move(shared);
      if (done !== 'more') return done;
    }
    return 'more';
  }

  /** Gives up what it holds. */
  release(shared: Pumping): void {
    if (this.#rest !== undefined) shared.held -= this.#rest.bytes.length;
    this.#rest = undefined;
  }

  #move(shared: Pumping): Pumped {
    const { libc, buffer } = shared;
    const size = shared.held > mostHeld ? least : this.#chunk;
    const received = libc.recv(this.#from, buffer.address, size, messageFlags);
    if (received === 0) {
      this.#isAtEnd = true;
      return 'more';
    }
    if (received < 0) {
      if (libc.errno() !== errors.again) return 'broken';
      this.canRead = false;
      return 'waits';
    }
    if (received < size && !this.isHungUp) this.canRead = false;
    let sent = libc.send(this.#to, buffer.address, received, messageFlags);
    if (sent < 0) {
      if (libc.errno() !== errors.again) return 'broken';
      sent = 0;
    }
    this.bytes += sent;
    if (sent === received) {
      if (this.#chunk < buffer.bytes.length) this.#chunk = Math.min(buffer.bytes.length, this.#chunk * 2);
      return 'more';
    }
    this.#hold(shared, buffer.bytes.subarray(sent, received));
    return 'waits';
  }

  #hold(shared: Pumping, rest: Uint8Array): void {
    this.canWrite = false;
    this.#chunk = Math.max(4 * least, this.#chunk >> 1);
    this.#keep(shared, rest);
  }

  #keep(shared: Pumping, rest: Uint8Array): void {
    this.#rest = allocateWith(shared.libc, rest);
    this.#restAt = 0;
    shared.held += rest.length;
  }

  #sendRest(shared: Pumping, rest: Memory): Pumped {
    if (!this.canWrite) return 'waits';
    const left = rest.bytes.length - this.#restAt;
    const sent = shared.libc.send(this.#to, rest.address + this.#restAt, left, messageFlags);
    if (sent < 0 && shared.libc.errno() !== errors.again) return 'broken';
    const count = Math.max(0, sent);
    this.bytes += count;
    this.#restAt += count;
    if (count < left) {
      this.canWrite = false;
      return 'waits';
    }
    this.release(shared);
    return 'more';
  }

  /** Passes the end on. Where the other direction has ended already, closing says the same. */
  #end(libc: Libc, isLast: boolean): Pumped {
    if (!this.isOver && !isLast) libc.shutdown(this.#to, shutdownWrite);
    this.isOver = true;
    return 'ended';
  }
}
