import assert from 'node:assert/strict';
import { test } from 'node:test';

import type { ApiObject } from '../api/metadata.ts';
import { Expectations } from './expectations.ts';

const at = (resourceVersion: string, uid = 'u'): ApiObject => ({ metadata: { name: 'n', uid, resourceVersion } });

function written(...objects: readonly ApiObject[]): Expectations {
  const writes = new Expectations();
  writes.begin('k');
  for (const each of objects) writes.wrote('k', each, at('1', each.metadata.uid));
  writes.end('k');
  return writes;
}

test('a key waits until the cache shows the last of what was written for it', () => {
  const writes = written(at('5', 'u'), at('6', 'v'));
  assert.equal(writes.isPending('k'), true);
  assert.equal(writes.isPending('other'), false);
  assert.equal(writes.observe('k', at('4', 'u')), 'own', 'older than ours');
  assert.equal(writes.observe('k', at('5', 'u')), 'own');
  assert.equal(writes.observe('k', at('6', 'v')), 'caught-up');
  assert.equal(writes.isPending('k'), false);
});

test('what nobody waits for is quietly taken in', () => {
  const writes = written(at('5'));
  assert.equal(writes.observe('k', at('5')), 'own');
  assert.equal(writes.isPending('k'), false);
});

test('what somebody else did is news, after ours and beside it', () => {
  assert.equal(new Expectations().observe('k', at('3')), 'foreign');
  assert.equal(written(at('5')).observe('k', at('7')), 'foreign');
  assert.equal(written(at('5')).observe('k', at('5', 'w')), 'foreign');
});

test('an event that comes before the answer is recognised when the answer is there', () => {
  const writes = new Expectations();
  writes.begin('k');
  assert.equal(writes.observe('k', at('5')), 'own');
  writes.wrote('k', at('5'), at('4'));
  assert.equal(writes.end('k'), false);
  assert.equal(writes.isPending('k'), false);
});

test('somebody else’s event while writes are under way is told when they are over', () => {
  const writes = new Expectations();
  writes.begin('k');
  writes.observe('k', at('9', 'other'));
  writes.wrote('k', at('5'), at('4'));
  assert.equal(writes.end('k'), true);
});

test('a write that changed nothing is not waited for', () => {
  const writes = new Expectations();
  writes.begin('k');
  writes.wrote('k', at('4'), at('4'));
  writes.end('k');
  assert.equal(writes.isPending('k'), false);
});

test('what was removed is waited for until it is gone or about to go', () => {
  for (const isLeaving of [false, true]) {
    const writes = new Expectations();
    writes.begin('k');
    writes.removed('k', at('4'));
    writes.end('k');
    assert.equal(writes.isPending('k'), true);
    const leaving: ApiObject = { metadata: { ...at('5').metadata, deletionTimestamp: '2026-01-01T00:00:00Z' } };
    assert.equal(isLeaving ? writes.observe('k', leaving) : writes.observe('k', at('4'), true), 'caught-up');
  }
});

test('what is never heard of is given up after a while', () => {
  let now = 0;
  const clock = { now: () => now, elapsed: () => now, after: () => () => undefined, resumedAt: () => 0 };
  const writes = new Expectations(clock);
  writes.begin('k');
  writes.wrote('k', at('5'), at('4'));
  writes.end('k');
  assert.equal(writes.isPending('k'), true);
  now = 31_000;
  assert.equal(writes.isPending('k'), false);
});
