import { getCompileCacheDir } from 'node:module';
import { dirname } from 'node:path';
import { Worker } from 'node:worker_threads';

/** A worker makes next to no garbage. */
const resourceLimits = { maxYoungGenerationSizeMb: 4 };

/**
 * Starts a program in a worker thread. Threads do not inherit the compile cache, and without it Node loads its TypeScript
 * stripper once more in each of them; so where this thread has a cache, the worker opens it first.
 */
export function startThread(program: URL, workerData: unknown): Worker {
  const cache = getCompileCacheDir();
  if (cache === undefined) return new Worker(program, { workerData, resourceLimits });
  // The directory given is that of this version of Node, inside the one to open.
  const bootstrap = `
    const { enableCompileCache, flushCompileCache } = require('node:module');
    enableCompileCache(${JSON.stringify(dirname(cache))});
    import(${JSON.stringify(program.href)}).then(() => flushCompileCache());`;
  return new Worker(bootstrap, { eval: true, workerData, resourceLimits });
}
