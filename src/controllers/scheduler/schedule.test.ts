import assert from 'node:assert/strict';
import { suite, test } from 'node:test';

import fc from 'fast-check';

import type { Node } from '../../api/kinds/core/node/schema.ts';
import type { Pod } from '../../api/kinds/core/pod/schema.ts';
import { schedule } from './schedule.ts';
import { ClusterState } from './state.ts';

const zoneKey = 'topology.kubernetes.io/zone';

interface NodeSettings {
  readonly labels?: Readonly<Record<string, string>>;
  readonly allocatable?: Readonly<Record<string, string>>;
  readonly spec?: object;
  readonly ready?: boolean;
}

function node(name: string, { labels = {}, allocatable = {}, spec = {}, ready = true }: NodeSettings = {}): Node {
  const object = {
    metadata: { name, labels: { 'kubernetes.io/hostname': name, ...labels } },
    spec,
    status: {
      allocatable: { cpu: '4', memory: '8Gi', pods: '10', ...allocatable },
      conditions: ready ? [{ type: 'Ready', status: 'True' }] : [],
    },
  };
  return object as unknown as Node; // only the fields that the scheduler reads
}

interface PodSettings {
  readonly on?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly requests?: Readonly<Record<string, string>>;
  readonly spec?: object;
  readonly owner?: string;
  readonly ports?: readonly object[];
  readonly phase?: string;
}

function pod(
  name: string,
  { on, labels = {}, requests = {}, spec = {}, owner, ports = [], phase }: PodSettings = {},
): Pod {
  const object = {
    metadata: {
      name,
      namespace: 'shop',
      uid: name,
      labels,
      ...(owner === undefined
        ? {}
        : { ownerReferences: [{ uid: owner, kind: 'ReplicaSet', name: owner, controller: true }] }),
    },
    spec: {
      ...(on === undefined ? {} : { nodeName: on }),
      containers: [{ name: 'c', resources: { requests }, ports }],
      ...spec,
    },
    status: { phase: phase ?? 'Pending' },
  };
  return object as unknown as Pod; // only the fields that the scheduler reads
}

function stateOf(nodes: readonly Node[], pods: readonly Pod[] = []): ClusterState {
  const state = new ClusterState();
  for (const each of nodes) state.setNode(each);
  for (const each of pods) state.setPod(each);
  state.namespaces.set('shop', { team: 'a' });
  return state;
}

const decide = (given: Pod, nodes: readonly Node[], pods: readonly Pod[] = []): string => {
  const decision = schedule(given, stateOf(nodes, pods));
  return 'node' in decision ? decision.node : decision.message;
};

const three = ['n1', 'n2', 'n3'];
const required = (terms: readonly object[]): object => ({
  affinity: { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: terms } } },
});
const antiAffinity = (topologyKey = 'kubernetes.io/hostname'): object => ({
  podAntiAffinity: {
    requiredDuringSchedulingIgnoredDuringExecution: [{ topologyKey, labelSelector: { matchLabels: { app: 'web' } } }],
  },
});
const podAffinity = (topologyKey: string): object => ({
  podAffinity: {
    requiredDuringSchedulingIgnoredDuringExecution: [{ topologyKey, labelSelector: { matchLabels: { app: 'db' } } }],
  },
});
const spread = (whenUnsatisfiable: string): object => ({
  topologySpreadConstraints: [
    { maxSkew: 1, topologyKey: zoneKey, whenUnsatisfiable, labelSelector: { matchLabels: { app: 'web' } } },
  ],
});
const web = { app: 'web' };
const zones = [
  node('a1', { labels: { [zoneKey]: 'a' } }),
  node('a2', { labels: { [zoneKey]: 'a' } }),
  node('b1', { labels: { [zoneKey]: 'b' } }),
];

