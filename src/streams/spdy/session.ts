import { Duplex } from 'node:stream';

import { setInterval, setTimeout } from '../../machine/timers.ts';
import type { Frame } from './frames.ts';
import { dataHead, FrameEncoder, FrameParser, maxDataBytes, resetStatus } from './frames.ts';
import type { StreamHeaders } from './header-block.ts';
import { SpdyProtocolError } from './header-block.ts';

export interface SessionOptions {
  /** The side that has opened the connection: its streams have odd numbers. */
  readonly role: 'client' | 'server';
  /**
   * Called for each stream that the peer opens, before its first byte. Returns false to refuse it. Default: all are
   * refused.
   */
  readonly onStream?: (stream: SpdyStream) => boolean;
  /** Streams of the peer that may be open at once; default 1000. */
  readonly maxStreams?: number;
  /** Received bytes of one stream that wait to be read; with more, nothing is read from the connection. Default 256 KiB. */
  readonly maxUnreadBytes?: number;
  /** A connection without a frame for this long is closed; default 4 h, as in Kubernetes. */
  readonly idleMs?: number;
}

const hoursMs = 60 * 60 * 1000;
/** Above this many unsent bytes nothing more is read, because what is read may need a reply. */
const maxUnsentBytes = 256 * 1024;

/**
 * A SPDY/3.1 connection over a socket. Its streams share the socket without flow control of their own, as in Kubernetes:
 * a stream whose bytes nobody reads stops the connection once its buffer is full, and no other connection.
 */
export class SpdySession {
  readonly #socket: Duplex;
  readonly #options: SessionOptions;
  readonly #encoder = new FrameEncoder();
  readonly #parser = new FrameParser();
  readonly #streams = new Map<number, SpdyStream>();
  readonly #timer: NodeJS.Timeout;
  readonly #closed = Promise.withResolvers<void>();
  /** Streams whose unread bytes exceed the limit. */
  readonly #full = new Set<SpdyStream>();
  /** Writes that wait until the peer reads, in order: streams take turns. */
  #waiting: ((error?: Error) => void)[] = [];
  #nextStream: number;
  #lastOfPeer = 0;
  #lastActivity = performance.now();
  #isClosed = false;

