import assert from 'node:assert/strict';
import { test } from 'node:test';

import { forEachDespiteErrors } from './despite-errors.ts';

test('does the rest after an error and throws the first one', async () => {
  const done: number[] = [];
  const run = async (item: number): Promise<void> => {
    if (item < 3) throw new Error(`failed: ${item}`);
    done.push(item);
  };
  await assert.rejects(forEachDespiteErrors([1, 2, 3, 4], run), { message: 'failed: 1' });
  assert.deepEqual(done, [3, 4]);
});
