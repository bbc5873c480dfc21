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
  /** How long the server may send nothing while an answer is awaited. */
  readonly timeoutMs: number;
}

/** The server does not answer, or closed the connection. Whether it has handled the last message is unknown. */
export class ConnectionError extends ProviderError {}

/** The bytes of received messages that wait for the reader. The socket is paused above it. */
const maxBuffered = 1 << 20;

/** A connection. One answer is awaited at a time. */
export class DnsConnection implements Disposable {
  readonly #socket: Socket;
  readonly #name: string;
  readonly #options: ConnectionOptions;
  #received: Buffer = Buffer.alloc(0);
  #error: ConnectionError | undefined;
  #wake: (() => void) | undefined;

  constructor(to: ServerAddress, options: ConnectionOptions) {
    this.#name = joinHostPort(to.address, to.port);
    this.#options = options;
    this.#socket = connect({ host: to.address, port: to.port, noDelay: true });
    this.#socket.on('data', (chunk: Buffer) => {
      this.#received = this.#received.length === 0 ? chunk : Buffer.concat([this.#received, chunk]);
      if (this.#received.length > maxBuffered) this.#socket.pause();
      this.#wake?.();
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
    for (;;) {
      const size = this.#received.length < 2 ? Infinity : 2 + this.#received.readUInt16BE(0);
      if (this.#received.length >= size) {
        const message = this.#received.subarray(2, size);
        this.#received = this.#received.subarray(size);
        if (this.#received.length <= maxBuffered) this.#socket.resume();
        return message;
      }
      if (this.#error !== undefined) throw this.#error;
      await this.#more(signal);
    }
  }

  [Symbol.dispose](): void {
    this.#fail('the connection was closed');
  }

  /** Resolves when something has arrived or the connection has failed. */
  async #more(signal: AbortSignal): Promise<void> {
    const { clock, timeoutMs } = this.#options;
    const abort = (): void => this.#fail('stopped');
    if (signal.aborted) return abort();
    signal.addEventListener('abort', abort, { once: true });
    const cancel = afterPendingReads(clock, timeoutMs, () => this.#fail(`no answer within ${timeoutMs / 1000} s`));
    await new Promise<void>((resolve) => (this.#wake = resolve));
    this.#wake = undefined;
    cancel();
    signal.removeEventListener('abort', abort);
  }

  #fail(why: string): void {
    this.#error ??= new ConnectionError(`DNS server ${this.#name}: ${why}`);
    this.#socket.destroy();
    this.#wake?.();
  }
}
