import { setTimeout } from '../../machine/timers.ts';
import type { OutputAccount, BufferedOutput } from '../limits/unsent-bytes.ts';
import type { BodyReply } from '../reply.ts';

/** What the client of one answer has not taken yet. Cuts the client off when the waits for it add up to `patienceMs`. */
export class Backlog implements BufferedOutput {
  readonly #held: OutputAccount | undefined;
  readonly #cut: () => void;
  #patienceMs: number;
  #bytes = 0;
  #since = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor({ hold }: BodyReply, cut: () => void, patienceMs: number) {
    this.#cut = cut;
    this.#patienceMs = patienceMs;
    this.#held = hold?.(this);
  }

  get pendingBytes(): number {
    return this.#bytes;
  }

  /** The client has yet to take `bytes`. */
  begin(bytes: number): void {
    this.#bytes = bytes;
    this.#since = performance.now();
    this.#timer = setTimeout(() => this.cut(), Math.max(0, this.#patienceMs));
    this.#held?.add(bytes);
  }

  /** The client has taken them. */
  end(): void {
    if (this.#timer === undefined) return;
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#patienceMs -= performance.now() - this.#since;
    this.#held?.subtract(this.#bytes);
    this.#bytes = 0;
  }

  cut(): void {
    this.#cut();
    this.close();
  }

  /** The answer is sent or abandoned. */
  close(): void {
    this.end();
    this.#held?.close();
  }
}
