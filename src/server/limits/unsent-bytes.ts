import type { LimitOptions } from './options.ts';
import { getOrCompute } from '../../api/maps.ts';

/** A reply or a watch whose client may be behind. */
export interface BufferedOutput {
  /** Bytes that the client has not read yet. */
  readonly pendingBytes: number;
  /** Terminates the output and drops its bytes. */
  abort(): void;
}

/** Counts the pending bytes of one output until it is closed. */
export interface OutputAccount {
  /** Adds pending bytes. May terminate the output with the most bytes, which can be this one. */
  add(bytes: number): void;
  subtract(bytes: number): void;
  close(): void;
}

interface Flow {
  readonly outputs: Set<BufferedOutput>;
  bytes: number;
}

/** Limits the bytes that wait in memory for clients that do not read, per flow and in total. */
export class UnsentBytes {
  readonly #options: Pick<LimitOptions, 'maxUnsentBytes' | 'maxUnsentBytesPerUser'>;
  readonly #flows = new Map<string, Flow>();
  #bytes = 0;
  #terminated = 0;

  constructor(options: Pick<LimitOptions, 'maxUnsentBytes' | 'maxUnsentBytesPerUser'>) {
    this.#options = options;
  }

  /** Bytes that wait in memory. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Replies and watches that were terminated because too many bytes waited. */
  get terminated(): number {
    return this.#terminated;
  }

  /** Whether the flow may send another request; if not, its clients must first read what waits for them. */
  hasRoom(flow: string): boolean {
    return (this.#flows.get(flow)?.bytes ?? 0) < this.#options.maxUnsentBytesPerUser;
  }

  open(key: string, output: BufferedOutput): OutputAccount {
    const flow = getOrCompute(this.#flows, key, (): Flow => ({ outputs: new Set(), bytes: 0 }));
    flow.outputs.add(output);
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
        if (flow.outputs.delete(output) && flow.outputs.size === 0) this.#flows.delete(key);
      },
    };
  }

  /** Terminates the largest output of a flow over its limit; if only the total is exceeded, of the largest flow. */
  #cutLargest(flow: Flow): void {
    const isOverShare = flow.bytes > this.#options.maxUnsentBytesPerUser;
    const worst = isOverShare ? flow : largest(this.#flows.values(), ({ bytes }) => bytes);
    const output = largest(worst?.outputs ?? [], ({ pendingBytes }) => pendingBytes);
    if (output === undefined) return;
    this.#terminated++;
    output.abort();
  }
}

function largest<T>(items: Iterable<T>, size: (item: T) => number): T | undefined {
  let found: T | undefined;
  for (const item of items) if (found === undefined || size(item) > size(found)) found = item;
  return found;
}
