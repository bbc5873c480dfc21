// Loaded before the command (`node --import`): imports what a server needs, then waits for the end of standard input.
// A test that restarts a server hundreds of times prepares the next process here, so that a restart takes only as long as
// opening the store. The command itself runs unchanged.

import { once } from 'node:events';
import module from 'node:module';
import { isMainThread } from 'node:worker_threads';

// Worker threads inherit --import.
if (isMainThread) {
  module.enableCompileCache(); // as the launcher does
  await Promise.all([
    import('../../src/server/server.ts'),
    import('../../src/store/sqlite/sqlite.ts'),
    import('../../src/server/pki/pki.ts'),
    import('../../src/cli/server/command.ts'),
  ]);
  process.stdin.resume();
  module.flushCompileCache(); // a killed process would not write it
  await once(process.stdin, 'end'); // the test closes it, or has ended
}
