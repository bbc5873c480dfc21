import assert from 'node:assert/strict';
import { suite, test } from 'node:test';

import type { Node } from '../../api/kinds/core/node/schema.ts';
import { nodeKind } from '../../api/kinds/core/node/kind.ts';
import { podKind } from '../../api/kinds/core/pod/kind.ts';
import type { Pod } from '../../api/kinds/core/pod/schema.ts';
import type { PodDisruptionBudget } from '../../api/kinds/policy/poddisruptionbudget/kind.ts';
import { priorityClassKind } from '../../api/kinds/scheduling/priorityclass/kind.ts';
import { until } from '../../server/testing/until.ts';
import { namespace, startWorkloads } from '../workloads/testing/workloads.ts';
import { preempt } from './preemption.ts';
import { ClusterState } from './state.ts';

/** A Pod of one or more cores: `n1/low/1` is on n1 with the priority 1; names sort by age. */
function podOf(
  text: string,
  { cpu = 1, ...more }: { readonly cpu?: number; readonly spec?: object; readonly status?: object } = {},
): Pod {
  const [nodeName = '', name = '', priority = '0'] = text.split('/');
  const startTime = `2026-01-01T00:00:${String(name.charCodeAt(0) % 60).padStart(2, '0')}Z`;
  const containers = [{ name: 'c', resources: { requests: { cpu: String(cpu) } } }];
  const metadata = { namespace: 'shop', name, uid: name, labels: { app: name } };
  const spec = { priority: Number(priority), containers, ...(nodeName === '' ? {} : { nodeName }), ...more.spec };
  // Only the fields that the scheduler reads.
  return { metadata, spec, status: { phase: 'Running', startTime, ...more.status } } as unknown as Pod;
}

/** A node of two cores. */
const nodeOf = (name: string, spec: object = {}): Node =>
  // Only the fields that the scheduler reads.
  ({
    metadata: { name, labels: {} },
    spec,
    status: { allocatable: { cpu: '2', pods: '10' }, conditions: [{ type: 'Ready', status: 'True' }] },
  }) as unknown as Node;

const budgetOf = (app: string, disruptionsAllowed: number): PodDisruptionBudget =>
  // Only the fields that the scheduler reads.
  ({
    metadata: { namespace: 'shop', name: app },
    spec: { selector: { matchLabels: { app } } },
    status: { disruptionsAllowed },
  }) as unknown as PodDisruptionBudget;

