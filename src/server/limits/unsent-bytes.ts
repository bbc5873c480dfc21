import type { LimitOptions } from './options.ts';

/** An answer or a watch whose client may be behind. */
export interface BufferedOutput {
  /** Bytes that the client has not taken yet. */
  readonly pendingBytes: number;
  /** Ends it and drops its bytes. */
  cut(): void;
}

/** A holder whose bytes are counted, until it is closed. */
export interface OutputAccount {
  /** Its pending bytes have grown. May cut off the holder with the most bytes, which may be this one. */
  add(bytes: number): void;
  subtract(bytes: number): void;
  close(): void;
}

interface Flow {
  readonly holders: Set<BufferedOutput>;
  bytes: number;
}

/** Bounds the bytes that wait in memory for clients that do not read: of one flow, and of all together. */
export class UnsentBytes {
  readonly #options: Pick<LimitOptions, 'maxUnsentBytes' | 'maxUnsentBytesPerUser'>;
  readonly #flows = new Map<string, Flow>();
  #bytes = 0;
  #cut = 0;

  constructor(options: Pick<LimitOptions, 'maxUnsentBytes' | 'maxUnsentBytesPerUser'>) {
    this.#options = options;
  }

  /** Bytes that wait for clients. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Answers and watches that were cut off because too much waited. */
  get cut(): number {
    return this.#cut;
  }

  /** Whether the flow may ask for more: its clients have to take what waits for them first. */
  hasRoom(flow: string): boolean {
    return (this.#flows.get(flow)?.bytes ?? 0) < this.#options.maxUnsentBytesPerUser;
  }

  open(key: string, holder: BufferedOutput): OutputAccount {
    const flow = this.#flows.getOrInsertComputed(key, () => ({ holders: new Set(), bytes: 0 }));
    flow.holders.add(holder);
    return {
      add: (bytes) => {
        flow.bytes += bytes;
        this.#bytes += bytes;
        if (flow.bytes > this.#options.maxUnsentBytesPerUser || this.#bytes > this.#options.maxUnsentBytes) {
          this.#cutLargest(flow);
        }
      },
      subtract: (bytes) => {
        flow.bytes -= bytes;
        this.#bytes -= bytes;
      },
      close: () => {
        if (flow.holders.delete(holder) && flow.holders.size === 0) this.#flows.delete(key);
      },
    };
  }

  /** Cuts off the largest of the flow that holds too much; if only the total is too much, the largest of the largest flow. */
  #cutLargest(flow: Flow): void {
    const isOverShare = flow.bytes > this.#options.maxUnsentBytesPerUser;
    const worst = isOverShare ? flow : largest(this.#flows.values(), ({ bytes }) => bytes);
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
