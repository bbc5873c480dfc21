import type { LimitOptions } from './options.ts';

/** A watch, as far as limits go. */
export interface Holder {
  /** Bytes that its client has not taken yet. */
  readonly pendingBytes: number;
  /** Ends it, with all it holds. */
  cut(): void;
}

/** A watch that is counted, until it is closed. */
export interface OpenWatch {
  /** Its pending bytes have grown. May cut off the watch that holds most, which may be this one. */
  hold(bytes: number): void;
  release(bytes: number): void;
  close(): void;
}

interface Flow {
  readonly holders: Set<Holder>;
  bytes: number;
}

/** Bounds how many watches there are, and how much they hold for clients that do not read. */
export class WatchLimits {
  readonly #options: LimitOptions;
  readonly #flows = new Map<string, Flow>();
  #count = 0;
  #bytes = 0;
  #cut = 0;

  constructor(options: LimitOptions) {
    this.#options = options;
  }

  /** Bytes held for clients that are behind. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Watches cut off because they held too much. */
  get cut(): number {
    return this.#cut;
  }

  /** Whether the flow may open another watch; administrators are only bound by what all have. */
  mayOpen(flow: string, isAdministrator: boolean): boolean {
    if (this.#count >= this.#options.maxWatches) return false;
    return isAdministrator || (this.#flows.get(flow)?.holders.size ?? 0) < this.#options.maxWatchesPerUser;
  }

  open(key: string, holder: Holder): OpenWatch {
    const flow = this.#flows.getOrInsertComputed(key, () => ({ holders: new Set(), bytes: 0 }));
    flow.holders.add(holder);
    this.#count++;
    const release = (bytes: number): void => {
      flow.bytes -= bytes;
      this.#bytes -= bytes;
    };
    return {
      hold: (bytes) => {
        flow.bytes += bytes;
        this.#bytes += bytes;
        if (flow.bytes > this.#options.maxWatchBytesPerUser || this.#bytes > this.#options.maxWatchBytes) {
          this.#cutLargest(flow);
        }
      },
      release,
      close: () => {
        if (!flow.holders.delete(holder)) return;
        this.#count--;
        if (flow.holders.size === 0) this.#flows.delete(key);
      },
    };
  }

  /** The worst watch of the flow goes; when it is all flows together that hold too much, the worst of the worst. */
  #cutLargest(flow: Flow): void {
    const isOwnFault = flow.bytes > this.#options.maxWatchBytesPerUser;
    const worst = isOwnFault ? flow : largest(this.#flows.values(), ({ bytes }) => bytes);
    const holder = largest(worst?.holders ?? [], ({ pendingBytes }) => pendingBytes);
    if (holder === undefined) return;
    this.#cut++;
    holder.cut();
  }
}

function largest<T>(items: Iterable<T>, size: (item: T) => number): T | undefined {
  let found: T | undefined;
  for (const item of items) if (found === undefined || size(item) > size(found)) found = item;
  return found;
}