suite('preemption', () => {
  const cases: readonly {
    readonly name: string;
    readonly pod?: Pod;
    readonly placed: readonly Pod[];
    readonly nodes?: readonly Node[];
    readonly budgets?: readonly PodDisruptionBudget[];
    /** The node and the victims. */
    readonly want: string;
  }[] = [
    { name: 'the least important Pod goes', placed: [podOf('n1/a/5'), podOf('n1/b/1')], want: 'n1: b' },
    { name: 'of equal Pods the younger goes', placed: [podOf('n1/a/1'), podOf('n1/b/1')], want: 'n1: b' },
    {
      name: 'as many go as are needed',
      pod: podOf('/p/10', { cpu: 2 }),
      placed: [podOf('n1/a/5'), podOf('n1/b/1')],
      want: 'n1: a b',
    },
    { name: 'Pods of the same priority stay', placed: [podOf('n1/a/10', { cpu: 2 })], want: 'none' },
    {
      name: 'a Pod with the policy Never preempts nothing',
      pod: podOf('/p/10', { spec: { preemptionPolicy: 'Never' } }),
      placed: [podOf('n1/a/1', { cpu: 2 })],
      want: 'none',
    },
    {
      name: 'nothing goes where the Pod would not fit either way',
      pod: podOf('/p/10', { cpu: 3 }),
      placed: [podOf('n1/a/1', { cpu: 2 })],
      want: 'none',
    },
    {
      name: 'nothing goes on a cordoned node',
      placed: [podOf('n1/a/1', { cpu: 2 })],
      nodes: [nodeOf('n1', { unschedulable: true })],
      want: 'none',
    },
    {
      name: 'Pods of a budget without disruptions stay if others can go',
      placed: [podOf('n1/a/1'), podOf('n1/b/5')],
      budgets: [budgetOf('a', 0)],
      want: 'n1: b',
    },
    {
      name: 'a budget is violated if there is no other way',
      placed: [podOf('n1/a/1', { cpu: 2 })],
      budgets: [budgetOf('a', 0)],
      want: 'n1: a',
    },
    {
      name: 'a node without violations is better than one with a less important victim',
      placed: [podOf('n1/a/1', { cpu: 2 }), podOf('n2/b/5', { cpu: 2 })],
      nodes: [nodeOf('n1'), nodeOf('n2')],
      budgets: [budgetOf('a', 0)],
      want: 'n2: b',
    },
    {
      name: 'a node with a less important victim is better',
      placed: [podOf('n1/a/5', { cpu: 2 }), podOf('n2/b/1', { cpu: 2 })],
      nodes: [nodeOf('n1'), nodeOf('n2')],
      want: 'n2: b',
    },
    {
      name: 'victims that are being deleted on the nominated node are waited for',
      pod: podOf('/p/10', { status: { nominatedNodeName: 'n1' } }),
      placed: [
        {
          ...podOf('n1/a/1', { cpu: 2 }),
          metadata: { uid: 'a', name: 'a', deletionTimestamp: '2026-01-01T00:01:00Z' },
        },
      ],
      want: 'none',
    },
  ];
  for (const { name, pod = podOf('/p/10'), placed, nodes = [nodeOf('n1')], budgets = [], want } of cases) {
    test(name, () => {
      const state = new ClusterState();
      for (const node of nodes) state.setNode(node);
      for (const each of placed) state.setPod(each);
      const used = (): readonly unknown[] => state.nodes().map((node) => [node.used.get('cpu'), node.pods.size]);
      const before = used();
      const found = preempt(pod, state, budgets);
      const victims = found?.victims.map(({ metadata }) => metadata.name).join(' ');
      assert.equal(found === undefined ? 'none' : `${found.node}: ${victims}`, want);
      assert.deepEqual(used(), before, 'the state is restored');
    });
  }
});

test('a Pod takes the place of one with a lower priority, which gets an Event and a condition', async () => {
  await using workloads = await startWorkloads();
  const { user } = workloads;
  const { status } = await user.get(nodeKind, { name: 'n1' });
  const cpu = String(status.allocatable?.['cpu']);
  // Casts because the server sets the other fields.
  await user.create(priorityClassKind, { metadata: { name: 'high' }, value: 1000 } as never);
  const specOf = (priorityClassName: string): object => ({
    priorityClassName,
    containers: [{ name: 'c', image: 'web', resources: { requests: { cpu } } }],
  });
  const create = (name: string, priorityClassName = ''): Promise<Pod> =>
    user.create(podKind, { metadata: { namespace, name }, spec: specOf(priorityClassName) } as never);
  const runs = (name: string): Promise<Pod> =>
    until(`${name} runs`, async () => {
      const pod = await user.get(podKind, { namespace, name });
      return pod.status.phase === 'Running' ? pod : undefined;
    });
  await create('low');
  await runs('low');
  await create('high', 'high');
  const high = await runs('high');
  await create('late');
  assert.equal(high.spec.nodeName, 'n1');
  assert.equal(high.status.nominatedNodeName, undefined);
  await until('low is gone', async () => (await user.find(podKind, { namespace, name: 'low' })) === undefined);
  const late = await until('late is decided', async () => {
    const pod = await user.get(podKind, { namespace, name: 'late' });
    return pod.status.conditions?.some(({ type, status }) => type === 'PodScheduled' && status === 'False') === true
      ? pod
      : undefined;
  });
  assert.equal(late.spec.nodeName, undefined, 'a Pod of a lower priority waits');
  await until('the Event', async () => (await workloads.reasons('Pod')).includes('Preempted'));
});
