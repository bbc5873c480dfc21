import { randomInt } from 'node:crypto';
import type { Socket } from 'node:net';
import { connect } from 'node:net';

import type { Clock } from '../../client/clock.ts';
import { UpstreamError } from './errors.ts';
import type { WholeReply } from './query.ts';
import { replyTo } from './query.ts';
import type { Endpoint } from './udp.ts';

export interface TcpOptions {
  readonly clock: Clock;
  /** Connections to one upstream; default 4. */
  readonly connections?: number;
  /** Queries on a connection before another is opened; default 64. */
  readonly pipelined?: number;
  /** How long an unused connection stays open; default 10 s, as in CoreDNS. */
  readonly idleMs?: number;
  /** Called for each query with whether it used an open connection. */
  readonly onConnection?: (isReused: boolean) => void;
}

interface Waiting {
  readonly sent: Uint8Array;
  /** Number of messages received before it was sent. */
  readonly receivedBefore: number;
  readonly resolve: (reply: WholeReply) => void;
  readonly reject: (error: Error) => void;
}

/** The connections to an upstream. Queries are pipelined and answered in any order (RFC 7766 §6.2.1). */
export class TcpConnections {
  readonly #to: Endpoint;
  readonly #options: TcpOptions;
  readonly #open = new Set<Connection>();

  constructor(to: Endpoint, options: TcpOptions) {
    this.#to = to;
    this.#options = options;
  }

  /** Number of open connections. */
  get size(): number {
    return this.#open.size;
  }

  /** Sends a query on a connection with capacity, or a new one. Sets an id that is unused on it. */
  async ask(sent: Uint8Array, signal: AbortSignal): Promise<WholeReply> {
    const known = this.#withCapacity();
    this.#options.onConnection?.(known !== undefined);
    if (known === undefined) return await this.#connect().ask(sent, signal);
    try {
      return await known.ask(sent, signal);
    } catch (error) {
      // The upstream may have closed the idle connection at the same time: retry on a new one.
      if (signal.aborted) throw error;
      return await this.#connect().ask(sent, signal);
    }
  }

  close(): void {
    for (const connection of this.#open) connection.close(new UpstreamError('ABORTED', 'the server is stopping'));
  }

  #withCapacity(): Connection | undefined {
    const { connections = 4, pipelined = 64 } = this.#options;
    const open = [...this.#open].toSorted((a, b) => a.waiting - b.waiting);
    const least = open[0];
    // Fills one connection before opening the next: upstreams limit their number.
    const fitting = open.findLast(({ waiting }) => waiting < pipelined);
    if (fitting !== undefined) return fitting;
    if (least === undefined || open.length < connections) return undefined;
    throw new UpstreamError('BUSY', `${this.#to.address}: all ${connections} connections have ${pipelined} queries`);
  }

  #connect(): Connection {
    const { clock, connections = 4, idleMs = 10_000 } = this.#options;
    if (this.#open.size >= connections) {
      throw new UpstreamError('BUSY', `${this.#to.address}: all ${connections} connections are in use`);
    }
    const connection = new Connection(this.#to, { clock, idleMs, onClose: () => this.#open.delete(connection) });
    this.#open.add(connection);
    return connection;
  }
}

interface ConnectionOptions {
  readonly clock: Clock;
  readonly idleMs: number;
  readonly onClose: () => void;
}

class Connection {
  readonly #socket: Socket;
  readonly #options: ConnectionOptions;
  readonly #address: string;
  /** Id → its query. */
  readonly #waiting = new Map<number, Waiting>();
  /** The incomplete message at the end of the received data. */
  #received: Buffer = Buffer.alloc(0);
  #receivedCount = 0;
  #isRetired = false;
  #cancelIdle: () => void = () => {};

  constructor(to: Endpoint, options: ConnectionOptions) {
    this.#options = options;
    this.#address = to.address;
    this.#socket = connect({ host: to.address, port: to.port, noDelay: true });
    this.#socket.on('data', (chunk: Buffer) => this.#read(chunk));
    this.#socket.on('error', (error) => this.close(this.#networkError(error.message)));
    this.#socket.on('close', () => this.close(this.#networkError('the connection was closed')));
  }

  get waiting(): number {
    return this.#waiting.size;
  }

  ask(query: Uint8Array, signal: AbortSignal): Promise<WholeReply> {
    this.#cancelIdle();
    const id = this.#freeId();
    const framed = Buffer.alloc(query.length + 2);
    framed.writeUInt16BE(query.length, 0);
    framed.set(query, 2);
    framed.writeUInt16BE(id, 2);
    return new Promise<WholeReply>((resolve, reject) => {
      const done = (): void => {
        signal.removeEventListener('abort', abort);
        this.#remove(id);
      };
      const abort = (): void => {
        // No message since: new queries use another connection, and pending ones may still be answered here.
        if (this.#waiting.get(id)?.receivedBefore === this.#receivedCount) this.#retire();
        done();
        reject(new UpstreamError('ABORTED', `${this.#address}: query cancelled`));
      };
      this.#waiting.set(id, {
        sent: framed.subarray(2),
        receivedBefore: this.#receivedCount,
        resolve: (reply) => (done(), resolve(reply)),
        reject: (error) => (done(), reject(error)),
      });
      if (signal.aborted) return abort();
      signal.addEventListener('abort', abort, { once: true });
      this.#socket.write(framed);
    });
  }

  close(error: Error): void {
    this.#cancelIdle();
    this.#options.onClose();
    this.#socket.destroy();
    for (const { reject } of this.#waiting.values()) reject(error);
    this.#cancelIdle();
  }

  #retire(): void {
    this.#isRetired = true;
    this.#options.onClose();
  }

  #freeId(): number {
    for (;;) {
      const id = randomInt(0x1_0000);
      if (!this.#waiting.has(id)) return id;
    }
  }

  #remove(id: number): void {
    this.#waiting.delete(id);
    if (this.#waiting.size > 0 || this.#socket.destroyed) return;
    this.#cancelIdle();
    const idle = (): void => this.close(this.#networkError('idle'));
    if (this.#isRetired) return idle();
    this.#cancelIdle = this.#options.clock.after(this.#options.idleMs, idle);
  }

  /** Only one message is incomplete at a time, which bounds the buffer to 64 KiB and a chunk. */
  #read(chunk: Buffer): void {
    this.#received = this.#received.length === 0 ? chunk : Buffer.concat([this.#received, chunk]);
    while (this.#received.length >= 2) {
      const end = 2 + this.#received.readUInt16BE(0);
      if (this.#received.length < end) return;
      const bytes = this.#received.subarray(2, end);
      this.#received = this.#received.subarray(end);
      if (!this.#accept(bytes)) return this.close(this.#networkError('invalid message'));
    }
  }

  /** Handles a message; returns false if it is not a valid reply. */
  #accept(bytes: Uint8Array): boolean {
    this.#receivedCount += 1;
    const waiting = this.#waiting.get(((bytes[0] ?? 0) << 8) | (bytes[1] ?? 0));
    // A reply to a cancelled query.
    if (waiting === undefined) return bytes.length >= 12;
    const reply = replyTo(waiting.sent, bytes);
    if (reply === undefined) return false;
    if (reply.truncated) waiting.reject(this.#networkError('truncated reply over TCP'));
    else waiting.resolve(reply);
    return true;
  }

  #networkError(what: string): UpstreamError {
    return new UpstreamError('NETWORK', `${this.#address}: ${what}`);
  }
}
