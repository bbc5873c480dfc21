import assert from 'node:assert/strict';
import { test } from 'node:test';

import type { Pod } from '../../api/kinds/core/pod/schema.ts';
import { goDuration, nextBackoff, restartAt } from './backoff.ts';
import type { ObservedPod } from './plan.ts';
import { planPod } from './plan.ts';
import type { ContainerRecord, PodRecord } from './record.ts';
import { podStatus } from './status.ts';
import { statusPatch } from './status-patch.ts';

const now = Date.parse('2026-01-01T00:00:00Z');

const running = (more: object = {}): ContainerRecord => ({
  restartCount: 0,
  current: {
    id: 'i',
    pid: 7,
    identity: 'x',
    startedAt: now - 5000,
    attempt: 0,
    imageId: '',
    isStarted: true,
    isReady: true,
    ...more,
  },
});
const ended = (exitCode: number, more: Partial<ContainerRecord> = {}): ContainerRecord => ({
  ...running({
    isReady: false,
    ended: { exitCode, reason: exitCode === 0 ? 'Completed' : 'Error', finishedAt: now - 1000 },
  }),
  ...more,
});

interface Case {
  readonly name: string;
  readonly spec?: object;
  readonly metadata?: object;
  readonly records?: Readonly<Record<string, ContainerRecord>>;
  readonly observed?: Partial<ObservedPod>;
  readonly want: {
    readonly start?: readonly string[];
    readonly stop?: readonly string[];
    readonly isOver?: boolean;
    readonly wakeAfterMs?: number;
    readonly phase: string;
    /** Type=status of the conditions, in order. */
    readonly conditions?: string;
    /** container=state, ready, started */
    readonly states?: string;
  };
}

function observe({ spec = {}, metadata = {}, records = {}, observed = {} }: Case): ObservedPod {
  const pod = {
    metadata: { namespace: 'n', name: 'p', uid: 'u', generation: 1, ...metadata },
    spec: {
      containers: [
        { name: 'a', image: 'process' },
        { name: 'b', image: 'process' },
      ],
      ...spec,
    },
    status: { phase: 'Pending' },
  } as unknown as Pod;
  const record: PodRecord = { uid: 'u', namespace: 'n', name: 'p', startedAt: now - 10_000, containers: records };
  return { pod, record, isSetUp: true, isGone: false, endingSince: undefined, stopping: new Map(), now, ...observed };
}

const deleted = { deletionTimestamp: '2026-01-01T00:00:10Z', deletionGracePeriodSeconds: 10 };
const withInit = { initContainers: [{ name: 'i', image: 'process' }] };
const withSidecars = {
  initContainers: [
    { name: 's1', image: 'process', restartPolicy: 'Always' },
    { name: 's2', image: 'process', restartPolicy: 'Always' },
  ],
};

