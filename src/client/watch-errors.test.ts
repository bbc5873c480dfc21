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
  const complaints = new WatchErrors(silent, clock);
  complaints.failed('the watch of pods', new Error('refused'));
  complaints.failed('discovery', new Error('late'));
  assert.deepEqual(complaints.recent(), ['the watch of pods failed: refused', 'discovery failed: late']);
  complaints.recovered('the watch of pods');
  complaints.recovered('the watch of nodes');
  assert.deepEqual(complaints.recent(), ['discovery failed: late']);
  now = 36_000;
  assert.deepEqual(complaints.recent(), []);
});

test('does not report an expired revision', () => {
  const complaints = new WatchErrors(silent);
  complaints.failed('the watch of pods', failure({ code: 410, reason: 'Expired', message: 'too old' }));
  assert.deepEqual(complaints.recent(), []);
});
