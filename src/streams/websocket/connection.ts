import type { Duplex } from 'node:stream';

import { setInterval, setTimeout } from '../../machine/timers.ts';
import type { Frame } from './frames.ts';
import { closeCodes, closePayload, encodeFrame, frameHead, FrameParser, WebSocketProtocolError } from './frames.ts';

/** A piece of a message. */
export type MessagePiece = Extract<Frame, { type: 'data' }>;

export interface WebSocketOptions {
  /** Called with the pieces of messages, in order. */
  readonly onPiece: (piece: MessagePiece) => void;
  /** A connection on which nothing is sent or received for this long is closed; default 4 h, as in Kubernetes. */
  readonly idleMs?: number;
}

const hoursMs = 60 * 60 * 1000;
/** With this many unsent bytes, pings wait: a client that sends pings and reads nothing must not fill the memory. */
const maxUnsentBytes = 512 * 1024;
/** How long to wait for the close frame of the client. */
const closeMs = 5000;

/** The server's side of a WebSocket connection. */
export class WebSocketConnection {
  readonly #socket: Duplex;
  readonly #parser = new FrameParser('client');
  readonly #options: WebSocketOptions;
  readonly #closed = Promise.withResolvers<void>();
  readonly #timer: NodeJS.Timeout;
  #waiting: (() => void)[] = [];
  #lastActivity = performance.now();
  #state: 'open' | 'closing' | 'closed' = 'open';
  /** The reasons not to read. */
  readonly #pauses = new Set<object>();
  #pendingPing: Buffer | undefined;

  /** Takes over the socket after the handshake. `head`: bytes that were already read from it. */
  constructor(socket: Duplex, options: WebSocketOptions, head: Buffer = Buffer.alloc(0)) {
    this.#socket = socket;
    this.#options = options;
    const { idleMs = 4 * hoursMs } = options;
    socket.on('data', (chunk: Buffer) => this.#receive(chunk));
    socket.on('drain', () => this.#drained());
    for (const event of ['end', 'error', 'close']) socket.on(event, () => this.#lost());
    const check = (): void => {
      if (performance.now() - this.#lastActivity >= idleMs) socket.destroy();
    };
    this.#timer = setInterval(check, Math.min(idleMs, 60_000)).unref();
    socket.on('close', () => clearInterval(this.#timer));
    if (head.length > 0) this.#receive(head);
  }

  /** Resolves when no more messages come: the client has closed the connection, or it is lost. */
  get closed(): Promise<void> {
    return this.#closed.promise;
  }

  /** Sends a message. Resolves when another may be sent, because the client reads; rejects never. */
  send(type: 'text' | 'binary', ...pieces: readonly Buffer[]): Promise<void> {
    if (this.#state !== 'open') return Promise.resolve();
    this.#lastActivity = performance.now();
    let length = 0;
    for (const piece of pieces) length += piece.length;
    this.#socket.cork();
    let isTaken = this.#socket.write(frameHead(type, length));
    for (const piece of pieces) isTaken = this.#socket.write(piece);
    this.#socket.uncork();
    return isTaken ? Promise.resolve() : new Promise((resolve) => this.#waiting.push(resolve));
  }

  /** Stops reading for a reason, until `resume` is called with it. Pings are not answered meanwhile. */
  pause(reason: object): void {
    this.#pauses.add(reason);
    this.#socket.pause();
  }

  resume(reason: object): void {
    if (this.#pauses.delete(reason) && this.#pauses.size === 0) this.#socket.resume();
  }

  /** Sends a close frame after what was sent before, and closes the connection once the client has answered. */
  close(code: number): void {
    if (this.#state !== 'open') return;
    this.#state = 'closing';
    // The wait begins when the client has read everything before.
    this.#socket.write(encodeFrame('close', closePayload(code)), () => {
      const timer = setTimeout(() => this.#end(), closeMs).unref();
      void this.#closed.promise.then(() => clearTimeout(timer));
    });
    this.#pauses.clear();
    this.#socket.resume(); // to read the close frame of the client
    this.#releaseWaiting();
  }

  #receive(chunk: Buffer): void {
    if (this.#state === 'closed') return;
    this.#lastActivity = performance.now();
    try {
      for (const frame of this.#parser.push(chunk)) this.#handle(frame);
    } catch (error) {
      if (!(error instanceof WebSocketProtocolError)) throw error;
      this.close(error.code);
      this.#end();
    }
  }

  #handle(frame: Frame): void {
    switch (frame.type) {
      case 'data':
        if (this.#state === 'open') this.#options.onPiece(frame);
        break;
      case 'ping':
        this.#pendingPing = frame.data;
        this.#answerPing();
        break;
      case 'pong':
        break;
      case 'close':
        // 1005 is not sent: some clients report an error for it.
        this.close(frame.code === closeCodes.noStatus ? closeCodes.normal : frame.code);
        this.#end();
        break;
    }
  }

  /** Answers the last ping, since a client compares no others. */
  #answerPing(): void {
    if (this.#pendingPing === undefined || this.#state !== 'open' || this.#socket.writableLength > maxUnsentBytes)
      return;
    this.#socket.write(encodeFrame('pong', this.#pendingPing));
    this.#pendingPing = undefined;
  }

  #drained(): void {
    this.#lastActivity = performance.now();
    this.#answerPing();
    this.#releaseWaiting();
  }

  #releaseWaiting(): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const resolve of waiting) resolve();
  }

  /** The client has closed its side of the socket. */
  #lost(): void {
    this.#end();
  }

  #end(): void {
    if (this.#state === 'closed') return;
    this.#state = 'closed';
    this.#socket.end(() => {
      const linger = setTimeout(() => this.#socket.destroy(), closeMs).unref();
      this.#socket.once('close', () => clearTimeout(linger));
    });
    this.#socket.resume();
    this.#releaseWaiting();
    this.#closed.resolve();
  }
}
