import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { droppedEvents, exportEvents } from './export-events.ts';
import type { Delivery } from './export-conditions.ts';
import type { ExistingCondition } from './conditions.ts';

const delivery = (cluster: string, rest: Partial<Delivery> = {}): Delivery => ({
  cluster,
  state: 'acknowledged',
  hasAddress: true,
  ...rest,
});

const condition = (type: string, status: string, reason: string, message = reason): ExistingCondition => ({
  type,
  status,
  reason,
  message,
});

const taken = condition('Initialized', 'True', 'Initialized');
const exported = condition('Exported', 'True', 'Exported');
const pending = condition('Exported', 'False', 'Pending');
const all = [delivery('east'), delivery('west')];

describe('the Events of an export', () => {
  const rows: readonly {
    readonly name: string;
    readonly before?: readonly ExistingCondition[];
    readonly after: readonly ExistingCondition[];
    readonly deliveries?: readonly Delivery[];
    readonly want: readonly string[];
  }[] = [
    { name: 'an accepted export', after: [taken, pending], want: ['Normal Initialized'] },
    {
      name: 'an export that all clusters have imported',
      before: [taken, pending],
      after: [taken, exported],
      want: ['Normal Exported'],
    },
    { name: 'no change', before: [taken, exported], after: [taken, exported], want: [] },
    {
      name: 'one Event for a rejection that several conditions report',
      after: [condition('Valid', 'False', 'NoService'), condition('Ready', 'False', 'Failed', 'NoService')],
      want: ['Warning NoService'],
    },
    {
      name: 'MCS-137 a conflict with its message, and its consequence',
      before: [taken, exported],
      after: [
        condition('Exported', 'False', 'Conflict', 'withdrawn'),
        condition('Conflict', 'True', 'PortConflict', 'ports[http].port: 80 in east, 81 in west'),
      ],
      want: ['Warning Withdrawn: withdrawn', 'Warning Conflict: ports[http].port: 80 in east, 81 in west'],
    },
    {
      name: 'a resolved conflict',
      before: [condition('Conflict', 'True', 'PortConflict')],
      after: [condition('Conflict', 'False', 'NoConflicts')],
      want: ['Normal ConflictResolved: NoConflicts'],
    },
    {
      name: 'no Event about a conflict that never existed',
      after: [condition('Conflict', 'False', 'NoConflicts')],
      want: [],
    },
    {
      name: 'MCS-23 a lost cluster, although Ready stays True',
      before: [condition('Ready', 'True', 'Exported', 'all')],
      after: [condition('Ready', 'True', 'Exported', 'all; cannot reach west')],
      deliveries: [delivery('east'), delivery('west', { state: 'unreachable' })],
      want: ['Warning ClusterUnreachable: cannot reach west'],
    },
    {
      name: 'MCS-23 a cluster that rejects the import',
      before: [taken, exported],
      after: [condition('Exported', 'False', 'Pending')],
      deliveries: [delivery('east'), delivery('west', { state: 'pending', error: 'forbidden' })],
      want: ['Warning ClusterLagging: cluster west rejects the import: forbidden'],
    },
    {
      name: 'MCS-45 one Event for a cluster without an address, although two conditions report it',
      after: [
        condition('Initialized', 'False', 'NoFreeAddress', 'cluster west: all are in use'),
        condition('Exported', 'False', 'Pending', 'cluster west: all are in use'),
      ],
      deliveries: [
        delivery('west', {
          state: 'refused',
          refusal: { reason: 'NoAddress', message: 'cluster west: all are in use' },
        }),
      ],
      want: ['Warning NoFreeAddress: cluster west: all are in use'],
    },
    {
      name: 'an object of another owner has the name',
      before: [condition('Ready', 'True', 'Exported')],
      after: [condition('Ready', 'False', 'Failed')],
      deliveries: [delivery('west', { state: 'refused', refusal: { reason: 'NameTaken', message: 'it is taken' } })],
      want: ['Warning ImportRefused: it is taken'],
    },
  ];
  for (const { name, before = [], after, deliveries = all, want } of rows) {
    test(name, () => {
      const events = exportEvents(before, after, deliveries);
      assert.deepEqual(
        events.map(({ type, reason, message }) => `${type} ${reason}${message === reason ? '' : `: ${message}`}`),
        want,
      );
    });
  }

  test('names a bounded number of dropped endpoints', () => {
    const dropped = Array.from({ length: 7 }, (_, index) => ({
      cluster: 'west',
      namespace: 'shop',
      name: 'web',
      what: 'endpoint' as const,
      message: `endpoint 127.0.0.${index} cannot be in another cluster`,
    }));
    const [event, ...rest] = droppedEvents(dropped);
    assert.deepEqual(rest, []);
    assert.equal(event?.reason, 'EndpointsDropped');
    assert.match(event?.message ?? '', /^left out: endpoint 127\.0\.0\.0 cannot .*127\.0\.0\.4 .*; and 2 more$/);
  });
});
