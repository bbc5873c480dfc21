import { setImmediate } from '../../machine/timers.ts';

/** More runs than this at once delay I/O and timers. */
const mostPerTurn = 16;

/**
 * Returns a function to await before each piece of work. It lets 16 callers continue in each turn of the event loop, so
 * that thousands of runs without I/O, as after an election when nothing has changed, do not block probes and renewals.
 */
export function yieldToEventLoop(): () => Promise<void> {
  let count = 0;
  let isArmed = false;
  const waiting: (() => void)[] = [];
  const arm = (): void => {
    if (isArmed) return;
    isArmed = true;
    setImmediate(() => {
      isArmed = false;
      const next = waiting.splice(0, mostPerTurn);
      count = next.length;
      if (waiting.length > 0) arm();
      for (const resolve of next) resolve();
    });
  };
  return async () => {
    arm();
    if (count >= mostPerTurn) await new Promise<void>((resolve) => waiting.push(resolve));
    else count++;
  };
}
