import assert from 'node:assert/strict';
import { test } from 'node:test';

import { defaultLimits } from './options.ts';
import type { OutputAccount } from './unsent-bytes.ts';
import { UnsentBytes } from './unsent-bytes.ts';
import { WatchLimits } from './watch-limits.ts';

const silent = { pendingBytes: 0, abort: () => undefined };

test('limits the watches per user and in total, and those of administrators in total only', () => {
  const limits = new WatchLimits({ ...defaultLimits, maxWatches: 3, maxWatchesPerUser: 2 });
  const first = limits.open('a', silent);
  limits.open('a', silent);
  assert.deepEqual(
    [limits.mayOpen('a', false), limits.mayOpen('a', true), limits.mayOpen('b', false)],
    [false, true, true],
  );
  limits.open('b', silent);
  assert.deepEqual([limits.mayOpen('c', false), limits.mayOpen('c', true)], [false, false]);
  first.close();
  first.close();
  assert.deepEqual([limits.mayOpen('a', false), limits.mayOpen('c', false)], [true, true]);
});

test('counts the watches that are terminated because they buffer too much', () => {
  const unsent = new UnsentBytes({ maxUnsentBytes: 100, maxUnsentBytesPerUser: 50 });
  const limits = new WatchLimits(defaultLimits, unsent);
  const account: OutputAccount = limits.open('a', { pendingBytes: 51, abort: () => account.close() });
  account.add(51);
  assert.deepEqual([limits.terminated, unsent.terminated], [1, 1]);
});
