import assert from 'node:assert/strict';
import { test } from 'node:test';
import { decode } from '../../../schema/decode.ts';
import { podKind } from './kind.ts';
import type { Pod } from './schema.ts';
import { pod as podSchema } from './schema.ts';

const now = Date.parse('2026-01-01T01:00:00Z');
const at = '2026-01-01T00:55:00Z';
const containers = [{ name: 'a' }, { name: 'b' }];
const running = (name: string, ready = true): object => ({ name, ready, state: { running: { startedAt: at } } });
const waiting = (name: string, reason: string): object => ({ name, state: { waiting: { reason } } });
const ended = (name: string, exitCode: number, reason?: string): object => ({
  name,
  state: { terminated: { exitCode, ...(reason && { reason }) } },
});
const isTrue = (type: string): object => ({ type, status: 'True' });

const rows: readonly { name: string; given: object; want: string }[] = [
  { name: 'pending', given: { status: { phase: 'Pending' } }, want: '0/2 Pending 0' },
  { name: 'evicted', given: { status: { phase: 'Failed', reason: 'Evicted' } }, want: '0/2 Evicted 0' },
  {
    name: 'gated',
    given: {
      status: { phase: 'Pending', conditions: [{ type: 'PodScheduled', status: 'False', reason: 'SchedulingGated' }] },
    },
    want: '0/2 SchedulingGated 0',
  },
  {
    name: 'running',
    given: { status: { phase: 'Running', containerStatuses: [running('a'), running('b')] } },
    want: '2/2 Running 0',
  },
  {
    name: 'one container is waiting',
    given: { status: { phase: 'Pending', containerStatuses: [running('a'), waiting('b', 'ImagePullBackOff')] } },
    want: '1/2 ImagePullBackOff 0',
  },
  {
    name: 'the first container determines the status',
    given: { status: { phase: 'Pending', containerStatuses: [waiting('a', 'A'), waiting('b', 'B')] } },
    want: '0/2 A 0',
  },
  {
    name: 'exit codes and signals without a reason',
    given: {
      status: {
        phase: 'Failed',
        containerStatuses: [{ name: 'a', state: { terminated: { exitCode: 137, signal: 9 } } }],
      },
    },
    want: '0/2 Signal:9 0',
  },
  {
    name: 'one container has completed and another is running',
    given: {
      status: {
        phase: 'Running',
        conditions: [isTrue('Ready')],
        containerStatuses: [ended('a', 0, 'Completed'), running('b')],
      },
    },
    want: '1/2 Running 0',
  },
  {
    name: 'the same, but the Pod is not ready',
    given: { status: { phase: 'Running', containerStatuses: [ended('a', 0, 'Completed'), running('b')] } },
    want: '1/2 NotReady 0',
  },
  {
    name: 'one container has completed and another failed',
    given: { status: { phase: 'Failed', containerStatuses: [ended('a', 0, 'Completed'), ended('b', 1, 'Error')] } },
    want: '0/2 Error 0',
  },
  {
    name: 'restarts, with the time since the last one',
    given: {
      status: {
        phase: 'Running',
        containerStatuses: [
          { ...running('a'), restartCount: 2, lastState: { terminated: { exitCode: 1, finishedAt: at } } },
          { ...running('b'), restartCount: 1 },
        ],
      },
    },
    want: '2/2 Running 3 (5m ago)',
  },
  {
    name: 'the second of three init containers runs',
    given: {
      spec: { containers, initContainers: [{ name: 'x' }, { name: 'y' }, { name: 'z' }] },
      status: {
        phase: 'Pending',
        initContainerStatuses: [ended('x', 0), running('y'), waiting('z', 'PodInitializing')],
      },
    },
    want: '0/2 Init:1/3 0',
  },
  {
    name: 'an init container failed',
    given: {
      spec: { containers, initContainers: [{ name: 'x' }] },
      status: { phase: 'Pending', initContainerStatuses: [ended('x', 2)] },
    },
    want: '0/2 Init:ExitCode:2 0',
  },
  {
    name: 'an init container cannot start',
    given: {
      spec: { containers, initContainers: [{ name: 'x' }] },
      status: { phase: 'Pending', initContainerStatuses: [waiting('x', 'ErrImagePull')] },
    },
    want: '0/2 Init:ErrImagePull 0',
  },
  {
    name: 'sidecars count as containers',
    given: {
      spec: { containers, initContainers: [{ name: 'x', restartPolicy: 'Always' }] },
      status: {
        phase: 'Running',
        initContainerStatuses: [{ ...running('x'), started: true }],
        containerStatuses: [running('a'), running('b')],
      },
    },
    want: '3/3 Running 0',
  },
  {
    name: 'terminating',
    given: { metadata: { deletionTimestamp: at }, status: { phase: 'Running', containerStatuses: [running('a')] } },
    want: '1/2 Terminating 0',
  },
  {
    name: 'terminating after completion',
    given: {
      metadata: { deletionTimestamp: at },
      status: { phase: 'Succeeded', containerStatuses: [ended('a', 0, 'Completed')] },
    },
    want: '0/2 Completed 0',
  },
  {
    name: 'terminating on a lost node',
    given: { metadata: { deletionTimestamp: at }, status: { phase: 'Running', reason: 'NodeLost' } },
    want: '0/2 Unknown 0',
  },
];
for (const { name, given, want } of rows) {
  test(`kubectl get pods: ${name}`, () => {
    const { object } = decode<Pod>(podSchema, { metadata: { name: 'p' }, spec: { containers }, ...given });
    const cells = podKind.columns.map((column) => column.cell(object, now));
    assert.equal(cells.slice(1, 4).join(' '), want);
  });
}

test('the wide columns', () => {
  const { object } = decode<Pod>(podSchema, {
    metadata: { name: 'p' },
    spec: { containers, nodeName: 'n', readinessGates: [{ conditionType: 'a' }, { conditionType: 'b' }] },
    status: { podIPs: [{ ip: '10.0.0.1' }], conditions: [isTrue('a')] },
  });
  assert.deepEqual(
    podKind.columns.slice(5).map((column) => column.cell(object, now)),
    ['10.0.0.1', 'n', '<none>', '1/2'],
  );
});

test('rows of terminated Pods have the condition Completed', () => {
  const conditions = (phase: string): readonly object[] =>
    podKind.rowConditions(decode<Pod>(podSchema, { status: { phase } }).object);
  assert.deepEqual(conditions('Running'), []);
  assert.deepEqual(conditions('Succeeded'), [
    { type: 'Completed', status: 'True', reason: 'Succeeded', message: 'The pod has completed successfully.' },
  ]);
  assert.deepEqual(conditions('Failed'), [
    { type: 'Completed', status: 'True', reason: 'Failed', message: 'The pod failed.' },
  ]);
});
