import assert from 'node:assert/strict';
import { test } from 'node:test';
import { pino } from 'pino';
import { failure } from '../api/errors.ts';
import type { Clock } from './clock.ts';
import { WatchErrors } from './watch-errors.ts';

const silent = pino({ level: 'silent' });

test('reports a failed watch until it recovers or has not failed for a while', () => {
  let now = 0;
  const clock: Clock = { now: () => now, elapsed: () => now, after: () => () => {}, resumedAt: () => 0 };
  const errors = new WatchErrors(silent, clock);
  errors.failed('the watch of pods', new Error('refused'));
  errors.failed('discovery', new Error('late'));
  assert.deepEqual(errors.recent(), ['the watch of pods failed: refused', 'discovery failed: late']);
  errors.recovered('the watch of pods');
  assert.equal(errors.changes('the watch of pods'), 2);
  errors.recovered('the watch of nodes');
  assert.deepEqual(errors.recent(), ['discovery failed: late']);
  now = 36_000;
  assert.deepEqual(errors.recent(), []);
});

test('does not report an expired revision', () => {
  const errors = new WatchErrors(silent);
  errors.failed('the watch of pods', failure({ code: 410, reason: 'Expired', message: 'too old' }));
  assert.deepEqual(errors.recent(), []);
});
