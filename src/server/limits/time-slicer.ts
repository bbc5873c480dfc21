import { entityTooLarge } from '../../api/errors.ts';
import { setImmediate, setTimeout } from '../../machine/timers.ts';
import { KeyedMutex } from './keyed-mutex.ts';

/** What one request does on the event loop. */
export interface Work {
  /** Runs one stage: at once for a small request, in a slice of its own for a large one. */
  run<T>(stage: () => T): T | Promise<T>;
  /** Runs a stage that can stop between two steps: in as many slices as it needs. */
  runSteps<T>(steps: Generator<void, T>): T | Promise<T>;
}

/** Work on bodies and objects up to this size, which takes a few milliseconds, is not sliced. */
const smallBytes = 64 * 1024;
/** How long a slice lasts where its stage can stop. */
const sliceMs = 10;
/** Slices that are shorter are followed by a turn of the event loop, longer ones by a pause of the same length. */
const shortMs = 2;
/** Processor time that a request may take in all its slices: twenty times what the largest body takes. */
const defaultMaxCpuMs = 20_000;

/**
 * Shares the event loop between the requests that need much of it: one of them works at a time, a stage at a time, and
 * after each stage the loop is free for as long as the stage took. So however many there are, every other request waits
 * for at most one stage, and then has half of the loop.
 */
export class TimeSlicer {
  readonly #waiting: (() => void)[] = [];
  readonly #byKey = new KeyedMutex();
  readonly #maxCpuMs: number;
  #isBusy = false;

  constructor({ maxCpuMs = defaultMaxCpuMs }: { readonly maxCpuMs?: number } = {}) {
    this.#maxCpuMs = maxCpuMs;
  }

  /** The work of a request on so many bytes, of its body or of the stored object. */
  open(bytes: number): Work {
    return bytes <= smallBytes ? unsliced : new SlicedWork(this, this.#maxCpuMs);
  }

  /** Runs the large writes of one key one after the other: in parallel, all but one would conflict. */
  serialize<T>(key: string, write: () => Promise<T>): Promise<T> {
    return this.#byKey.run(key, write);
  }

  /** Resolves when nobody else works. Must be followed by `end`. */
  begin(): Promise<void> {
    if (this.#isBusy) return new Promise((resolve) => this.#waiting.push(resolve));
    this.#isBusy = true;
    return Promise.resolve();
  }

  /** A slice has ended that took so long. */
  end(ms: number): void {
    const next = (): void => {
      const resolve = this.#waiting.shift();
      if (resolve === undefined) this.#isBusy = false;
      else resolve();
    };
    if (ms < shortMs) setImmediate(next);
    else setTimeout(next, ms);
  }
}

/** All steps, one after the other. */
export function runToEnd<T>(steps: Generator<void, T>): T {
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
  }
}

/** Work that is not sliced. */
export const unsliced: Work = { run: (stage) => stage(), runSteps: runToEnd };

class SlicedWork implements Work {
  readonly #slicer: TimeSlicer;
  readonly #maxCpuMs: number;
  #cpuMs = 0;

  constructor(slicer: TimeSlicer, maxCpuMs: number) {
    this.#slicer = slicer;
    this.#maxCpuMs = maxCpuMs;
  }

  async run<T>(stage: () => T): Promise<T> {
    await this.#slicer.begin();
    const startedMs = performance.now();
    const startedCpu = process.threadCpuUsage();
    try {
      if (this.#cpuMs > this.#maxCpuMs) throw tooExpensive(this.#maxCpuMs);
      return stage();
    } finally {
      const { user, system } = process.threadCpuUsage(startedCpu);
      this.#cpuMs += (user + system) / 1000;
      this.#slicer.end(performance.now() - startedMs);
    }
  }

  async runSteps<T>(steps: Generator<void, T>): Promise<T> {
    for (;;) {
      const step = await this.run(() => {
        const endMs = performance.now() + sliceMs;
        let next = steps.next();
        while (next.done !== true && performance.now() < endMs) next = steps.next();
        return next;
      });
      if (step.done === true) return step.value;
    }
  }
}

const tooExpensive = (maxCpuMs: number): Error =>
  entityTooLarge(
    `it took more than ${maxCpuMs / 1000} s of processor time, the limit for one request; send fewer fields, list items or patch operations at once`,
  );
