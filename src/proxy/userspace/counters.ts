/** The counters, in the order in which they are stored. */
const counterNames = [
  'open',
  'accepted',
  'refused',
  'limited',
  'dialFailures',
  'failed',
  'bytesUp',
  'bytesDown',
] as const;
export type CounterName = (typeof counterNames)[number];

/** Counters in shared memory that one thread writes and others read. Reads of 64 bits are atomic on supported systems. */
export class Counters {
  readonly memory: SharedArrayBuffer;
  readonly #values: Float64Array;

  constructor(memory = new SharedArrayBuffer(counterNames.length * 8)) {
    this.memory = memory;
    this.#values = new Float64Array(memory);
  }

  add(name: CounterName, by = 1): void {
    const at = counterNames.indexOf(name);
    this.#values[at] = (this.#values[at] ?? 0) + by;
  }

  get(name: CounterName): number {
    return this.#values[counterNames.indexOf(name)] ?? 0;
  }
}
