import { setImmediate } from '../../machine/timers.ts';

/** So many go on before what has come is read, and timers run. */
const mostInTurn = 16;

/**
 * Lets work go on a little in each turn of the event loop. Work that turns out to need no answer from anybody, as when a
 * controller begins anew and all is as it should be, would otherwise hold up everything until the last of it is done.
 */
export class Turns {
  readonly #waiting: (() => void)[] = [];
  #count = 0;
  #isArmed = false;

  /** Resolves when it is one's turn. */
  async take(): Promise<void> {
    if (this.#count >= mostInTurn) await new Promise<void>((resolve) => this.#waiting.push(resolve));
    else this.#count++;
    this.#arm();
  }

  #arm(): void {
    if (this.#isArmed) return;
    this.#isArmed = true;
    setImmediate(() => {
      this.#isArmed = false;
      const next = this.#waiting.splice(0, mostInTurn);
      this.#count = next.length;
      if (this.#waiting.length > 0) this.#arm();
      for (const resolve of next) resolve();
    });
  }
}