const cases: readonly Case[] = [
  { name: 'nothing starts before the Pod is set up', observed: { isSetUp: false }, want: { phase: 'Pending' } },
  { name: 'all containers start at once', want: { start: ['a', 'b'], phase: 'Pending' } },
  {
    name: 'a Pod with all containers ready is ready',
    records: { a: running(), b: running() },
    want: {
      phase: 'Running',
      conditions: 'PodReadyToStartContainers=True Initialized=True Ready=True ContainersReady=True PodScheduled=True',
      states: 'a=running,true,true b=running,true,true',
    },
  },
  {
    name: 'a container is not ready before its first successful probe',
    records: { a: running(), b: running({ isReady: false }) },
    want: {
      phase: 'Running',
      conditions: 'PodReadyToStartContainers=True Initialized=True Ready=False ContainersReady=False PodScheduled=True',
      states: 'a=running,true,true b=running,false,true',
    },
  },
  {
    name: 'a container is not ready before its startup probe succeeded',
    records: { a: running(), b: running({ isStarted: false }) },
    want: { phase: 'Running', states: 'a=running,true,true b=running,false,false' },
  },
  {
    name: 'the first restart is immediate',
    records: { a: running(), b: ended(1) },
    want: { start: ['b'], phase: 'Running', states: 'a=running,true,true b=terminated Error 1,false,false' },
  },
  {
    name: 'a later restart waits, and the last run is in lastState',
    records: { a: running(), b: ended(1, { restartCount: 1, backoff: { ms: 10_000, updatedAt: now - 2000 } }) },
    want: {
      wakeAfterMs: 9000,
      phase: 'Running',
      states: 'a=running,true,true b=waiting CrashLoopBackOff last Error,false,false',
    },
  },
  {
    name: 'clean exits are restarted too',
    records: { a: running(), b: ended(0) },
    want: { start: ['b'], phase: 'Running' },
  },
  {
    name: 'OnFailure does not restart a clean exit',
    spec: { restartPolicy: 'OnFailure' },
    records: { a: running(), b: ended(0) },
    want: { phase: 'Running' },
  },
  {
    name: 'a Pod whose containers all ended with 0 has succeeded',
    spec: { restartPolicy: 'Never' },
    records: { a: ended(0), b: ended(0) },
    want: {
      isOver: true,
      phase: 'Succeeded',
      conditions:
        'PodReadyToStartContainers=False Initialized=True Ready=False ContainersReady=False PodScheduled=True',
    },
  },
  {
    name: 'a Pod with a failed container that is not restarted has failed',
    spec: { restartPolicy: 'Never' },
    records: { a: ended(0), b: ended(3) },
    want: { isOver: true, phase: 'Failed' },
  },
  {
    name: 'a rule restarts a container by its exit code',
    spec: {
      restartPolicy: 'Never',
      containers: [
        {
          name: 'a',
          restartPolicy: 'Never',
          restartPolicyRules: [{ action: 'Restart', exitCodes: { operator: 'In', values: [42] } }],
        },
      ],
    },
    records: { a: ended(42) },
    want: { start: ['a'], phase: 'Running' },
  },
  {
    name: 'init containers start first',
    spec: withInit,
    want: {
      start: ['i'],
      phase: 'Pending',
      states:
        'i=waiting PodInitializing,false,false a=waiting PodInitializing,false,false b=waiting PodInitializing,false,false',
    },
  },
  {
    name: 'regular containers wait for init containers',
    spec: withInit,
    records: { i: running() },
    want: {
      phase: 'Pending',
      conditions:
        'PodReadyToStartContainers=True Initialized=False Ready=False ContainersReady=False PodScheduled=True',
    },
  },
  {
    name: 'and start after them',
    spec: withInit,
    records: { i: ended(0) },
    want: { start: ['a', 'b'], phase: 'Pending' },
  },
  {
    name: 'a failed init container is restarted',
    spec: withInit,
    records: { i: ended(1) },
    want: { start: ['i'], phase: 'Pending' },
  },
  {
    name: 'unless the policy is Never',
    spec: { ...withInit, restartPolicy: 'Never' },
    records: { i: ended(1) },
    want: { isOver: true, phase: 'Failed' },
  },
  {
    name: 'the next sidecar waits for the one before',
    spec: withSidecars,
    records: { s1: running({ isStarted: false }) },
    want: { phase: 'Pending' },
  },
  {
    name: 'regular containers start beside their sidecars',
    spec: withSidecars,
    records: { s1: running(), s2: running() },
    want: { start: ['a', 'b'], phase: 'Pending' },
  },
  {
    name: 'sidecars are restarted, also by Pods that never restart',
    spec: { ...withSidecars, restartPolicy: 'Never' },
    records: { s1: running(), s2: ended(0), a: running(), b: running() },
    want: { start: ['s2'], phase: 'Running' },
  },
  {
    name: 'sidecars are stopped when the regular containers have ended, the last one first',
    spec: { ...withSidecars, restartPolicy: 'Never' },
    records: { s1: running(), s2: running(), a: ended(0), b: ended(0) },
    want: { stop: ['s2'], phase: 'Running' },
  },
  {
    name: 'a deleted Pod stops its regular containers first',
    spec: withSidecars,
    metadata: deleted,
    records: { s1: running(), s2: running(), a: running(), b: ended(0) },
    want: { stop: ['a'], phase: 'Running' },
  },
  {
    name: 'a deleted Pod stays ready while its process runs',
    metadata: deleted,
    records: { a: running(), b: running() },
    observed: {
      stopping: new Map([
        ['a', now + 9000],
        ['b', now + 9000],
      ]),
    },
    want: {
      phase: 'Running',
      conditions: 'PodReadyToStartContainers=True Initialized=True Ready=True ContainersReady=True PodScheduled=True',
    },
  },
  {
    name: 'a shorter grace period is passed on',
    metadata: { ...deleted, deletionGracePeriodSeconds: 1 },
    records: { a: running(), b: running() },
    observed: {
      stopping: new Map([
        ['a', now + 9000],
        ['b', now + 500],
      ]),
    },
    want: { stop: ['a'], phase: 'Running' },
  },
  {
    name: 'a deleted Pod whose processes have ended is over, and 143 is a failure',
    metadata: deleted,
    records: { a: ended(0), b: ended(143) },
    want: { isOver: true, phase: 'Failed' },
  },
  {
    name: 'a Pod that was deleted before it ran is over',
    metadata: deleted,
    want: { isOver: true, phase: 'Failed' },
  },
  {
    name: 'a Pod whose object is gone is stopped',
    observed: { isGone: true },
    records: { a: running(), b: running() },
    want: { stop: ['a', 'b'], phase: 'Running' },
  },
  {
    name: 'a start that failed is tried again later',
    records: {
      a: running(),
      b: { restartCount: 0, problem: { reason: 'ErrImagePull', message: 'm', retryAt: now + 10_000, failures: 1 } },
    },
    want: { wakeAfterMs: 10_000, phase: 'Pending', states: 'a=running,true,true b=waiting ErrImagePull,false,false' },
  },
  {
    name: 'a deadline is waited for',
    spec: { activeDeadlineSeconds: 30 },
    records: { a: running(), b: running() },
    want: { wakeAfterMs: 20_000, phase: 'Running' },
  },
];

