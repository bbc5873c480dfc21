import assert from 'node:assert/strict';
import { test } from 'node:test';

import type { Node } from '../../../api/kinds/core/node/schema.ts';
import type { Pod } from '../../../api/kinds/core/pod/schema.ts';
import { planGarbage } from './plan.ts';

interface Settings {
  readonly on?: string;
  readonly phase?: string;
  readonly ending?: boolean;
  readonly assigned?: boolean;
  readonly at?: string;
}

const pod = (name: string, { on, phase = 'Running', ending = false, assigned = true, at = '00' }: Settings = {}): Pod =>
  // Only the fields that the plan reads.
  ({
    metadata: {
      name,
      creationTimestamp: `2026-01-01T00:00:${at}Z`,
      ...(ending ? { deletionTimestamp: '2026-01-01T00:09:00Z' } : {}),
    },
    spec: on === undefined ? {} : { nodeName: on },
    status: { phase, conditions: assigned ? [{ type: 'PodScheduled', status: 'True' }] : [] },
  }) as unknown as Pod;

const node = (name: string, isReady: boolean, taints: readonly object[] = []): Node =>
  // Only the fields that the plan reads.
  ({
    metadata: { name },
    spec: { taints },
    status: { conditions: [{ type: 'Ready', status: isReady ? 'True' : 'False' }] },
  }) as unknown as Node;

const outOfService = [{ key: 'node.kubernetes.io/out-of-service', effect: 'NoExecute' }];
const nodes = [node('n1', true), node('broken', false, outOfService), node('repaired', true, outOfService)];

const cases: readonly {
  readonly name: string;
  readonly pods: readonly Pod[];
  readonly want: readonly string[];
  readonly threshold?: number;
}[] = [
  {
    name: 'Pods of nodes that are gone fail and go',
    pods: [pod('a', { on: 'lost' }), pod('b', { on: 'n1' })],
    want: ['a on lost'],
  },
  {
    name: 'Pods that users wrote for a node that never existed stay',
    pods: [pod('a', { on: 'lost', assigned: false })],
    want: [],
  },
  {
    name: 'Pods that are being deleted and have no node go',
    pods: [pod('a', { ending: true }), pod('b')],
    want: ['a'],
  },
  {
    name: 'Pods that are being deleted on a node that is out of service go',
    pods: [
      pod('a', { on: 'broken', ending: true }),
      pod('b', { on: 'broken' }),
      pod('c', { on: 'repaired', ending: true }),
    ],
    want: ['a'],
  },
  {
    name: 'the oldest Pods that have finished go above the threshold',
    pods: [
      pod('new', { phase: 'Failed', at: '09' }),
      pod('old', { phase: 'Succeeded', at: '01' }),
      pod('middle', { phase: 'Failed', at: '05' }),
    ],
    threshold: 1,
    want: ['old', 'middle'],
  },
];
for (const { name, pods, want, threshold = 10 } of cases) {
  test(name, () => {
    const garbage = planGarbage({ pods, nodes, lostNodes: new Set(['lost']), threshold });
    const texts = garbage.map(({ pod: { metadata }, lostNode }) =>
      lostNode === undefined ? metadata.name : `${metadata.name} on ${lostNode}`,
    );
    assert.deepEqual(texts, want);
  });
}
