import assert from 'node:assert/strict';
import { test } from 'node:test';
import { created, createErrors, plainContext, updateErrors } from '../../testing/validation.ts';
import { runtimeClassKind } from './kind.ts';

const toleration = { key: 'a', operator: 'Exists' };
const table: readonly { name: string; given: object; want: readonly string[] }[] = [
  {
    name: 'accepts overhead and scheduling',
    given: {
      handler: 'kata',
      overhead: { podFixed: { cpu: '100m' } },
      scheduling: { nodeSelector: { kata: 'true' }, tolerations: [toleration] },
    },
    want: [],
  },
  {
    name: 'rejects a handler that is not a label',
    given: { handler: 'a.b' },
    want: ['handler: Invalid value: "a.b": must not contain dots'],
  },
  {
    name: 'rejects negative overhead',
    given: { handler: 'a', overhead: { podFixed: { cpu: '-1' } } },
    want: ['overhead.limits[cpu]: Invalid value: "-1": must be greater than or equal to 0'],
  },
  {
    name: 'rejects overhead of resources that containers do not have',
    given: { handler: 'a', overhead: { podFixed: { pods: '1' } } },
    want: ['overhead.limits[pods]: Invalid value: "pods": must be a standard resource for containers'],
  },
  {
    name: 'rejects bad tolerations',
    given: {
      handler: 'a',
      scheduling: {
        tolerations: [
          { operator: 'Equal' },
          { key: 'a', operator: 'Exists', value: 'x', effect: 'X' },
          { key: 'a', operator: 'X' },
        ],
      },
    },
    want: [
      'scheduling.tolerations[0].operator: Invalid value: "Equal": operator must be Exists when `key` is empty, which means "match all values and all keys"',
      'scheduling.tolerations[1].operator: Invalid value: "x": value must be empty when `operator` is \'Exists\'',
      'scheduling.tolerations[1].effect: Unsupported value: "X": supported values: "NoSchedule", "PreferNoSchedule", "NoExecute"',
      'scheduling.tolerations[2].operator: Unsupported value: "X": supported values: "Equal", "Exists"',
    ],
  },
  {
    name: 'rejects a repeated toleration',
    given: { handler: 'a', scheduling: { tolerations: [toleration, toleration] } },
    want: [
      'scheduling.tolerations[1]: Duplicate value: {"Key":"a","Operator":"Exists","Value":"","Effect":"","TolerationSeconds":null}',
    ],
  },
];
for (const { name, given, want } of table) {
  test(name, () => assert.deepEqual(createErrors(runtimeClassKind, given), want));
}

test('the handler cannot be changed', () => {
  assert.deepEqual(updateErrors(runtimeClassKind, { handler: 'a' }, { handler: 'b' }), [
    'handler: Invalid value: "b": field is immutable',
  ]);
});

test('warns about deprecated node labels', () => {
  const object = created(runtimeClassKind, {
    handler: 'a',
    scheduling: { nodeSelector: { 'beta.kubernetes.io/os': 'linux' } },
  });
  assert.deepEqual(runtimeClassKind.warnings(object, undefined, plainContext), [
    'scheduling.nodeSelector: deprecated since v1.14; use "kubernetes.io/os" instead',
  ]);
});
