import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { WriteContext } from '../../../kind.ts';
import { decode } from '../../../schema/decode.ts';
import { eventKind } from '../../core/event/kind.ts';
import type { Event } from '../../core/event/schema.ts';
import { event as coreEvent } from '../../core/event/schema.ts';
import { fromCore, toCore } from './convert.ts';
import { eventsEventKind } from './kind.ts';
import type { EventsEvent } from './schema.ts';
import { event as newEvent } from './schema.ts';

const context: WriteContext = { gates: { enabled: () => false }, loopbackEndpoints: [] };
const metadata = { name: 'e', namespace: 'shop' };
const old = (fields: object): Event => decode<Event>(coreEvent, { metadata, ...fields }).object;
const recent = (fields: object): EventsEvent => decode<EventsEvent>(newEvent, { metadata, ...fields }).object;

const complete = {
  eventTime: '2026-01-01T00:00:00.000000Z',
  reportingController: 'example.org/controller',
  reportingInstance: 'controller-1',
  action: 'Binding',
  reason: 'Bound',
  type: 'Normal',
  regarding: { kind: 'Pod', namespace: 'shop', name: 'web' },
};

test('converts between both versions without loss', () => {
  const given = recent({ ...complete, note: 'hello', series: { count: 2, lastObservedTime: complete.eventTime } });
  const stored = toCore(given);
  assert.equal(stored.message, 'hello');
  assert.equal(stored.reportingComponent, 'example.org/controller');
  assert.deepEqual(stored.involvedObject, complete.regarding);
  assert.deepEqual(fromCore(stored), given);
  assert.deepEqual(decode(coreEvent, stored), { object: stored, unknown: [] });
});

test('converts an event of the old form', () => {
  const stored = old({
    involvedObject: { kind: 'Node', name: 'n1' },
    message: 'm',
    count: 3,
    source: { component: 'c' },
  });
  const shown = fromCore(stored);
  assert.equal(shown.note, 'm');
  assert.equal(shown.deprecatedCount, 3);
  assert.deepEqual(shown.deprecatedSource, { component: 'c' });
  assert.deepEqual(toCore(shown), stored);
});

const oldForm: readonly { name: string; given: object; want: readonly string[] }[] = [
  { name: 'about an object of its namespace', given: { involvedObject: { namespace: 'shop' } }, want: [] },
  {
    name: 'about an object of another namespace',
    given: { involvedObject: { namespace: 'x' } },
    want: ['involvedObject.namespace: Invalid value: "x": does not match event.namespace'],
  },
  {
    name: 'about a cluster-scoped object, outside default',
    given: {},
    want: ['involvedObject.namespace: Invalid value: "": does not match event.namespace'],
  },
  {
    name: 'about a cluster-scoped object, in default',
    given: { metadata: { name: 'e', namespace: 'default' } },
    want: [],
  },
  {
    name: 'with eventTime only',
    given: { eventTime: complete.eventTime, involvedObject: { namespace: 'shop' } },
    want: [
      'reportingComponent: Required value',
      'reportingComponent: Invalid value: "": name part must be non-empty',
      `reportingComponent: Invalid value: "": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')`,
      'reportingInstance: Required value',
      'action: Required value',
      'reason: Required value',
    ],
  },
];
for (const { name, given, want } of oldForm) {
  test(`core event ${name}`, () => {
    assert.deepEqual(
      eventKind.validateCreate(old(given), context).map(({ path, body }) => `${path}: ${body}`),
      want,
    );
  });
}

const newForm: readonly { name: string; given: object; want: readonly string[] }[] = [
  { name: 'complete', given: complete, want: [] },
  {
    name: 'with deprecated fields',
    given: { ...complete, deprecatedCount: 1, deprecatedSource: { component: 'c' }, type: 'Odd' },
    want: [
      'type: Invalid value: "": has invalid value: Odd',
      'count: Invalid value: "": needs to be unset',
      'source: Invalid value: "": needs to be unset',
    ],
  },
  {
    name: 'with a series of one occurrence',
    given: { ...complete, series: { count: 1 } },
    want: ['series.count: Invalid value: "": should be at least 2', 'series.lastObservedTime: Required value'],
  },
];
for (const { name, given, want } of newForm) {
  test(`events.k8s.io event ${name}`, () => {
    assert.deepEqual(
      eventsEventKind.validateCreate(recent(given), context).map(({ path, body }) => `${path}: ${body}`),
      want,
    );
  });
}

test('all fields except the series are immutable', () => {
  const before = recent(complete);
  const series = recent({ ...complete, series: { count: 2, lastObservedTime: complete.eventTime } });
  assert.deepEqual(eventsEventKind.validateUpdate(series, before, context), []);
  const errors = eventsEventKind.validateUpdate(recent({ ...complete, note: 'other' }), before, context);
  assert.deepEqual(
    errors.map(({ path, body }) => `${path}: ${body}`),
    ['message: Invalid value: "other": field is immutable'],
  );
});

test('the row of an event', () => {
  const now = Date.parse('2026-01-01T00:05:00Z');
  const row = (kind: typeof eventKind, event: Event): readonly (string | number | boolean | null)[] =>
    kind.columns.map((column) => column.cell(event, now));
  assert.deepEqual(row(eventKind, toCore(recent({ ...complete, note: ' hi \n' }))), [
    '5m',
    'Normal',
    'Bound',
    'pod/web',
    '',
    'example.org/controller, controller-1',
    'hi',
    '5m',
    1,
    'e',
  ]);
  const counted = old({
    involvedObject: { kind: 'Node' },
    firstTimestamp: '2026-01-01T00:00:00Z',
    lastTimestamp: '2026-01-01T00:04:30Z',
    count: 4,
    source: { component: 'kubelet', host: 'n1' },
  });
  assert.deepEqual(row(eventKind, counted).slice(0, 9), ['30s', '', '', 'node', '', 'kubelet, n1', '', '5m', 4]);
});
