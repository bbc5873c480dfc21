import assert from 'node:assert/strict';
import { test } from 'node:test';
import { cells, createErrors, updateErrors } from '../../testing/validation.ts';
import { priorityClassKind, systemPriorityClasses } from './kind.ts';

const table: readonly { name: string; given: object; want: readonly string[] }[] = [
  { name: 'accepts a value', given: { value: -5 }, want: [] },
  {
    name: 'rejects values above those of users',
    given: { value: 1_000_000_001 },
    want: ['value: Forbidden: maximum allowed value of a user defined priority is 1000000000'],
  },
  {
    name: 'reserves names that start with system-',
    given: { metadata: { name: 'system-mine' }, value: 1 },
    want: [
      "metadata.name: Forbidden: priority class names with 'system-' prefix are reserved for system use only. error: system-mine is not a known system priority class",
    ],
  },
  {
    name: 'rejects an unknown preemption policy',
    given: { value: 1, preemptionPolicy: 'Always' },
    want: ['preemptionPolicy: Unsupported value: "Always": supported values: "PreemptLowerPriority", "Never"'],
  },
];
for (const { name, given, want } of table) {
  test(name, () => assert.deepEqual(createErrors(priorityClassKind, given), want));
}

test('accepts the classes that every cluster has, with their value only', () => {
  for (const given of systemPriorityClasses) {
    assert.deepEqual(createErrors(priorityClassKind, given), []);
    assert.match(
      createErrors(priorityClassKind, { ...given, value: 1 })[0] ?? '',
      /value of system-.* PriorityClass must be 200000/,
    );
  }
});

test('value and preemption policy cannot be changed', () => {
  assert.deepEqual(updateErrors(priorityClassKind, { value: 1 }, { value: 2, preemptionPolicy: 'Never' }), [
    'value: Forbidden: may not be changed in an update.',
    'preemptionPolicy: Invalid value: "Never": field is immutable',
  ]);
  assert.deepEqual(updateErrors(priorityClassKind, { value: 1 }, { value: 1, description: 'x' }), []);
});

test('the row of a class', () => {
  assert.deepEqual(cells(priorityClassKind, { value: 7 }), ['a', 7, false, '<unknown>', 'PreemptLowerPriority']);
});
