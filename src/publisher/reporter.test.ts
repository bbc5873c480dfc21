import assert from 'node:assert/strict';
import { test } from 'node:test';
import { serviceKind } from '../api/kinds/core/service/kind.ts';
import type { PlannedEvent } from '../client/event-correlator.ts';
import { service } from './plan/testing/objects.ts';
import { Reporter } from './reporter.ts';

/** A reporter of one Service, with its Events and log lines. */
function reporterOf(resource: string) {
  const events: string[] = [];
  const logged: string[] = [];
  const log = (_: unknown, text = ''): void => void logged.push(text);
  const record = (_kind: unknown, _object: unknown, { reason, message }: PlannedEvent): void =>
    void events.push(`${reason}: ${message}`);
  const find = (each: string) => (each === resource ? { kind: serviceKind, object: service() } : undefined);
  const reporter = new Reporter({ log: { info: log, warn: log }, recorder: { record }, sources: { find } });
  return { reporter, events, logged };
}

const resource = 'service/default/shop';

test('a zone that cannot be written to is reported once for each cause, and when it can be written to again', () => {
  const { reporter, events, logged } = reporterOf(resource);
  for (const seconds of [999, 1000, 1001])
    reporter.failed('example.org', `BADTIME: its clock is ${seconds} s ahead`, [resource, 'service/default/gone']);
  reporter.failed('example.org', 'ECONNREFUSED', [resource]);
  reporter.recovered('example.org');
  reporter.recovered('example.org');
  assert.deepEqual(logged, [
    'records are not published: BADTIME: its clock is 999 s ahead',
    'records are not published: ECONNREFUSED',
    'records are published again',
  ]);
  assert.deepEqual(events, [
    'PublishFailed: zone example.org: BADTIME: its clock is 999 s ahead',
    'PublishFailed: zone example.org: ECONNREFUSED',
  ]);
});

test('a rejection is reported once until it changes', () => {
  const { reporter, events, logged } = reporterOf(resource);
  const refusal = (message: string) => ({ resource, reason: 'NotOwned', message }) as const;
  const [a, b] = [refusal('A exists; it has no owner'), refusal('b')];
  for (const refusals of [[a], [a], [a, b], [b], [], [b]]) reporter.refused('example.org', refusals);
  assert.deepEqual(events, [`NotOwned: ${a.message}`, 'NotOwned: b', 'NotOwned: b']);
  assert.equal(logged.length, 3);
});

test('of very many rejections of one object only the first are reported', () => {
  const { reporter, events, logged } = reporterOf(resource);
  const refusals = Array.from(
    { length: 17_000 },
    (_, index) => ({ resource, reason: 'HostnameNotInZone', message: `n-${index} is in no zone` }) as const,
  );
  for (let sync = 0; sync < 3; sync++) reporter.refused('claims', refusals);
  assert.deepEqual([events.length, logged.length], [11, 11]);
  assert.equal(events.at(-1), 'HostnameNotInZone: more names are rejected: `fairlead publisher plan` prints all');
});

test('the state of a Service whose load balancer is being created is no Event', () => {
  const { reporter, events, logged } = reporterOf(resource);
  reporter.refused('claims', [{ resource, reason: 'Pending', message: 'shop.example.org has no target' }]);
  assert.deepEqual([events, logged], [[], []]);
});
