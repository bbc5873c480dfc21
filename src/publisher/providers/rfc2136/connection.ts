// One TCP connection to a DNS server: messages with their length in front (RFC 7766).
import type { Socket } from 'node:net';
import { connect } from 'node:net';
import type { Clock } from '../../../client/clock.ts';
import { afterPendingReads } from '../../../client/clock.ts';
import { joinHostPort } from '../../../api/addresses.ts';
import { ProviderError } from '../provider.ts';

/** The address of a server. */
export interface ServerAddress {
  readonly address: string;
  readonly port: number;
}

export interface ConnectionOptions {
  readonly clock: Clock;
  /** How long a message may take to arrive, however many pieces it comes in. */
  readonly timeoutMs: number;
}

/** The server does not answer, or closed the connection. Whether it has handled the last message is unknown. */
export class ConnectionError extends ProviderError {}

/** The bytes of received messages that wait for the reader. The socket is paused above it. */
const maxBuffered = 1 << 20;
/** The length in front of a message. */
const lengthBytes = 2;

/** A connection. One answer is awaited at a time. */
export class DnsConnection implements Disposable {
  readonly #socket: Socket;
  readonly #name: string;
  readonly #options: ConnectionOptions;
  /** What has arrived of messages that were not read. It is joined once for each message, not for each piece. */
  #pieces: Buffer[] = [];
  #size = 0;
  /** The size at which the next message may be complete. */
  #needed = lengthBytes;
  #error: ConnectionError | undefined;
  #wake: (() => void) | undefined;

  constructor(to: ServerAddress, options: ConnectionOptions) {
    this.#name = joinHostPort(to.address, to.port);
    this.#options = options;
    this.#socket = connect({ host: to.address, port: to.port, noDelay: true });
    this.#socket.on('data', (chunk: Buffer) => {
      this.#pieces.push(chunk);
      this.#size += chunk.length;
      if (this.#size > maxBuffered) this.#socket.pause();
      if (this.#size >= this.#needed) this.#wake?.();
    });
    this.#socket.on('error', (error) => this.#fail(error.message));
    this.#socket.on('close', () => this.#fail('the connection was closed'));
  }

  /** Whether messages can be sent. */
  get isOpen(): boolean {
    return this.#error === undefined;
  }

  /** Sends a message of at most 65,535 bytes. */
  send(message: Uint8Array): void {
    const framed = Buffer.allocUnsafe(message.length + 2);
    framed.writeUInt16BE(message.length, 0);
    framed.set(message, 2);
    this.#socket.write(framed);
  }

  /** The next message. Rejects with a ConnectionError. */
  async receive(signal: AbortSignal): Promise<Uint8Array> {
    const arrived = this.#take();
    if (arrived !== undefined) return arrived;
    const { clock, timeoutMs } = this.#options;
    const abort = (): void => this.#fail('stopped');
    if (signal.aborted) abort();
    signal.addEventListener('abort', abort, { once: true });
    const cancel = afterPendingReads(clock, timeoutMs, () => this.#fail(`no answer within ${timeoutMs / 1000} s`));
    try {
      for (;;) {
        const message = this.#take();
        if (message !== undefined) return message;
        if (this.#error !== undefined) throw this.#error;
        await new Promise<void>((resolve) => (this.#wake = resolve));
      }
    } finally {
      this.#wake = undefined;
      cancel();
      signal.removeEventListener('abort', abort);
    }
  }

  /** The next message, if all of it has arrived. */
  #take(): Uint8Array | undefined {
    if (this.#size < this.#needed) return undefined;
    const received = this.#joined();
    const end = lengthBytes + received.readUInt16BE(0);
    this.#needed = this.#size < end ? end : lengthBytes;
    if (this.#size < end) return undefined;
    this.#pieces = [received.subarray(end)];
    this.#size -= end;
    if (this.#size <= maxBuffered) this.#socket.resume();
    return received.subarray(lengthBytes, end);
  }

  #joined(): Buffer {
    const [only, ...more] = this.#pieces;
    const joined = only !== undefined && more.length === 0 ? only : Buffer.concat(this.#pieces);
    this.#pieces = [joined];
    return joined;
  }

  [Symbol.dispose](): void {
    this.#fail('the connection was closed');
  }

  #fail(why: string): void {
    this.#error ??= new ConnectionError(`DNS server ${this.#name}: ${why}`);
    this.#socket.destroy();
    this.#wake?.();
  }
}
