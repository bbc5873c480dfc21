import assert from 'node:assert/strict';
import { test } from 'node:test';
import { inspect } from 'node:util';
import { configMapKind } from '../api/kinds/core/configmap/kind.ts';
import { eventKind } from '../api/kinds/core/event/kind.ts';
import { namespaceKind } from '../api/kinds/core/namespace/kind.ts';
import { testServer } from '../server/testing/server.ts';
import { Client } from './client.ts';
import { EventCorrelator } from './event-correlator.ts';
import { EventRecorder } from './events.ts';
import { inProcess } from './in-process.ts';
import { ManualClock } from './testing/clocks.ts';

const happening = (message: string) => ({ type: 'Warning', reason: 'Failed', message }) as const;
const minute = 60_000;
const at = (ms: number) => ({ nowMs: ms, elapsedMs: ms });

test('counts repeated events in one series', () => {
  const series = new EventCorrelator();
  const first = series.correlate('a', happening('no'), at(1000));
  const second = series.correlate('a', happening('no'), at(5000));
  assert.equal(second?.key, first?.key);
  assert.deepEqual(second?.series, { ...happening('no'), firstMs: 1000, lastMs: 5000, count: 2 });
  assert.notEqual(series.correlate('b', happening('no'), at(0))?.key, first?.key);
});

test('combines more than ten messages of one reason until ten minutes have passed', () => {
  const series = new EventCorrelator();
  const messages = Array.from({ length: 12 }, (_, index) => series.correlate('a', happening(`no ${index}`), at(index)));
  assert.equal(messages[9]?.series.message, 'no 9');
  assert.equal(messages[10]?.series.message, '(combined from similar events): no 10');
  assert.equal(messages[11]?.series.count, 2);
  assert.equal(series.correlate('a', happening('no 99'), at(11 * minute))?.series.message, 'no 99');
});

test('allows an object a burst of 25 events and one more every five minutes', () => {
  const series = new EventCorrelator();
  const noted = Array.from({ length: 30 }, () => series.correlate('a', happening('no'), at(0)) !== undefined);
  assert.equal(noted.filter(Boolean).length, 25);
  assert.equal(series.correlate('a', happening('no'), at(4 * minute)), undefined);
  assert.equal(series.correlate('a', happening('no'), at(5 * minute))?.series.count, 26);
  assert.equal(series.correlate('a', happening('no'), at(6 * minute)), undefined);
});

for (const hours of [-5, 5]) {
  test(`a wall clock change of ${hours} hours neither blocks the Events of an object nor allows more of them`, () => {
    const series = new EventCorrelator();
    for (let count = 0; count < 30; count++) series.correlate('a', happening('no'), at(0));
    const moved = { nowMs: hours * 60 * minute, elapsedMs: 5 * minute };
    assert.equal(series.correlate('a', happening('no'), moved)?.series.count, 26);
    assert.equal(series.correlate('a', happening('no'), moved), undefined);
  });
}

test('a recorder updates one Event for repeated events, and creates a new one when that was deleted', async () => {
  await using server = await testServer();
  const user = { name: 'admin', uid: '', groups: ['system:masters', 'system:authenticated'] };
  const client = new Client(inProcess((request) => server.handle({ ...request, user })));
  const clock = new ManualClock(Date.now());
  const recorder = new EventRecorder({
    client,
    component: 'test-controller',
    clock,
    log: { debug: (fields: object) => assert.fail(inspect(fields)) },
  });
  const object = await client.create(configMapKind, { metadata: { name: 'a', namespace: 'default' } });
  const events = async () => (await client.list(eventKind, { fieldSelector: 'involvedObject.name=a' })).items;

  recorder.record(configMapKind, object, happening('no'));
  await recorder.flush();
  await clock.advance(3000);
  for (let time = 0; time < 3; time++) recorder.record(configMapKind, object, happening('no'));
  await recorder.flush();
  const [event, ...others] = await events();
  assert.deepEqual(others, []);
  assert.equal(event?.count, 4);
  assert.equal(Date.parse(event?.lastTimestamp ?? '') - Date.parse(event?.firstTimestamp ?? ''), 3000);
  assert.deepEqual([event?.source.component, event?.reason, event?.type], ['test-controller', 'Failed', 'Warning']);
  assert.equal(event?.involvedObject.uid, object.metadata.uid);

  await client.delete(eventKind, { namespace: 'default', name: event?.metadata.name ?? '' });
  recorder.record(configMapKind, object, happening('no'));
  await recorder.flush();
  assert.equal((await events())[0]?.count, 5);

  const namespace = await client.get(namespaceKind, { name: 'default' });
  recorder.record(namespaceKind, namespace, happening('no'));
  await recorder.flush();
  const about = { namespace: 'default', fieldSelector: 'involvedObject.kind=Namespace' };
  assert.equal((await client.list(eventKind, about)).items.length, 1);
});

test('logs a failed write without blocking record', async () => {
  const errors: unknown[] = [];
  const client = new Client({
    request: () => Promise.reject(new Error('cut')),
    stream: () => assert.fail('no stream was expected'),
    [Symbol.dispose]: () => {},
  });
  const recorder = new EventRecorder({
    client,
    component: 'c',
    log: { debug: ({ err }: { err?: unknown }) => void errors.push(err) },
  });
  recorder.record(configMapKind, { metadata: { name: 'a', namespace: 'b' } }, happening('no'));
  await recorder.flush();
  assert.deepEqual(errors.map(String), ['Error: cut']);
});
