import type { Worker } from 'node:worker_threads';

import { startThread } from '../../machine/thread.ts';

/** Workers allocate almost nothing. */
const resourceLimits = { maxYoungGenerationSizeMb: 4 };

const program = new URL('./worker.ts', import.meta.url);
/** Threads that have loaded their program and wait for a setup message. */
const spare: Worker[] = [];

/**
 * Starts threads for servers that start later: loading their program takes longest, and can overlap with the rest of the
 * start-up. Unused threads do not keep the process running.
 */
export function prestartThreads(count: number): void {
  for (let index = 0; index < count; index++) {
    const thread = startThread(program, { resourceLimits });
    thread.unref();
    // Removes a thread that exits before it is used.
    thread.once('exit', () => {
      const at = spare.indexOf(thread);
      if (at !== -1) spare.splice(at, 1);
    });
    thread.on('error', () => undefined);
    spare.push(thread);
  }
}

/** Takes a thread with the program of a worker; it waits for a setup message. */
export function takeThread(): Worker {
  const thread = spare.shift() ?? startThread(program, { resourceLimits });
  thread.ref();
  return thread;
}
