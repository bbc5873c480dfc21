import type { LimitOptions } from './options.ts';
import type { OutputAccount, BufferedOutput } from './unsent-bytes.ts';
import { UnsentBytes } from './unsent-bytes.ts';

/** Bounds how many watches there are. What they hold for clients that do not read is bounded by `UnsentBytes`. */
export class WatchLimits {
  readonly #options: LimitOptions;
  readonly #unsent: UnsentBytes;
  /** flow → its open watches */
  readonly #open = new Map<string, number>();
  #count = 0;
  #cut = 0;

  constructor(options: LimitOptions, unsent = new UnsentBytes(options)) {
    this.#options = options;
    this.#unsent = unsent;
  }

  /** Watches cut off because they held too much. */
  get cut(): number {
    return this.#cut;
  }

  /** Whether the flow may open another watch; administrators are only bound by what all have. */
  mayOpen(flow: string, isAdministrator: boolean): boolean {
    if (this.#count >= this.#options.maxWatches) return false;
    return isAdministrator || (this.#open.get(flow) ?? 0) < this.#options.maxWatchesPerUser;
  }

  open(flow: string, watch: BufferedOutput): OutputAccount {
    this.#count++;
    this.#open.set(flow, (this.#open.get(flow) ?? 0) + 1);
    const held = this.#unsent.open(flow, {
      get pendingBytes() {
        return watch.pendingBytes;
      },
      cut: () => {
        this.#cut++;
        watch.cut();
      },
    });
    let isOpen = true;
    return {
      ...held,
      close: () => {
        held.close();
        if (!isOpen) return;
        isOpen = false;
        this.#count--;
        const left = (this.#open.get(flow) ?? 1) - 1;
        if (left > 0) this.#open.set(flow, left);
        else this.#open.delete(flow);
      },
    };
  }
}
