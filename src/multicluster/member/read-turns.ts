/** So many members are read at once. */
const mostAtOnce = 24;

/**
 * Members are read a few at a time: a hundred at once would keep this process busy for so long that it renews no lease and
 * hears no answer to a probe meanwhile.
 */
export class ReadTurns {
  #taken = 0;
  readonly #waiting = new Set<() => void>();

  /** Resolves when it is a member's turn, or the signal fires; the function that it gives ends the turn. */
  async take(signal: AbortSignal): Promise<() => void> {
    if (signal.aborted) return () => {};
    if (this.#taken < mostAtOnce) this.#taken++;
    else if (!(await this.#wait(signal))) return () => {};
    let isOver = false;
    return () => {
      if (!isOver) this.#next();
      isOver = true;
    };
  }

  /** Waits for a turn of another to end; false: the signal fired before. */
  #wait(signal: AbortSignal): Promise<boolean> {
    return new Promise((resolve) => {
      const begin = (): void => {
        signal.removeEventListener('abort', leave);
        resolve(true);
      };
      const leave = (): void => {
        this.#waiting.delete(begin);
        resolve(false);
      };
      this.#waiting.add(begin);
      signal.addEventListener('abort', leave, { once: true });
    });
  }

  #next(): void {
    const [begin] = this.#waiting;
    if (begin === undefined) {
      this.#taken--;
      return;
    }
    this.#waiting.delete(begin);
    begin();
  }
}
