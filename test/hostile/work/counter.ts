// Counts the work of code under src/, without instrumentation and without a clock. Three numbers, since each alone
// misses something:
//   blocks    executions of blocks of our source and of packages, as V8's precise coverage counts them
//   builtins  elements and characters passed to builtins that scan or copy (`includes`, `splice`, JSON, …)
//   bytes     allocated on the heap, which also covers copies by spreading

import { Session } from 'node:inspector';
import type { Profiler } from 'node:inspector';
import { getHeapStatistics } from 'node:v8';

/** The cost of a piece of work. */
export interface Work {
  readonly blocks: number;
  readonly builtins: number;
  readonly bytes: number;
}

let scanned = 0;

/** Counts from its creation on; the process is slower afterwards. */
export class WorkCounter {
  readonly #session = new Session();

  constructor() {
    instrumentBuiltins();
    this.#session.connect();
    this.#post('Profiler.enable');
    this.#post('Profiler.startPreciseCoverage', { callCount: true, detailed: true });
  }

  /** The cost of a piece of work, with everything that it causes until it resolves. */
  async count(work: () => Promise<unknown>): Promise<Work> {
    this.#takeBlocks(); // resets the counts
    const [scannedBefore, bytesBefore] = [scanned, allocatedBytes()];
    await work();
    const [builtins, bytes] = [scanned - scannedBefore, allocatedBytes() - bytesBefore];
    return { blocks: this.#takeBlocks(), builtins, bytes };
  }

  #takeBlocks(): number {
    const { result } = this.#post('Profiler.takePreciseCoverage') as Profiler.TakePreciseCoverageReturnType;
    let sum = 0;
    for (const { url, functions } of result) {
      if (!url.startsWith('file:') || url.includes('/test/')) continue;
      for (const { ranges } of functions) for (const { count } of ranges) sum += count;
    }
    return sum;
  }

  /** Sessions of the same thread respond before the call returns. */
  #post(method: string, parameters: object = {}): unknown {
    let answer: unknown;
    this.#session.post(method, parameters, (error, result) => {
      if (error !== null) throw error;
      answer = result;
    });
    return answer;
  }
}

const allocatedBytes = (): number =>
  (getHeapStatistics() as { readonly total_allocated_bytes?: number }).total_allocated_bytes ?? 0;

type Method = (this: unknown, ...given: readonly unknown[]) => unknown;

/** The number of elements or characters of a value. */
const sizeOf = (value: unknown): number => {
  if (typeof value === 'string' || Array.isArray(value) || Buffer.isBuffer(value)) return value.length;
  return value instanceof Set || value instanceof Map ? value.size : 1;
};

/** The cost of a call, from its receiver, arguments and result. */
type Cost = (self: unknown, given: readonly unknown[], result: unknown) => number;

const wholeOfThis: Cost = (self) => sizeOf(self);
const firstArgument: Cost = (_, [first]) => sizeOf(first);
const itsResult: Cost = (_self, _given, result) => sizeOf(result);

/** The part from the start of the search to the match. */
const untilFound: Cost = (self, [, from], result) => {
  const start = typeof from === 'number' && from > 0 ? from : 0;
  return (typeof result === 'number' && result >= 0 ? result : sizeOf(self)) - start + 1;
};

/** The elements behind the position are moved. */
const behindPlace: Cost = (self, [place]) => sizeOf(self) - (typeof place === 'number' && place > 0 ? place : 0) + 1;

/** The part of the input that a sticky or global expression searches, from its last index. */
const fromLastIndex: Cost = (self, [text], result) => {
  const { lastIndex } = self as RegExp;
  return lastIndex > 0 && result !== null ? sizeOf(Array.isArray(result) ? result[0] : '') : sizeOf(text);
};

function count(owner: object, cost: Cost, names: readonly (string | symbol)[]): void {
  for (const name of names) {
    const original = Reflect.get(owner, name) as Method;
    const counted: Method = function (...given) {
      const result = Reflect.apply(original, this, given);
      scanned += cost(this, given, result);
      return result;
    };
    Object.defineProperty(owner, name, { value: counted, writable: true, configurable: true });
  }
}

let isInstrumented = false;

function instrumentBuiltins(): void {
  if (isInstrumented) return;
  isInstrumented = true;
  count(Array.prototype, untilFound, ['indexOf', 'lastIndexOf']);
  count(Array.prototype, behindPlace, ['splice']);
  count(Array.prototype, itsResult, ['concat', 'slice', 'flat', 'join']);
  const whole = ['includes', 'shift', 'unshift', 'reverse', 'fill', 'sort', 'toSorted', 'toSpliced', 'toReversed'];
  count(Array.prototype, wholeOfThis, [...whole, 'with', Symbol.iterator]);
  count(String.prototype, untilFound, ['indexOf', 'lastIndexOf']);
  count(String.prototype, wholeOfThis, ['includes', 'split', 'replace', 'replaceAll', 'match', 'normalize']);
  count(Set.prototype, wholeOfThis, ['union', 'difference', 'intersection', Symbol.iterator]);
  count(Map.prototype, wholeOfThis, [Symbol.iterator]);
  count(Object, itsResult, ['keys', 'values', 'entries', 'getOwnPropertyNames']);
  count(Object, firstArgument, ['fromEntries']);
  count(JSON, itsResult, ['stringify']);
  count(JSON, firstArgument, ['parse']);
  count(Buffer, firstArgument, ['byteLength', 'from', 'concat']);
  count(RegExp.prototype, fromLastIndex, ['test', 'exec']);
}
