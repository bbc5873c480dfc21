import { setInterval } from '../../machine/timers.ts';

/** How often to look. */
const intervalMs = 2000;
/** Below this share of one core, the process has nothing to do. */
const idleShare = 0.1;
/** Growth that is worth a collection, which takes some 50 ms. */
const worthBytes = 24 << 20;

/** What one look saw. */
export interface Look {
  /** CPU used since the last look, as a share of one core. */
  readonly cpuShare: number;
  readonly residentBytes: number;
}

/** Whether to collect now: at the first moment of rest after work that made the process grow. */
export const shouldCollect = (before: Look, now: Look, restingBytes: number): boolean =>
  before.cpuShare >= idleShare && now.cpuShare < idleShare && now.residentBytes - restingBytes > worthBytes;

/**
 * Gives memory back after bursts of work. V8 collects when it allocates, so a server that rests after ten thousand
 * writes would hold their garbage until the next ones.
 */
export function returnMemoryWhenIdle(): Disposable {
  let cpu = process.cpuUsage();
  let before: Look = { cpuShare: 1, residentBytes: 0 };
  let restingBytes = 0;
  const timer = setInterval(() => {
    const { user, system } = process.cpuUsage(cpu);
    cpu = process.cpuUsage();
    const now = { cpuShare: (user + system) / 1000 / intervalMs, residentBytes: process.memoryUsage.rss() };
    if (shouldCollect(before, now, restingBytes)) {
      restingBytes = now.residentBytes;
      void collectGarbage().then(() => (restingBytes = process.memoryUsage.rss())); // it cannot fail once connected
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
