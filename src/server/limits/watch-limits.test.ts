import assert from 'node:assert/strict';
import { test } from 'node:test';

import { defaultLimits } from './options.ts';
import type { OutputAccount } from './unsent-bytes.ts';
import { UnsentBytes } from './unsent-bytes.ts';
import { WatchLimits } from './watch-limits.ts';

const silent = { pendingBytes: 0, cut: () => undefined };

test('a user has so many watches, all users have so many, administrators only the latter', () => {
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

test('counts the watches that are cut off because they hold too much', () => {
  const unsent = new UnsentBytes({ maxUnsentBytes: 100, maxUnsentBytesPerUser: 50 });
  const limits = new WatchLimits(defaultLimits, unsent);
  const held: OutputAccount = limits.open('a', { pendingBytes: 51, cut: () => held.close() });
  held.add(51);
  assert.deepEqual([limits.cut, unsent.cut], [1, 1]);
});
