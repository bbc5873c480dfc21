import assert from 'node:assert/strict';
import { test } from 'node:test';
import { cells, createErrors, updateErrors } from '../../testing/validation.ts';
import { storageClassKind } from './kind.ts';

const provisioner = 'csi.example.org';
const zone = { key: 'zone', values: ['a'] };
const table: readonly { name: string; given: object; want: readonly string[] }[] = [
  { name: 'accepts a provisioner', given: { provisioner }, want: [] },
  { name: 'requires a provisioner', given: {}, want: ['provisioner: Required value'] },
  {
    name: 'rejects unknown words',
    given: { provisioner, reclaimPolicy: 'Recycle', volumeBindingMode: 'X' },
    want: [
      'reclaimPolicy: Unsupported value: "Recycle": supported values: "Delete", "Retain"',
      'volumeBindingMode: Unsupported value: "X": supported values: "Immediate", "WaitForFirstConsumer"',
    ],
  },
  {
    name: 'rejects repeated and empty topologies',
    given: {
      provisioner,
      allowedTopologies: [
        { matchLabelExpressions: [zone] },
        { matchLabelExpressions: [zone] },
        {
          matchLabelExpressions: [
            { key: 'rack', values: ['a', 'a'] },
            { key: 'rack', values: [] },
          ],
        },
      ],
    },
    want: [
      'allowedTopologies[1].matchLabelExpressions: Duplicate value: ""',
      'allowedTopologies[2].matchLabelExpressions[0].values[1]: Duplicate value: "a"',
      'allowedTopologies[2].matchLabelExpressions[1].values: Required value',
      'allowedTopologies[2].matchLabelExpressions[1].key: Duplicate value: "rack"',
    ],
  },
  {
    name: 'limits the parameters',
    given: { provisioner, parameters: { '': 'a', b: 'x'.repeat(256 * 1024) } },
    want: [
      'parameters: Invalid value: "": field can not be empty.',
      'parameters: Too long: may not be more than 262144 bytes',
    ],
  },
];
for (const { name, given, want } of table) {
  test(name, () => assert.deepEqual(createErrors(storageClassKind, given), want));
}

test('only expansion, mount options and topologies can be changed', () => {
  const changed = { provisioner: 'x', parameters: { a: 'b' }, reclaimPolicy: 'Retain' };
  assert.deepEqual(
    updateErrors(storageClassKind, { provisioner }, { ...changed, volumeBindingMode: 'WaitForFirstConsumer' }),
    [
      'parameters: Forbidden: updates to parameters are forbidden.',
      'provisioner: Forbidden: updates to provisioner are forbidden.',
      'reclaimPolicy: Forbidden: updates to reclaimPolicy are forbidden.',
      'volumeBindingMode: Invalid value: "WaitForFirstConsumer": field is immutable',
    ],
  );
  assert.deepEqual(updateErrors(storageClassKind, { provisioner }, { provisioner, allowVolumeExpansion: true }), []);
});

test('the row of a default class', () => {
  const annotations = { 'storageclass.kubernetes.io/is-default-class': 'true' };
  assert.deepEqual(cells(storageClassKind, { metadata: { name: 'a', annotations }, provisioner }), [
    'a (default)',
    provisioner,
    'Delete',
    'Immediate',
    false,
    '<unknown>',
  ]);
});
