import assert from 'node:assert/strict';
import { test } from 'node:test';

import type { Node } from '../../api/kinds/core/node/schema.ts';
import type { Eviction, NodePlan, Taint } from './plan.ts';
import { planNode } from './plan.ts';

const now = '2026-01-01T00:01:00Z';
const before = '2026-01-01T00:00:00Z';
const types = ['Ready', 'MemoryPressure', 'DiskPressure', 'PIDPressure'] as const;

const taint = (key: 'not-ready' | 'unreachable', effect: Taint['effect'], timeAdded = before): Taint => ({
  key: `node.kubernetes.io/${key}`,
  effect,
  timeAdded,
});
const foreign: Taint = { key: 'example.org/gpu', effect: 'NoExecute' };

/** A node with the same status for all its conditions. */
const nodeWith = (status: string | undefined, taints: readonly Taint[] = []): Node => {
  const at = { lastHeartbeatTime: before, lastTransitionTime: before };
  const conditions = status === undefined ? [] : types.map((type) => ({ type, status, ...at }));
  const object = { metadata: { name: 'n', creationTimestamp: before }, spec: { taints }, status: { conditions } };
  return object as unknown as Node;
};

const unknown = (reason: string, message: string): NodePlan['conditions'] =>
  types.map((type) => ({
    type,
    status: 'Unknown',
    lastTransitionTime: now,
    lastHeartbeatTime: before,
    reason,
    message,
  }));

const rows: readonly {
  readonly name: string;
  readonly node: Node;
  readonly isSilent?: boolean;
  readonly eviction?: Eviction;
  readonly want: Partial<NodePlan>;
}[] = [
  { name: 'nothing for a node that is ready', node: nodeWith('True', [foreign]), want: {} },
  { name: 'nothing for a node that has not reported yet', node: nodeWith(undefined), want: {} },
  {
    name: 'Unknown for a node that stopped reporting',
    node: nodeWith('True'),
    isSilent: true,
    want: {
      conditions: unknown('NodeStatusUnknown', 'Kubelet stopped posting node status.') ?? [],
      isNotReady: true,
    },
  },
  {
    name: 'Unknown for a node that never reported',
    node: nodeWith(undefined),
    isSilent: true,
    want: {
      conditions: unknown('NodeStatusNeverUpdated', 'Kubelet never posted node status.') ?? [],
      isNotReady: true,
    },
  },
  {
    name: 'nothing more for a silent node that has its conditions and taints',
    node: nodeWith('Unknown', [taint('unreachable', 'NoSchedule'), taint('unreachable', 'NoExecute')]),
    isSilent: true,
    want: { isNotReady: true },
  },
  {
    name: 'the taint that evicts Pods when that is allowed, and keeps foreign taints',
    node: nodeWith('Unknown', [taint('unreachable', 'NoSchedule'), foreign]),
    isSilent: true,
    eviction: 'allow',
    want: {
      taints: [foreign, taint('unreachable', 'NoSchedule'), taint('unreachable', 'NoExecute', now)],
      isNotReady: true,
      evicts: true,
    },
  },
  {
    name: 'a taint that repels Pods for a silent node that has its conditions',
    node: nodeWith('Unknown'),
    isSilent: true,
    want: { taints: [taint('unreachable', 'NoSchedule', now)], isNotReady: true },
  },
  {
    name: 'the end of an eviction that is cancelled',
    node: nodeWith('Unknown', [taint('unreachable', 'NoSchedule'), taint('unreachable', 'NoExecute'), foreign]),
    isSilent: true,
    eviction: 'cancel',
    want: { taints: [foreign, taint('unreachable', 'NoSchedule')], isNotReady: true },
  },
  {
    name: 'other taints for a node that reports again that it is not ready',
    node: nodeWith('False', [taint('unreachable', 'NoSchedule'), taint('unreachable', 'NoExecute')]),
    want: { taints: [taint('not-ready', 'NoSchedule', now), taint('not-ready', 'NoExecute', now)], isNotReady: true },
  },
  {
    name: 'no taints for a node that is ready again',
    node: nodeWith('True', [taint('unreachable', 'NoSchedule'), foreign, taint('not-ready', 'NoExecute')]),
    want: { taints: [foreign] },
  },
];

for (const { name, node, isSilent = false, eviction = 'wait', want } of rows) {
  test(`plans ${name}`, () =>
    assert.deepEqual(planNode({ node, isSilent, eviction, now }), {
      isNotReady: false,
      evicts: false,
      ...want,
    }));
}
