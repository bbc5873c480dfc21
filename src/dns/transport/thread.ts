import type { Worker } from 'node:worker_threads';

import { startThread } from '../../machine/thread.ts';

/** A worker makes next to no garbage. */
const resourceLimits = { maxYoungGenerationSizeMb: 4 };

const program = new URL('./worker.ts', import.meta.url);
/** Threads whose program is loaded, for those who need one next. */
const spare: Worker[] = [];

/**
 * Starts threads for servers to come: to load their program takes longer than anything else about them, and can be done
 * while the rest of a process starts. A thread that nobody takes keeps no process running.
 */
export function prestartThreads(count: number): void {
  for (let index = 0; index < count; index++) {
    const thread = startThread(program, { resourceLimits });
    thread.unref();
    // Whoever takes it hears of its end; until then it is only not there.
    thread.once('exit', () => {
      const at = spare.indexOf(thread);
      if (at !== -1) spare.splice(at, 1);
    });
    thread.on('error', () => undefined);
    spare.push(thread);
  }
}

/** A thread with the program of a worker; it waits for a message that says what to do. */
export function takeThread(): Worker {
  const thread = spare.shift() ?? startThread(program, { resourceLimits });
  thread.ref();
  return thread;
}