for (const each of cases) {
  test(`plan: ${each.name}`, () => {
    const observed = observe(each);
    const plan = planPod(observed);
    const { want } = each;
    assert.deepEqual(
      {
        start: plan.start,
        stop: plan.stop.map(({ container }) => container),
        isOver: plan.isOver,
        wakeAfterMs: plan.wakeAt === undefined ? undefined : plan.wakeAt - now,
      },
      {
        start: want.start ?? [],
        stop: want.stop ?? [],
        isOver: want.isOver ?? false,
        wakeAfterMs: want.wakeAfterMs,
      },
    );
    const status = podStatus({ ...observed, isOver: plan.isOver, hostIps: ['192.0.2.1'], podIps: ['10.0.0.1'] });
    assert.equal(status.phase, want.phase);
    if (want.conditions !== undefined)
      assert.equal(status.conditions?.map(({ type, status: value }) => `${type}=${value}`).join(' '), want.conditions);
    if (want.states !== undefined) assert.equal(statesOf(status), want.states);
  });
}

function statesOf(status: Pod['status']): string {
  const all = [...(status.initContainerStatuses ?? []), ...(status.containerStatuses ?? [])];
  return all
    .map(({ name, state, lastState, ready, started }) => {
      const { waiting, running: isRunning, terminated } = state;
      const last = lastState.terminated === undefined ? '' : ` last ${lastState.terminated.reason}`;
      const word =
        isRunning !== undefined
          ? 'running'
          : waiting !== undefined
            ? `waiting ${waiting.reason}`
            : `terminated ${terminated?.reason} ${terminated?.exitCode}`;
      return `${name}=${word}${last},${ready},${started}`;
    })
    .join(' ');
}

test('plan: after activeDeadlineSeconds the Pod fails as a whole', () => {
  const observed = observe({
    name: '',
    spec: { activeDeadlineSeconds: 10 },
    records: { a: running(), b: running() },
    want: { phase: '' },
  });
  const plan = planPod(observed);
  assert.equal(plan.failure?.reason, 'DeadlineExceeded');
  assert.deepEqual(
    plan.stop.map(({ container }) => container),
    ['a', 'b'],
  );
});

test('conditions keep the time of their last transition, and an unchanged status is not written', () => {
  const observed = observe({ name: '', records: { a: running(), b: running() }, want: { phase: '' } });
  const input = { ...observed, isOver: false, hostIps: ['192.0.2.1'], podIps: ['10.0.0.1'] };
  const first = podStatus(input);
  const written = { ...observed.pod, status: first };
  const later = podStatus({ ...input, pod: written, now: now + 60_000 });
  assert.deepEqual(later, first);
  assert.equal(statusPatch(written, later), undefined);
});

test('a patch of the status removes reasons that no longer hold', () => {
  const observed = observe({ name: '', records: { a: running(), b: running() }, want: { phase: '' } });
  const input = { ...observed, isOver: false, hostIps: ['192.0.2.1'], podIps: ['10.0.0.1'] };
  const unready = podStatus({ ...input, record: { ...observed.record, containers: { a: running() } } });
  const patch = statusPatch({ ...observed.pod, status: unready }, podStatus(input)) as {
    metadata: object;
    status: { conditions: readonly object[] };
  };
  assert.deepEqual(patch.metadata, { uid: 'u' });
  assert.partialDeepStrictEqual(patch.status.conditions, [
    { type: 'Ready', status: 'True', reason: null, message: null },
    { type: 'ContainersReady', status: 'True', reason: null, message: null },
  ]);
});

test('the backoff doubles from 10 s to 300 s, and is reset after 10 minutes', () => {
  let record = ended(1);
  const delays: number[] = [];
  for (let time = now, count = 0; count < 8; count++) {
    const backoff = nextBackoff(record, time);
    delays.push(backoff.ms / 1000);
    record = { ...ended(1), backoff };
    time += 1000;
  }
  assert.deepEqual(delays, [10, 20, 40, 80, 160, 300, 300, 300]);
  const old = { ...ended(1), backoff: { ms: 300_000, updatedAt: now - 700_000 } };
  assert.equal(restartAt(old), now - 1000);
  assert.equal(nextBackoff(old, now).ms, 10_000);
  assert.deepEqual([10_000, 20_000, 80_000, 160_000, 300_000].map(goDuration), [
    '10s',
    '20s',
    '1m20s',
    '2m40s',
    '5m0s',
  ]);
});
