import type { LimitOptions } from './options.ts';
import type { OutputAccount, BufferedOutput } from './unsent-bytes.ts';
import { UnsentBytes } from './unsent-bytes.ts';

/** Limits the number of watches. `UnsentBytes` limits the bytes that they buffer. */
export class WatchLimits {
  readonly #options: LimitOptions;
  readonly #unsent: UnsentBytes;
  /** flow → its open watches */
  readonly #open = new Map<string, number>();
  #count = 0;
  #terminated = 0;

  constructor(options: LimitOptions, unsent = new UnsentBytes(options)) {
    this.#options = options;
    this.#unsent = unsent;
  }

  /** Watches that were terminated because they buffered too much. */
  get terminated(): number {
    return this.#terminated;
  }

  /** Whether the flow may open another watch. Only the total applies to administrators. */
  mayOpen(flow: string, isAdministrator: boolean): boolean {
    if (this.#count >= this.#options.maxWatches) return false;
    return isAdministrator || (this.#open.get(flow) ?? 0) < this.#options.maxWatchesPerUser;
  }

  open(flow: string, watch: BufferedOutput): OutputAccount {
    this.#count++;
    this.#open.set(flow, (this.#open.get(flow) ?? 0) + 1);
    const account = this.#unsent.open(flow, {
      get pendingBytes() {
        return watch.pendingBytes;
      },
      abort: () => {
        this.#terminated++;
        watch.abort();
      },
    });
    let isOpen = true;
    return {
      ...account,
      close: () => {
        account.close();
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
