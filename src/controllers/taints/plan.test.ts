import assert from 'node:assert/strict';
import { test } from 'node:test';

import { toleratedSeconds } from './plan.ts';

const gpu = { key: 'gpu', value: 'yes', effect: 'NoExecute' } as const;
const lost = { key: 'node.kubernetes.io/unreachable', effect: 'NoExecute' } as const;

type Rows = readonly (readonly [
  name: string,
  taints: Parameters<typeof toleratedSeconds>[0],
  tolerations: NonNullable<Parameters<typeof toleratedSeconds>[1]>,
  seconds: number,
])[];

const rows: Rows = [
  ['a Pod without tolerations leaves at once', [lost], [], 0],
  ['a Pod stays without taints', [], [], Infinity],
  ['a toleration without seconds is for ever', [lost], [{ key: lost.key, operator: 'Exists' }], Infinity],
  [
    'a Pod stays for the seconds of its toleration',
    [lost],
    [{ key: lost.key, operator: 'Exists', tolerationSeconds: 300 }],
    300,
  ],
  ['negative seconds are none', [lost], [{ operator: 'Exists', tolerationSeconds: -1 }], 0],
  ['the value must be equal', [gpu], [{ key: 'gpu', value: 'no' }], 0],
  ['an equal value tolerates', [gpu], [{ key: 'gpu', operator: 'Equal', value: 'yes' }], Infinity],
  [
    'a toleration of another effect does not count',
    [gpu],
    [{ key: 'gpu', operator: 'Exists', effect: 'NoSchedule' }],
    0,
  ],
  ['an empty key with Exists tolerates everything', [gpu, lost], [{ operator: 'Exists' }], Infinity],
  ['every taint must be tolerated', [gpu, lost], [{ key: 'gpu', operator: 'Exists' }], 0],
  [
    'of several tolerations of a taint the first one counts',
    [lost],
    [{ operator: 'Exists' }, { key: lost.key, operator: 'Exists', tolerationSeconds: 30 }],
    Infinity,
  ],
  [
    'the shortest time counts',
    [gpu, lost],
    [
      { key: 'gpu', operator: 'Exists', tolerationSeconds: 60 },
      { key: lost.key, operator: 'Exists', tolerationSeconds: 30 },
    ],
    30,
  ],
];
for (const [name, taints, tolerations, seconds] of rows) {
  test(name, () => assert.equal(toleratedSeconds(taints, tolerations), seconds));
}
