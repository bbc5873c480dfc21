import { entityTooLarge } from '../../api/errors.ts';
import { Semaphore } from '../../machine/semaphore.ts';
import { setImmediate, setTimeout } from '../../machine/timers.ts';
import { KeyedMutex } from './keyed-mutex.ts';

/** Runs the CPU-bound stages of one request. */
export interface Work {
  /** Runs one stage: at once for a small request, in its own slice for a large one. */
  run<T>(stage: () => T): T | Promise<T>;
  /** Runs a stage that can pause between steps, in as many slices as it needs. */
  runSteps<T>(steps: Generator<void, T>): T | Promise<T>;
}

/** Work on bodies and objects up to this size takes a few milliseconds and is not sliced. */
const smallBytes = 64 * 1024;
/** The length of a slice whose stage can pause. */
const sliceMs = 10;
/** A shorter slice is followed by one turn of the event loop, a longer one by a pause as long as the slice. */
const shortMs = 2;
/** Processor time that all slices of a request may take: twenty times what the largest valid body takes. */
const defaultMaxCpuMs = 20_000;

/**
 * Time-slices the event loop between expensive requests. One stage of one request runs at a time, and after it the event
 * loop is free for as long as the stage took. Other requests therefore wait for at most one stage and get half of the
 * event loop, however many expensive requests there are.
 */
export class TimeSlicer {
  readonly #slice = new Semaphore(1);
  readonly #byKey = new KeyedMutex();
  readonly #maxCpuMs: number;

  constructor({ maxCpuMs = defaultMaxCpuMs }: { readonly maxCpuMs?: number } = {}) {
    this.#maxCpuMs = maxCpuMs;
  }

  /** The work of a request on a body or stored object of this size. */
  open(bytes: number): Work {
    return bytes <= smallBytes ? unsliced : new SlicedWork(this, this.#maxCpuMs);
  }

  /** Runs large writes of one key one at a time: concurrently, all but one would conflict. */
  serialize<T>(key: string, write: () => Promise<T>): Promise<T> {
    return this.#byKey.run(key, write);
  }

  /** Resolves when no other slice runs. Must be followed by `end`. */
  begin(): Promise<void> {
    return this.#slice.acquire();
  }

  /** Ends a slice that took `ms`. */
  end(ms: number): void {
    const release = (): void => this.#slice.release();
    if (ms < shortMs) setImmediate(release);
    else setTimeout(release, ms);
  }
}

/** Runs all steps without a pause. */
export function runToEnd<T>(steps: Generator<void, T>): T {
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
  }
}

/** Runs every stage at once. */
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
