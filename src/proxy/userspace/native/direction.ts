import type { Libc } from './libc.ts';
import { errors, messageFlags, shutdownWrite } from './libc.ts';
import type { Memory } from './memory.ts';
import { allocateWith } from './memory.ts';

/** The result of a pump: waits for an event; can continue at once; the end was passed on; a socket failed. */
export type PumpResult = 'waits' | 'more' | 'ended' | 'broken';

/** State that all directions of a thread share. */
export interface PumpContext {
  readonly libc: Libc;
  /** Receive buffer; its content is sent before the next receive. */
  readonly buffer: Memory;
  /** Received bytes of all directions that could not be sent yet. */
  held: number;
}

/** Above this, reads become small. */
const maxHeld = 64 << 20;
const minChunk = 4096;
/** Chunks that one direction moves before it yields to others. */
const maxChunks = 8;

/**
 * One direction of a connection. It reads only after everything that it read before was sent, so that a slow reader slows
 * down the writer and memory is bounded.
 */
export class Direction {
  canRead = false;
  /** The sender has hung up: a short read does not mean that nothing is left to read. */
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
  /** The size of a read; smaller after the receiver was too slow. */
  #chunk: number;

  constructor(from: number, to: number, chunk: number) {
    this.#from = from;
    this.#to = to;
    this.#chunk = chunk;
  }

  /** Sends a header before the relayed bytes. It is not counted. */
  prepend(shared: PumpContext, proxyHeader: Uint8Array): void {
    this.#keep(shared, proxyHeader);
    this.bytes -= proxyHeader.length;
  }

  /** Relays until a socket blocks or others must get their turn. */
  pump(shared: PumpContext, isLast: boolean): PumpResult {
    for (let count = 0; count < maxChunks; count++) {
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

  /** Drops unsent bytes. */
  release(shared: PumpContext): void {
    if (this.#rest !== undefined) shared.held -= this.#rest.bytes.length;
    this.#rest = undefined;
  }

  #move(shared: PumpContext): PumpResult {
    const { libc, buffer } = shared;
    const size = shared.held > maxHeld ? minChunk : this.#chunk;
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

  #hold(shared: PumpContext, rest: Uint8Array): void {
    this.canWrite = false;
    this.#chunk = Math.max(4 * minChunk, this.#chunk >> 1);
    this.#keep(shared, rest);
  }

  #keep(shared: PumpContext, rest: Uint8Array): void {
    this.#rest = allocateWith(shared.libc, rest);
    this.#restAt = 0;
    shared.held += rest.length;
  }

  #sendRest(shared: PumpContext, rest: Memory): PumpResult {
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

  /** Passes the end on, unless both directions have ended: then the sockets are closed. */
  #end(libc: Libc, isLast: boolean): PumpResult {
    if (!this.isOver && !isLast) libc.shutdown(this.#to, shutdownWrite);
    this.isOver = true;
    return 'ended';
  }
}