suite('the scheduler', () => {
  const filters: readonly {
    readonly name: string;
    readonly pod: Pod;
    readonly nodes: readonly Node[];
    readonly pods?: readonly Pod[];
    readonly want: string;
  }[] = [
    { name: 'reports that there are no nodes', pod: pod('p'), nodes: [], want: 'no nodes available to schedule pods' },
    {
      name: 'assigns nothing to nodes that do not report to be ready',
      pod: pod('p'),
      nodes: [node('n1', { ready: false })],
      want: '0/1 nodes are available: 1 node(s) had untolerated taint(s).',
    },
    {
      name: 'assigns Pods that tolerate everything to nodes that are not ready',
      pod: pod('p', { spec: { tolerations: [{ operator: 'Exists' }] } }),
      nodes: [node('n1', { ready: false })],
      want: 'n1',
    },
    {
      name: 'counts the nodes for each reason',
      pod: pod('p', { requests: { cpu: '3' } }),
      nodes: [
        node('n1', { allocatable: { cpu: '2' } }),
        node('n2', { spec: { taints: [{ key: 'k', effect: 'NoSchedule' }] } }),
        node('n3', { spec: { taints: [{ key: 'k', effect: 'NoExecute' }] } }),
        node('n4', { spec: { unschedulable: true } }),
      ],
      want: '0/4 nodes are available: 1 Insufficient cpu, 1 node(s) were unschedulable, 2 node(s) had untolerated taint(s).',
    },
    {
      name: 'counts a node for each resource that it lacks',
      pod: pod('p', { requests: { cpu: '5', memory: '9Gi', 'example.org/gpu': '1' } }),
      nodes: [node('n1')],
      want: '0/1 nodes are available: 1 Insufficient cpu, 1 Insufficient example.org/gpu, 1 Insufficient memory.',
    },
    {
      name: 'limits the number of Pods of a node',
      pod: pod('p'),
      nodes: [node('n1', { allocatable: { pods: '1' } })],
      pods: [pod('other', { on: 'n1' })],
      want: '0/1 nodes are available: 1 Too many pods.',
    },
    {
      name: 'does not count Pods that have finished',
      pod: pod('p', { requests: { cpu: '4' } }),
      nodes: [node('n1')],
      pods: [pod('done', { on: 'n1', requests: { cpu: '4' }, phase: 'Succeeded' })],
      want: 'n1',
    },
    {
      name: 'meets the node selector',
      pod: pod('p', { spec: { nodeSelector: { disk: 'ssd' } } }),
      nodes: [node('n1'), node('n2', { labels: { disk: 'ssd' } })],
      want: 'n2',
    },
    {
      name: 'meets one of the terms of the required affinity',
      pod: pod('p', {
        spec: required([
          { matchExpressions: [{ key: 'disk', operator: 'In', values: ['nvme'] }] },
          {
            matchExpressions: [
              { key: 'cores', operator: 'Gt', values: ['4'] },
              { key: 'old', operator: 'DoesNotExist' },
            ],
          },
        ]),
      }),
      nodes: [
        node('n1', { labels: { cores: '4' } }),
        node('n2', { labels: { cores: '8' } }),
        node('n3', { labels: { cores: '8', old: '' } }),
      ],
      want: 'n2',
    },
    {
      name: 'assigns a Pod of a DaemonSet to the node that its affinity names',
      pod: pod('p', { spec: required([{ matchFields: [{ key: 'metadata.name', operator: 'In', values: ['n3'] }] }]) }),
      nodes: three.map((name) => node(name)),
      want: 'n3',
    },
    {
      name: 'reports nodes that the selector excludes',
      pod: pod('p', { spec: { nodeSelector: { disk: 'ssd' } } }),
      nodes: [node('n1'), node('n2')],
      want: "0/2 nodes are available: 2 node(s) didn't match Pod's node affinity/selector.",
    },
    {
      name: 'keeps host ports of one protocol and address apart',
      pod: pod('p', { ports: [{ hostPort: 80, protocol: 'TCP', hostIP: '192.0.2.1' }] }),
      nodes: [node('n1'), node('n2'), node('n3')],
      pods: [
        pod('any', { on: 'n1', ports: [{ hostPort: 80, protocol: 'TCP' }] }),
        pod('same', { on: 'n2', ports: [{ hostPort: 80, protocol: 'TCP', hostIP: '192.0.2.1' }] }),
        pod('udp', { on: 'n3', ports: [{ hostPort: 80, protocol: 'UDP' }] }),
      ],
      want: 'n3',
    },
    {
      name: 'reports ports that are in use',
      pod: pod('p', { ports: [{ hostPort: 80, protocol: 'TCP' }] }),
      nodes: [node('n1')],
      pods: [pod('any', { on: 'n1', ports: [{ hostPort: 80, protocol: 'TCP' }] })],
      want: "0/1 nodes are available: 1 node(s) didn't have free ports for the requested pod ports.",
    },
    {
      name: 'keeps Pods apart that require it',
      pod: pod('p', { labels: web, spec: { affinity: antiAffinity() } }),
      nodes: [node('n1'), node('n2')],
      pods: [pod('other', { on: 'n1', labels: web })],
      want: 'n2',
    },
    {
      name: 'reports nodes with Pods from which it must be apart',
      pod: pod('p', { labels: web, spec: { affinity: antiAffinity() } }),
      nodes: [node('n1')],
      pods: [pod('other', { on: 'n1', labels: web })],
      want: "0/1 nodes are available: 1 node(s) didn't match pod anti-affinity rules.",
    },
    {
      name: 'respects the anti-affinity of Pods that run',
      pod: pod('p', { labels: web }),
      nodes: [node('n1')],
      pods: [pod('other', { on: 'n1', spec: { affinity: antiAffinity() } })],
      want: "0/1 nodes are available: 1 node(s) didn't satisfy existing pods anti-affinity rules.",
    },
    {
      name: 'joins the zone of Pods that it must be with',
      pod: pod('p', { spec: { affinity: podAffinity(zoneKey) } }),
      nodes: zones,
      pods: [pod('db', { on: 'b1', labels: { app: 'db' } })],
      want: 'b1',
    },
    {
      name: 'reports that no node has the Pods that it must be with',
      pod: pod('p', { spec: { affinity: podAffinity(zoneKey) } }),
      nodes: zones,
      want: "0/3 nodes are available: 3 node(s) didn't match pod affinity rules.",
    },
    {
      name: 'places the first Pod of a group that must be together',
      pod: pod('p', { labels: { app: 'db' }, spec: { affinity: podAffinity(zoneKey) } }),
      nodes: [zones[2] ?? node('b1')],
      want: 'b1',
    },
    {
      name: 'spreads Pods over zones where it must',
      pod: pod('p', { labels: web, spec: spread('DoNotSchedule') }),
      nodes: zones,
      pods: [pod('other', { on: 'a1', labels: web })],
      want: 'b1',
    },
    {
      name: 'reports zones with too many Pods and nodes without a zone',
      pod: pod('p', { labels: web, requests: { memory: '1Gi' }, spec: spread('DoNotSchedule') }),
      nodes: [
        node('a1', { labels: { [zoneKey]: 'a' } }),
        node('b1', { labels: { [zoneKey]: 'b' }, allocatable: { memory: '1Mi' } }),
        node('none'),
      ],
      pods: [pod('other', { on: 'a1', labels: web })],
      want: "0/3 nodes are available: 1 Insufficient memory, 1 node(s) didn't match pod topology spread constraints, 1 node(s) didn't match pod topology spread constraints (missing required label).",
    },
  ];
  for (const { name, pod: given, nodes, pods, want } of filters) {
    test(name, () => assert.equal(decide(given, nodes, pods), want));
  }

  const preferences: readonly {
    readonly name: string;
    readonly pod: Pod;
    readonly nodes: readonly Node[];
    readonly pods?: readonly Pod[];
    readonly want: string;
  }[] = [
    {
      name: 'the node with the most free resources',
      pod: pod('p', { requests: { cpu: '1' } }),
      nodes: [node('n1'), node('n2')],
      pods: [pod('other', { on: 'n1', requests: { cpu: '2' } })],
      want: 'n2',
    },
    {
      name: 'a node without a taint that Pods avoid',
      pod: pod('p'),
      nodes: [node('n1', { spec: { taints: [{ key: 'k', effect: 'PreferNoSchedule' }] } }), node('n2')],
      want: 'n2',
    },
    {
      name: 'the nodes of the preferred affinity',
      pod: pod('p', {
        spec: {
          affinity: {
            nodeAffinity: {
              preferredDuringSchedulingIgnoredDuringExecution: [
                { weight: 10, preference: { matchExpressions: [{ key: 'disk', operator: 'Exists' }] } },
              ],
            },
          },
        },
      }),
      nodes: [node('n1'), node('n2', { labels: { disk: '' } })],
      want: 'n2',
    },
    {
      name: 'a zone with fewer Pods of the same controller',
      pod: pod('p', { owner: 'set' }),
      nodes: zones,
      pods: [pod('one', { on: 'a1', owner: 'set' })],
      want: 'b1',
    },
    {
      name: 'a node that spreads the Pods, if it should',
      pod: pod('p', { labels: web, spec: spread('ScheduleAnyway') }),
      nodes: zones,
      pods: [pod('one', { on: 'a1', labels: web })],
      want: 'b1',
    },
  ];
  for (const { name, pod: given, nodes, pods, want } of preferences) {
    test(`prefers ${name}`, () => assert.equal(decide(given, nodes, pods), want));
  }

  test('distributes the Pods of a controller evenly over nodes and zones', () => {
    const nodes = Array.from({ length: 6 }, (_, index) =>
      node(`n${index}`, { labels: { [zoneKey]: index < 4 ? 'a' : 'b' } }),
    );
    const state = stateOf(nodes);
    const counts = new Map<string, number>();
    for (let index = 0; index < 12; index++) {
      const next = pod(`p${index}`, { owner: 'set' });
      const decision = schedule(next, state);
      assert.ok('node' in decision);
      counts.set(decision.node, (counts.get(decision.node) ?? 0) + 1);
      state.setPod(pod(`p${index}`, { owner: 'set', on: decision.node }));
    }
    const inZoneA = [0, 1, 2, 3].reduce((sum, index) => sum + (counts.get(`n${index}`) ?? 0), 0);
    assert.ok(Math.abs(inZoneA - 6) <= 2, JSON.stringify([...counts]));
  });

  test('never puts more on a node than it can allocate', () => {
    const cpu = fc.integer({ min: 1, max: 4000 });
    const property = fc.property(
      fc.array(cpu, { maxLength: 40 }),
      fc.array(cpu, { minLength: 1, maxLength: 5 }),
      (requests, sizes) => {
        const state = stateOf(
          sizes.map((size, index) => node(`n${index}`, { allocatable: { cpu: `${size}m`, pods: '7' } })),
        );
        for (const [index, request] of requests.entries()) {
          const settings = { requests: { cpu: `${request}m` } };
          const decision = schedule(pod(`p${index}`, settings), state);
          if ('node' in decision) state.setPod(pod(`p${index}`, { ...settings, on: decision.node }));
          else assert.match(decision.message, new RegExp(`^0/${sizes.length} nodes are available: `));
        }
        for (const { used, allocatable, pods } of state.nodes()) {
          assert.ok((used.get('cpu') ?? 0) <= (allocatable.get('cpu') ?? 0));
          assert.ok(pods.size <= 7);
        }
      },
    );
    fc.assert(property, { numRuns: 200 });
  });

  test('a Pod that leaves frees what it used', () => {
    const settings = fc.record({ on: fc.constantFrom('n1', 'n2'), cpu: fc.integer({ min: 0, max: 900 }) });
    const property = fc.property(fc.array(settings, { maxLength: 20 }), (list) => {
      const state = stateOf([node('n1'), node('n2')]);
      const pods = list.map(({ on, cpu }, index) => pod(`p${index}`, { on, requests: { cpu: `${cpu}m` } }));
      for (const each of pods) state.setPod(each);
      for (const each of pods) state.setPod(each); // an update changes nothing
      for (const each of pods) state.removePod(each.metadata.uid ?? '');
      for (const { used, pods: left } of state.nodes()) {
        assert.equal(left.size, 0);
        assert.ok([...used.values()].every((amount) => amount === 0));
      }
    });
    fc.assert(property);
  });

  test('1,000 Pods on 100 nodes take at most two seconds of CPU', () => {
    const nodes = Array.from({ length: 100 }, (_, index) =>
      node(`n${index}`, { labels: { [zoneKey]: `z${index % 3}` }, allocatable: { pods: '110' } }),
    );
    const state = stateOf(nodes);
    const before = process.cpuUsage();
    for (let index = 0; index < 1000; index++) {
      const settings = { owner: `set${index % 100}`, labels: { app: `a${index % 100}` }, requests: { cpu: '100m' } };
      const decision = schedule(pod(`p${index}`, settings), state);
      assert.ok('node' in decision);
      state.setPod(pod(`p${index}`, { ...settings, on: decision.node }));
    }
    const { user, system } = process.cpuUsage(before);
    assert.ok((user + system) / 1e6 <= 2, `${(user + system) / 1e6} s`);
  });
});
