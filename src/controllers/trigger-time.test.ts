import assert from 'node:assert/strict';
import { test } from 'node:test';

import { pod, service } from './testing/objects.ts';
import { triggerTime } from './trigger-time.ts';

const web = service({}, { creationTimestamp: '2026-01-02T00:00:00Z' });
const first = [pod('a', { readyAt: '2026-01-03T00:00:00Z' }), pod('b', { readyAt: '2026-01-04T00:00:00Z' })];

test('uses the earliest time at the first reconcile', () => {
  assert.equal(triggerTime(web, first, undefined).time, '2026-01-02T00:00:00Z');
});

test('uses only changed times later', () => {
  const { seen } = triggerTime(web, first, undefined);
  assert.equal(triggerTime(web, first, seen).time, undefined);
  const changed = [
    pod('a', { readyAt: '2026-01-06T00:00:00Z' }),
    pod('b', { readyAt: '2026-01-05T00:00:00Z' }),
    pod('c', { readyAt: '2026-01-07T00:00:00Z' }),
  ];
  assert.equal(triggerTime(web, changed, seen).time, '2026-01-05T00:00:00Z');
});

test('a deleted Pod has no time', () => {
  const { seen } = triggerTime(web, first, undefined);
  assert.equal(triggerTime(web, first.slice(1), seen).time, undefined);
});
