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

test('a key is pending until the cache contains its last write', () => {
  const writes = written(at('5', 'u'), at('6', 'v'));
  assert.equal(writes.isPending('k'), true);
  assert.equal(writes.isPending('other'), false);
  assert.equal(writes.observe('k', at('4', 'u')), 'own', 'older than ours');
  assert.equal(writes.observe('k', at('5', 'u')), 'own');
  assert.equal(writes.observe('k', at('6', 'v')), 'caught-up');
  assert.equal(writes.isPending('k'), false);
});

test('does not report caught-up for a key that was not postponed', () => {
  const writes = written(at('5'));
  assert.equal(writes.observe('k', at('5')), 'own');
  assert.equal(writes.isPending('k'), false);
});

test('classifies writes of other clients as foreign, on our objects and on others', () => {
  assert.equal(new Expectations().observe('k', at('3')), 'foreign');
  assert.equal(written(at('5')).observe('k', at('7')), 'foreign');
  assert.equal(written(at('5')).observe('k', at('5', 'w')), 'foreign');
});

test('recognizes an event that arrives before the response to the write', () => {
  const writes = new Expectations();
  writes.begin('k');
  assert.equal(writes.observe('k', at('5')), 'own');
  writes.wrote('k', at('5'), at('4'));
  assert.equal(writes.end('k'), false);
  assert.equal(writes.isPending('k'), false);
});

test('end returns whether foreign events arrived during the writes', () => {
  const writes = new Expectations();
  writes.begin('k');
  writes.observe('k', at('9', 'other'));
  writes.wrote('k', at('5'), at('4'));
  assert.equal(writes.end('k'), true);
});

test('does not expect an event of a write that changed nothing', () => {
  const writes = new Expectations();
  writes.begin('k');
  writes.wrote('k', at('4'), at('4'));
  writes.end('k');
  assert.equal(writes.isPending('k'), false);
});

test('expects a deletion until the object is gone or has a deletion timestamp', () => {
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

test('an expectation without an event expires', () => {
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
