import type { KoffiFunc } from 'koffi';

import { loadCLibrary } from '../../machine/c-library.ts';
import { setInterval } from '../../machine/timers.ts';

/** The interval of samples. */
const intervalMs = 2000;
/** Below this share of one core, the process has nothing to do. */
const idleShare = 0.1;
/** The growth that justifies a collection, which takes about 50 ms. */
const worthBytes = 24 << 20;

/** One sample of the process. */
export interface Sample {
  /** CPU used since the last sample, as a share of one core. */
  readonly cpuShare: number;
  readonly residentBytes: number;
}

/** Whether to collect now: at the first moment of rest after work that made the process grow. */
export const shouldCollect = (before: Sample, now: Sample, restingBytes: number): boolean =>
  before.cpuShare >= idleShare && now.cpuShare < idleShare && now.residentBytes - restingBytes > worthBytes;

/** The growth of memory outside of V8 that justifies a trim. */
const worthNativeBytes = 64 << 20;

/** The parts of a process' memory. */
export type Memory = Pick<NodeJS.MemoryUsage, 'rss' | 'heapTotal' | 'external'>;

/** Memory that V8 does not account for: the program, and native code such as TLS, including memory that it keeps free. */
export const nativeBytes = ({ rss, heapTotal, external }: Memory): number => rss - heapTotal - external;

/** Whether to return free native memory to the system; `least` is the minimum so far. */
export const shouldTrim = (memory: Memory, least: number): boolean => nativeBytes(memory) - least > worthNativeBytes;

/**
 * Returns memory to the system after bursts of work. V8 collects garbage when it allocates, so an idle server would keep the
 * garbage of ten thousand writes until the next ones. The C library keeps freed memory, such as the buffers of thousands of
 * TLS connections, until `malloc_trim`.
 */
export function returnMemoryWhenIdle(): Disposable {
  let cpu = process.cpuUsage();
  let before: Sample = { cpuShare: 1, residentBytes: 0 };
  let restingBytes = 0;
  let leastNative = Infinity;
  const release = async (): Promise<void> => {
    await collectGarbage();
    const memory = process.memoryUsage();
    if (shouldTrim(memory, leastNative)) await trimNativeMemory();
    restingBytes = process.memoryUsage.rss();
  };
  const timer = setInterval(() => {
    const { user, system } = process.cpuUsage(cpu);
    cpu = process.cpuUsage();
    const memory = process.memoryUsage();
    leastNative = Math.min(leastNative, nativeBytes(memory));
    const now = { cpuShare: (user + system) / 1000 / intervalMs, residentBytes: memory.rss };
    if (shouldCollect(before, now, restingBytes)) {
      restingBytes = now.residentBytes;
      void release(); // it cannot fail once connected
    }
    before = now;
  }, intervalMs).unref();
  return { [Symbol.dispose]: () => clearInterval(timer) };
}

/** A full collection, through the one public interface that offers it. */
async function collectGarbage(): Promise<void> {
  const { Session } = await import('node:inspector/promises');
  const session = new Session();
  session.connect();
  await session.post('HeapProfiler.collectGarbage');
  session.disconnect();
}

/**
 * Returns the free memory of the C library to the system, where it is glibc. Runs in a thread of the pool, since it takes
 * about 30 ms for 100 MB; this thread waits only if it allocates native memory meanwhile.
 */
export async function trimNativeMemory(): Promise<void> {
  const library = await loadCLibrary();
  if (library === undefined) return;
  let trim: KoffiFunc<(pad: number) => number>;
  try {
    trim = library.koffi.load(null).func('int malloc_trim(size_t pad)');
  } catch {
    return; // another C library, such as musl, returns memory by itself
  }
  await new Promise<void>((resolve) => trim.async(0, () => resolve()));
}
