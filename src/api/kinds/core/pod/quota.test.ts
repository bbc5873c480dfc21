import assert from 'node:assert/strict';
import { suite, test } from 'node:test';

import type { Pod } from './schema.ts';
import { printQuantity } from '../../../quantity.ts';
import { podQuota } from './quota.ts';

interface Amounts {
  readonly requests?: Readonly<Record<string, string>>;
  readonly limits?: Readonly<Record<string, string>>;
}

const container = (name: string, resources: Amounts, rest: object = {}): object => ({ name, resources, ...rest });

// Only the fields that the evaluator reads.
const pod = (spec: object, status: object = {}): Pod => ({ metadata: { name: 'p' }, spec, status }) as Pod;

const always = { restartPolicy: 'Always' };
const cpu = (amount: string): Amounts => ({ requests: { cpu: amount } });

const cases: readonly {
  readonly name: string;
  readonly spec: object;
  readonly want: Readonly<Record<string, string>>;
}[] = [
  { name: 'a Pod without requests', spec: { containers: [container('a', {})] }, want: {} },
  {
    name: 'the sum of its containers, under each name',
    spec: {
      containers: [
        container('a', { requests: { cpu: '250m', memory: '64Mi' }, limits: { cpu: '1', memory: '128Mi' } }),
        container('b', { requests: { cpu: '750m', 'ephemeral-storage': '1Gi' } }),
      ],
    },
    want: {
      cpu: '1',
      'requests.cpu': '1',
      'limits.cpu': '1',
      memory: '64Mi',
      'requests.memory': '64Mi',
      'limits.memory': '128Mi',
      'ephemeral-storage': '1Gi',
      'requests.ephemeral-storage': '1Gi',
    },
  },
  {
    name: 'the largest init container, if that is more',
    spec: { containers: [container('a', cpu('1'))], initContainers: ['3', '2'].map((n) => container(n, cpu(n))) },
    want: { cpu: '3', 'requests.cpu': '3' },
  },
  {
    name: 'sidecars with the containers, and with the init containers after them',
    spec: {
      containers: [container('a', cpu('1'))],
      initContainers: [
        container('before', cpu('2')),
        container('sidecar', cpu('2'), always),
        container('after', cpu('2')),
      ],
    },
    want: { cpu: '4', 'requests.cpu': '4' },
  },
  {
    name: 'Pod-level resources instead of those of its containers',
    spec: { containers: [container('a', cpu('1'))], resources: { requests: { cpu: '5' }, limits: { memory: '1Gi' } } },
    want: { cpu: '5', 'requests.cpu': '5', 'limits.memory': '1Gi' },
  },
  {
    name: 'its overhead, and in limits only if there is a limit',
    spec: {
      containers: [container('a', { requests: { cpu: '1' }, limits: { cpu: '2' } })],
      overhead: { cpu: '100m', memory: '10Mi' },
    },
    want: {
      cpu: '1100m',
      'requests.cpu': '1100m',
      'limits.cpu': '2100m',
      memory: '10Mi',
      'requests.memory': '10Mi',
    },
  },
  {
    name: 'huge pages and extended resources by their requests',
    spec: {
      containers: [
        container('a', { requests: { 'hugepages-2Mi': '4Mi', 'example.org/gpu': '2', 'kubernetes.io/x': '1' } }),
      ],
    },
    want: { 'hugepages-2Mi': '4Mi', 'requests.hugepages-2Mi': '4Mi', 'requests.example.org/gpu': '2' },
  },
];

suite('a quota counts for a Pod', () => {
  for (const { name, spec, want } of cases) {
    test(name, () => {
      const used = podQuota.usage?.(pod(spec)) ?? new Map();
      const printed = Object.fromEntries(Array.from(used, ([each, amount]) => [each, printQuantity(amount)]));
      assert.deepEqual(printed, { 'count/pods': '1', pods: '1', ...want });
      for (const each of used.keys()) assert.ok(podQuota.counts(each), each);
    });
  }

  test('only the object once it has ended', () => {
    for (const phase of ['Succeeded', 'Failed']) {
      const used = podQuota.usage?.(pod({ containers: [container('a', cpu('1'))] }, { phase }));
      assert.deepEqual([...(used?.keys() ?? [])], ['count/pods']);
    }
  });
});

test('requires containers to set the cpu and memory that a quota limits', () => {
  const given = pod({
    containers: [container('b', cpu('1')), container('a', { limits: { memory: '1Gi' } })],
    initContainers: [container('c', {})],
  });
  assert.equal(
    podQuota.missing?.(given, ['requests.cpu', 'limits.memory', 'pods', 'requests.example.org/gpu']),
    'must specify limits.memory for: b,c; requests.cpu for: a,c',
  );
  assert.equal(podQuota.missing?.(given, ['pods', 'ephemeral-storage']), undefined);
});

test('scopes select Pods', () => {
  const plain = pod({ containers: [container('a', {})] });
  const busy = pod({
    containers: [container('a', cpu('1'))],
    activeDeadlineSeconds: 0,
    priorityClassName: 'high',
    affinity: {
      podAntiAffinity: {
        preferredDuringSchedulingIgnoredDuringExecution: [{ weight: 1, podAffinityTerm: { namespaces: ['x'] } }],
      },
    },
  });
  const scopes: readonly (readonly [scope: string, operator: string, plain: boolean, busy: boolean])[] = [
    ['Terminating', 'Exists', false, true],
    ['NotTerminating', 'Exists', true, false],
    ['BestEffort', 'Exists', true, false],
    ['NotBestEffort', 'Exists', false, true],
    ['PriorityClass', 'Exists', false, true],
    ['PriorityClass', 'DoesNotExist', true, false],
    ['PriorityClass', 'In', false, true],
    ['PriorityClass', 'NotIn', true, false],
    ['CrossNamespacePodAffinity', 'Exists', false, true],
    ['Other', 'Exists', false, false],
  ];
  for (const [scopeName, operator, ...want] of scopes) {
    const scope = { scopeName, operator, values: ['high'] };
    assert.deepEqual(
      [podQuota.isInScope?.(plain, scope), podQuota.isInScope?.(busy, scope)],
      want,
      `${scopeName} ${operator}`,
    );
  }
});
