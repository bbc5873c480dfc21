import assert from 'node:assert/strict';
import { test } from 'node:test';
import { cells, created, createErrors, plainContext, updateErrors } from '../../testing/validation.ts';
import { podDisruptionBudgetKind } from './kind.ts';

const selector = { matchLabels: { app: 'web' } };
const badValue = { matchExpressions: [{ key: 'app', operator: 'In', values: ['no good'] }] };
const labelRule =
  "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";

const table: readonly { name: string; given: object; want: readonly string[] }[] = [
  { name: 'accepts a number', given: { minAvailable: 2, selector }, want: [] },
  { name: 'accepts a percentage', given: { maxUnavailable: '25%', selector }, want: [] },
  { name: 'accepts a budget without fields', given: {}, want: [] },
  {
    name: 'rejects both amounts',
    given: { minAvailable: 1, maxUnavailable: 1 },
    want: [
      'spec: Invalid value: {"MinAvailable":1,"Selector":null,"MaxUnavailable":1,"UnhealthyPodEvictionPolicy":null}: minAvailable and maxUnavailable cannot be both set',
    ],
  },
  {
    name: 'rejects negative numbers and more than 100%',
    given: { minAvailable: -1 },
    want: ['spec.minAvailable: Invalid value: -1: must be greater than or equal to 0'],
  },
  {
    name: 'rejects more than 100%',
    given: { maxUnavailable: '101%' },
    want: ['spec.maxUnavailable: Invalid value: "101%": must not be greater than 100%'],
  },
  {
    name: 'rejects an invalid label value in an expression',
    given: { selector: badValue },
    want: [`spec.selector.matchExpressions[0].values[0]: Invalid value: "no good": ${labelRule}`],
  },
  {
    name: 'rejects an unknown policy for unhealthy Pods',
    given: { unhealthyPodEvictionPolicy: 'Never' },
    want: [
      'spec.unhealthyPodEvictionPolicy: Unsupported value: "Never": supported values: "AlwaysAllow", "IfHealthyBudget"',
    ],
  },
];
for (const { name, given, want } of table) {
  test(name, () => assert.deepEqual(createErrors(podDisruptionBudgetKind, { spec: given }), want));
}

test('an update keeps an invalid label value that is stored', () => {
  assert.deepEqual(
    updateErrors(podDisruptionBudgetKind, { spec: { selector: badValue } }, { spec: { selector: badValue } }),
    [],
  );
  assert.equal(
    updateErrors(podDisruptionBudgetKind, { spec: { selector } }, { spec: { selector: badValue } }).length,
    1,
  );
});

test('rejects a status with negative counts or incomplete conditions', () => {
  const old = created(podDisruptionBudgetKind, { spec: {} });
  const status = {
    ...old.status,
    disruptionsAllowed: -1,
    conditions: [
      {
        type: 'DisruptionAllowed',
        status: 'Perhaps',
        lastTransitionTime: '2026-01-01T00:00:00Z',
        reason: 'no good',
        message: '',
      },
    ],
  };
  const errors = podDisruptionBudgetKind.validateStatus({ ...old, status }, old, plainContext);
  assert.deepEqual(
    errors.map(({ path }) => path),
    ['status.conditions[0].status', 'status.conditions[0].reason', 'status.disruptionsAllowed'],
  );
});

test('the row of a budget', () => {
  const given = { spec: { minAvailable: '50%' }, status: { disruptionsAllowed: 2 } };
  assert.deepEqual(cells(podDisruptionBudgetKind, given), ['a', '50%', 'N/A', 2, '<unknown>']);
});
