import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/**
 * Frees what this thread has let go of. A thread that makes no garbage never looks for any, and would keep the shared
 * memory of every table that it ever read. Takes a few milliseconds.
 */
export function collectGarbage(): void {
  // Only contexts that are made from here on have the function.
  setFlagsFromString('--expose-gc');
  // A cast: what is looked up is V8's own.
  const collect = runInNewContext('gc') as () => void;
  collect();
}
