import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';

import { collectGarbage } from './worker.ts';

test('collectGarbage frees unreferenced objects', async () => {
  const held = new SharedArrayBuffer(1024);
  const weak = [held, new SharedArrayBuffer(1024)].map((buffer) => new WeakRef(buffer));
  // Weak references keep their target until the end of a turn.
  await turn();
  collectGarbage();
  assert.deepEqual(
    weak.map((each) => each.deref()),
    [held, undefined],
  );
});
