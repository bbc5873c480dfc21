import assert from 'node:assert/strict';
import { test } from 'node:test';
import { cells, createErrors, updateErrors } from '../../testing/validation.ts';
import { controllerRevisionKind } from './kind.ts';

const data = { spec: {} };
const table: readonly { name: string; given: object; want: readonly string[] }[] = [
  { name: 'accepts an object', given: { data, revision: 1 }, want: [] },
  { name: 'requires data', given: { revision: 1 }, want: ['data: Required value: data is mandatory'] },
  {
    name: 'data must be an object, the revision must not be negative',
    given: { data: [1], revision: -1 },
    want: [
      'revision: Invalid value: -1: must be greater than or equal to 0',
      'data: Required value: data must be a valid JSON object',
    ],
  },
];
for (const { name, given, want } of table) {
  test(name, () => assert.deepEqual(createErrors(controllerRevisionKind, given), want));
}

test('data cannot be changed, the revision can', () => {
  assert.deepEqual(updateErrors(controllerRevisionKind, { data, revision: 1 }, { data, revision: 2 }), []);
  assert.deepEqual(updateErrors(controllerRevisionKind, { data, revision: 1 }, { data: {}, revision: 1 }), [
    'data: Invalid value: {}: field is immutable',
  ]);
});

test('the row names the owner', () => {
  const owner = { apiVersion: 'apps/v1', kind: 'StatefulSet', name: 'web', uid: '1', controller: true };
  const metadata = { name: 'web-1', ownerReferences: [owner] };
  assert.deepEqual(cells(controllerRevisionKind, { metadata, data, revision: 3 }), [
    'web-1',
    'statefulset.apps/web',
    3,
    '<unknown>',
  ]);
});
