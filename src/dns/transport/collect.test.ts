import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';

import { collectGarbage } from './collect.ts';

test('what nobody holds on to is freed', async () => {
  const held = new SharedArrayBuffer(1024);
  const weak = [held, new SharedArrayBuffer(1024)].map((buffer) => new WeakRef(buffer));
  // What was made or looked at in a turn lives until its end.
  await turn();
  collectGarbage();
  assert.deepEqual(
    weak.map((each) => each.deref()),
    [held, undefined],
  );
});
