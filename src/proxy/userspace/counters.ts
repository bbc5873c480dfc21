/** What is counted, in the order of the numbers. */
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

/** Numbers that one thread writes and others read. A number of 64 bits is read whole on the systems there are. */
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
