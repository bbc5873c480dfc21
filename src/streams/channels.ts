// Streams as channels of a WebSocket: each message begins with the number of its channel.

import type { Duplex } from 'node:stream';
import { Readable, Writable } from 'node:stream';

import type { MessagePiece } from './websocket/connection.ts';
import { WebSocketConnection } from './websocket/connection.ts';
import { closeCodes } from './websocket/frames.ts';

/** The channels of commands. */
export const commandChannels = { stdin: 0, stdout: 1, stderr: 2, error: 3, resize: 4 } as const;
/** In protocol v5: the second byte of the message is a channel that the sender has finished. */
const closeSignal = 255;

/** How messages of a subprotocol look. */
export interface ChannelFormat {
  /** Text messages: the channel is a digit, the payload base64. */
  readonly isBase64: boolean;
  /** Whether a client can finish a channel. */
  readonly hasCloseSignal: boolean;
}

/** The subprotocols of commands, by version. Clients of the first two read plain text on the error channel. */
export const commandProtocols: Readonly<Record<string, ChannelFormat & { readonly hasStatus: boolean }>> = {
  'v5.channel.k8s.io': { isBase64: false, hasCloseSignal: true, hasStatus: true },
  'v4.channel.k8s.io': { isBase64: false, hasCloseSignal: false, hasStatus: true },
  'v4.base64.channel.k8s.io': { isBase64: true, hasCloseSignal: false, hasStatus: true },
  'channel.k8s.io': { isBase64: false, hasCloseSignal: false, hasStatus: false },
  'base64.channel.k8s.io': { isBase64: true, hasCloseSignal: false, hasStatus: false },
  '': { isBase64: false, hasCloseSignal: false, hasStatus: false },
};

/** Unread bytes of a channel, above which nothing is read from the connection. */
const maxUnreadBytes = 256 * 1024;
/** The largest message that is sent, without its channel. */
const maxMessageBytes = 32 * 1024;

/** The server's side of a WebSocket with channels. */
export class ChannelConnection {
  readonly #socket: WebSocketConnection;
  readonly #format: ChannelFormat;
  readonly #readable = new Map<number, ChannelReader>();
  /** The channel of the message that is being received; undefined before its first byte. */
  #channel: number | undefined;
  /** Characters of base64 that are not decoded yet. */
  #undecoded = '';

  /** `readable`: the channels that the client may send; others are ignored. */
  constructor(
    socket: Duplex,
    {
      format,
      readable,
      head,
    }: { readonly format: ChannelFormat; readonly readable: readonly number[]; readonly head: Buffer },
  ) {
    this.#format = format;
    for (const channel of readable) {
      const onRead = (): void => this.#socket.resume(reader);
      const reader = new ChannelReader(onRead);
      this.#readable.set(channel, reader);
    }
    this.#socket = new WebSocketConnection(socket, { onPiece: (piece) => this.#receive(piece) }, head);
    void this.#socket.closed.then(() => {
      for (const reader of this.#readable.values()) reader.lose();
    });
  }

  /** Resolves when the client has closed the connection or it is lost. */
  get closed(): Promise<void> {
    return this.#socket.closed;
  }

  /** What the client sends on a channel. It ends when the client finishes the channel, and fails when it disconnects. */
  reader(channel: number): Readable {
    const reader = this.#readable.get(channel);
    if (reader === undefined) throw new Error(`bug: channel ${channel} is not readable`);
    return reader;
  }

  /** A stream that sends to a channel; its end is not sent. */
  writer(channel: number): Writable {
    return new Writable({
      highWaterMark: maxMessageBytes,
      write: (chunk: Buffer, _encoding, done) => void this.send(channel, chunk).then(() => done()),
    });
  }

  /** Sends bytes to a channel. Resolves when the client reads; rejects never. */
  async send(channel: number, data: Buffer): Promise<void> {
    for (let from = 0; from === 0 || from < data.length; from += maxMessageBytes) {
      const piece = data.subarray(from, from + maxMessageBytes);
      await (this.#format.isBase64
        ? this.#socket.send('text', Buffer.from(`${channel}${piece.toString('base64')}`))
        : this.#socket.send('binary', Buffer.of(channel), piece));
    }
  }

  /** Ends the connection after what was sent. */
  close(code: number = closeCodes.normal): void {
    this.#socket.close(code);
  }

  #receive({ data, isFirst, isLast }: MessagePiece): void {
    if (isFirst) {
      this.#channel = undefined;
      this.#undecoded = '';
    }
    let bytes = data;
    if (this.#channel === undefined) {
      const [first] = data;
      if (first === undefined) return; // an empty message
      this.#channel = this.#format.isBase64 ? first - 0x30 : first;
      bytes = data.subarray(1);
    }
    if (this.#format.isBase64) bytes = this.#decoded(bytes, isLast);
    if (bytes.length === 0) return;
    if (this.#format.hasCloseSignal && this.#channel === closeSignal) {
      this.#readable.get(bytes[0] ?? closeSignal)?.finish();
      return;
    }
    const reader = this.#readable.get(this.#channel);
    if (reader?.receive(bytes) === false) this.#socket.pause(reader);
  }

  #decoded(bytes: Buffer, isLast: boolean): Buffer {
    const text = this.#undecoded + bytes.toString('latin1');
    const complete = isLast ? text.length : text.length - (text.length % 4);
    this.#undecoded = text.slice(complete);
    return Buffer.from(text.slice(0, complete), 'base64');
  }
}

/** A channel from the client. */
class ChannelReader extends Readable {
  readonly #onRead: () => void;
  #isFinished = false;

  constructor(onRead: () => void) {
    super({ highWaterMark: maxMessageBytes });
    this.on('error', () => undefined); // the user of a stream may not listen; `close` follows
    this.#onRead = onRead;
  }

  /** Returns false if too much is unread. */
  receive(data: Buffer): boolean {
    if (this.#isFinished || this.destroyed) return true;
    this.push(data);
    return this.readableLength <= maxUnreadBytes;
  }

  finish(): void {
    if (this.#isFinished || this.destroyed) return;
    this.#isFinished = true;
    this.push(null);
  }

  lose(): void {
    if (!this.#isFinished) this.destroy(new Error('the client has disconnected'));
  }

  override _read(): void {
    this.#onRead();
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    this.#onRead();
    done(error);
  }
}
