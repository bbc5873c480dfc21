import assert from 'node:assert/strict';
import { test } from 'node:test';

import type { ApiObject } from '../api/metadata.ts';
import { OwnWrites } from './own-writes.ts';

const at = (resourceVersion: string, uid = 'u'): ApiObject => ({ metadata: { name: 'n', uid, resourceVersion } });

function written(...objects: readonly ApiObject[]): OwnWrites {
  const writes = new OwnWrites();
  writes.begin('k');
  for (const each of objects) writes.wrote('k', each, at('1', each.metadata.uid));
  writes.end('k');
  return writes;
}

test('a key waits until the cache shows the last of what was written for it', () => {
  const writes = written(at('5', 'u'), at('6', 'v'));
  assert.equal(writes.isAwaited('k'), true);
  assert.equal(writes.isAwaited('other'), false);
  assert.equal(writes.heard('k', at('4', 'u')), 'own', 'older than ours');
  assert.equal(writes.heard('k', at('5', 'u')), 'own');
  assert.equal(writes.heard('k', at('6', 'v')), 'caught-up');
  assert.equal(writes.isAwaited('k'), false);
});

test('what nobody waits for is quietly taken in', () => {
  const writes = written(at('5'));
  assert.equal(writes.heard('k', at('5')), 'own');
  assert.equal(writes.isAwaited('k'), false);
});

test('what somebody else did is news, after ours and beside it', () => {
  assert.equal(new OwnWrites().heard('k', at('3')), 'news');
  assert.equal(written(at('5')).heard('k', at('7')), 'news');
  assert.equal(written(at('5')).heard('k', at('5', 'w')), 'news');
});

test('an event that comes before the answer is recognised when the answer is there', () => {
  const writes = new OwnWrites();
  writes.begin('k');
  assert.equal(writes.heard('k', at('5')), 'own');
  writes.wrote('k', at('5'), at('4'));
  assert.equal(writes.end('k'), false);
  assert.equal(writes.isAwaited('k'), false);
});

test('somebody else’s event while writes are under way is told when they are over', () => {
  const writes = new OwnWrites();
  writes.begin('k');
  writes.heard('k', at('9', 'other'));
  writes.wrote('k', at('5'), at('4'));
  assert.equal(writes.end('k'), true);
});

test('a write that changed nothing is not waited for', () => {
  const writes = new OwnWrites();
  writes.begin('k');
  writes.wrote('k', at('4'), at('4'));
  writes.end('k');
  assert.equal(writes.isAwaited('k'), false);
});

test('what was removed is waited for until it is gone or about to go', () => {
  for (const isLeaving of [false, true]) {
    const writes = new OwnWrites();
    writes.begin('k');
    writes.removed('k', at('4'));
    writes.end('k');
    assert.equal(writes.isAwaited('k'), true);
    const leaving: ApiObject = { metadata: { ...at('5').metadata, deletionTimestamp: '2026-01-01T00:00:00Z' } };
    assert.equal(isLeaving ? writes.heard('k', leaving) : writes.heard('k', at('4'), true), 'caught-up');
  }
});

test('what is never heard of is given up after a while', () => {
  let now = 0;
  const clock = { now: () => now, elapsed: () => now, after: () => () => undefined, awakeSince: () => 0 };
  const writes = new OwnWrites(clock);
  writes.begin('k');
  writes.wrote('k', at('5'), at('4'));
  writes.end('k');
  assert.equal(writes.isAwaited('k'), true);
  now = 31_000;
  assert.equal(writes.isAwaited('k'), false);
});