  /** Takes over the socket. `head`: bytes that were already read from it. */
  constructor(socket: Duplex, options: SessionOptions, head: Buffer = Buffer.alloc(0)) {
    this.#socket = socket;
    this.#options = options;
    this.#nextStream = options.role === 'client' ? 1 : 2;
    const { idleMs = 4 * hoursMs } = options;
    socket.on('data', (chunk: Buffer) => this.#receive(chunk));
    socket.on('drain', () => this.#drained());
    socket.on('end', () => this.close());
    socket.on('error', () => this.close());
    socket.on('close', () => {
      clearInterval(this.#timer);
      this.close();
    });
    this.#timer = setInterval(
      () => {
        if (performance.now() - this.#lastActivity >= idleMs) socket.destroy();
      },
      Math.min(idleMs, 60_000),
    ).unref();
    if (head.length > 0) this.#receive(head);
  }

  /** Resolves when the connection is closed, by either side. */
  get closed(): Promise<void> {
    return this.#closed.promise;
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** The number of open streams. */
  get size(): number {
    return this.#streams.size;
  }

  /** Opens a stream. It may be written at once; the peer may still refuse it, which destroys it with an error. */
  open(headers: StreamHeaders): SpdyStream {
    const id = this.#nextStream;
    this.#nextStream += 2;
    const stream = new SpdyStream(id, headers, this.#port);
    this.#add(stream);
    if (this.#isClosed) stream.destroy(closedError());
    else this.#send({ type: 'open', stream: id, headers, isLast: false });
    return stream;
  }

  /** Closes the connection after what was written; streams that have not ended are destroyed with an error. */
  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const done of waiting) done(closedError());
    for (const stream of this.#streams.values()) stream.lose(lostError());
    this.#streams.clear();
    // A peer that has read everything and does not close must not keep the socket.
    this.#socket.end(() => {
      const linger = setTimeout(() => this.#socket.destroy(), 10_000).unref();
      this.#socket.once('close', () => clearTimeout(linger));
    });
    this.#socket.resume(); // so that the end of the peer is noticed
    this.#closed.resolve();
  }

  readonly #port: StreamPort = {
    writeData: (stream, data, done) => {
      if (this.#isClosed) {
        done(closedError());
        return;
      }
      this.#lastActivity = performance.now();
      this.#socket.cork();
      this.#socket.write(dataHead(stream, data.length, false));
      const isTaken = this.#socket.write(data);
      this.#socket.uncork();
      if (isTaken) done();
      else this.#waiting.push(done);
    },
    finish: (stream) => this.#send({ type: 'data', stream, data: Buffer.alloc(0), isLast: true }),
    reset: (stream, status) => this.#send({ type: 'reset', stream, status }),
    read: (stream) => {
      if (this.#full.delete(stream)) this.#flow();
    },
    closed: (stream) => {
      this.#streams.delete(stream.id);
      if (this.#full.delete(stream)) this.#flow();
    },
  };

  #add(stream: SpdyStream): void {
    this.#streams.set(stream.id, stream);
    stream.on('error', () => undefined); // the user of a stream may not listen; `close` follows
  }

  #send(frame: Frame): void {
    if (this.#isClosed) return;
    this.#lastActivity = performance.now();
    this.#socket.write(this.#encoder.encode(frame));
  }

  #drained(): void {
    this.#lastActivity = performance.now();
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const done of waiting) done();
    this.#flow();
  }

  #receive(chunk: Buffer): void {
    if (this.#isClosed) return;
    this.#lastActivity = performance.now();
    try {
      for (const frame of this.#parser.push(chunk)) this.#handle(frame);
    } catch (error) {
      if (!(error instanceof SpdyProtocolError)) throw error;
      this.close();
    }
    this.#flow();
  }

  /** Reads from the socket unless a stream is full, or the peer does not read. */
  #flow(): void {
    if (this.#isClosed) return;
    if (this.#full.size > 0 || this.#socket.writableLength > maxUnsentBytes) this.#socket.pause();
    else if (this.#socket.isPaused()) this.#socket.resume();
  }

  #handle(frame: Frame): void {
    switch (frame.type) {
      case 'open':
        this.#opened(frame.stream, frame.headers, frame.isLast);
        break;
      case 'reply':
      case 'headers':
        if (frame.isLast) this.#streams.get(frame.stream)?.receiveEnd();
        break;
      case 'data':
        this.#data(frame.stream, frame.data, frame.isLast);
        break;
      case 'reset':
        this.#streams.get(frame.stream)?.lose(new Error('the stream was reset'));
        break;
      case 'ping':
        // The peer numbers its own with its parity; others are replies.
        if (frame.id % 2 === (this.#options.role === 'client' ? 0 : 1)) this.#send(frame);
        break;
      case 'goAway':
        break; // the peer opens nothing more, and neither do we
    }
  }

  #opened(id: number, headers: StreamHeaders, isLast: boolean): void {
    const { role, maxStreams = 1000, onStream } = this.#options;
    if (id % 2 !== (role === 'client' ? 0 : 1) || id <= this.#lastOfPeer) {
      throw new SpdyProtocolError(`stream ${id} after ${this.#lastOfPeer}`);
    }
    this.#lastOfPeer = id;
    if (this.#streams.size >= maxStreams || onStream === undefined) {
      this.#send({ type: 'reset', stream: id, status: resetStatus.refusedStream });
      return;
    }
    const stream = new SpdyStream(id, headers, this.#port);
    this.#add(stream);
    if (!onStream(stream)) {
      stream.reset(resetStatus.refusedStream);
      return;
    }
    this.#send({ type: 'reply', stream: id, headers: {}, isLast: false });
    if (isLast) stream.receiveEnd();
  }

  #data(id: number, data: Buffer, isLast: boolean): void {
    const stream = this.#streams.get(id);
    // A stream that was just closed here may still have data on the way.
    if (stream === undefined) return;
    if (data.length > 0) {
      stream.receive(data);
      if (stream.readableLength > (this.#options.maxUnreadBytes ?? 256 * 1024)) this.#full.add(stream);
    }
    if (isLast) stream.receiveEnd();
  }
}

const closedError = (): Error => new Error('the connection is closed');
const lostError = (): Error => new Error('the connection was lost');

/** What a stream needs from its session. */
interface StreamPort {
  writeData(stream: number, data: Buffer, done: (error?: Error) => void): void;
  finish(stream: number): void;
  reset(stream: number, status: number): void;
  read(stream: SpdyStream): void;
  closed(stream: SpdyStream): void;
}

/** A stream of a session. `end` is the half-close of SPDY; `destroy` before both sides have ended resets the stream. */
export class SpdyStream extends Duplex {
  readonly id: number;
  readonly headers: StreamHeaders;
  readonly #port: StreamPort;
  #hasFinished = false;
  #hasReceivedEnd = false;
  #isLost = false;

  constructor(id: number, headers: StreamHeaders, port: StreamPort) {
    super({ allowHalfOpen: true, readableHighWaterMark: maxDataBytes, writableHighWaterMark: maxDataBytes });
    this.id = id;
    this.headers = headers;
    this.#port = port;
  }

  /** Called by the session with bytes of the peer. */
  receive(data: Buffer): void {
    if (!this.#hasReceivedEnd && !this.destroyed) this.push(data);
  }

  /** Called by the session when the peer has half-closed the stream. */
  receiveEnd(): void {
    if (this.#hasReceivedEnd) return;
    this.#hasReceivedEnd = true;
    if (!this.destroyed) this.push(null);
  }

  /** Called by the session when the peer has reset the stream or the connection is lost. */
  lose(error: Error): void {
    this.#isLost = true;
    // What a stream received before its end can still be read.
    if (this.#hasReceivedEnd) this.end();
    else this.destroy(error);
  }

  /** Resets the stream with a status of `resetStatus`. */
  reset(status: number): void {
    if (!this.#isLost) this.#port.reset(this.id, status);
    this.#isLost = true;
    this.destroy();
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: (error?: Error | null) => void): void {
    const send = (from: number): void => {
      const piece = chunk.subarray(from, from + maxDataBytes);
      const rest = from + piece.length;
      this.#port.writeData(this.id, piece, (error) => {
        if (error !== undefined || rest >= chunk.length || this.destroyed) done(error);
        else send(rest);
      });
    };
    send(0);
  }

  override _final(done: (error?: Error | null) => void): void {
    this.#hasFinished = true;
    this.#port.finish(this.id);
    done();
  }

  override _read(): void {
    this.#port.read(this);
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    const isComplete = this.#hasFinished && this.#hasReceivedEnd;
    if (!isComplete && !this.#isLost) this.#port.reset(this.id, resetStatus.cancel);
    this.#port.closed(this);
    done(error);
  }
}
