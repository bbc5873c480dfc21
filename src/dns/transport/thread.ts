import { getCompileCacheDir } from 'node:module';
import { dirname } from 'node:path';
import { Worker } from 'node:worker_threads';

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
    const thread = startThread();
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
  const thread = spare.shift() ?? startThread();
  thread.ref();
  return thread;
}

/**
 * Threads do not inherit the compile cache, and without it Node loads its TypeScript stripper once more in each of them;
 * so where this thread has a cache, the worker opens it first.
 */
function startThread(): Worker {
  const cache = getCompileCacheDir();
  if (cache === undefined) return new Worker(program, { resourceLimits });
  // The directory given is that of this version of Node, inside the one to open.
  const bootstrap = `
    const { enableCompileCache, flushCompileCache } = require('node:module');
    enableCompileCache(${JSON.stringify(dirname(cache))});
    import(${JSON.stringify(program.href)}).then(() => flushCompileCache());`;
  return new Worker(bootstrap, { eval: true, resourceLimits });
}
