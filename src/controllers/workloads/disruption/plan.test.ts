import assert from 'node:assert/strict';
import { suite, test } from 'node:test';

import type { Pod } from '../../../api/kinds/core/pod/schema.ts';
import type { PodDisruptionBudget } from '../../../api/kinds/policy/poddisruptionbudget/kind.ts';
import { planBudget } from './plan.ts';

const now = Date.parse('2026-01-01T00:10:00Z');

const budgetOf = (spec: object, status: object = {}): PodDisruptionBudget =>
  // Only the fields that the plan reads.
  ({
    metadata: { name: 'web', generation: 2 },
    spec,
    status: { disruptionsAllowed: 0, currentHealthy: 0, desiredHealthy: 0, expectedPods: 0, ...status },
  }) as unknown as PodDisruptionBudget;

const podsOf = (...states: readonly string[]): readonly Pod[] =>
  states.map(
    (state, index) =>
      // Only the fields that the plan reads.
      ({
        metadata: { name: `p${index}`, ...(state === 'ending' ? { deletionTimestamp: '2026-01-01T00:09:00Z' } : {}) },
        status: { phase: 'Running', conditions: [{ type: 'Ready', status: state === 'unready' ? 'False' : 'True' }] },
      }) as unknown as Pod,
  );

const three = podsOf('ready', 'ready', 'ready');

suite('PodDisruptionBudgets', () => {
  const cases: readonly {
    readonly name: string;
    readonly spec: object;
    readonly pods?: readonly Pod[];
    readonly scale?: number;
    /** Allowed, current, desired, expected. */
    readonly want: readonly number[];
  }[] = [
    { name: 'minAvailable as a number', spec: { minAvailable: 2 }, want: [1, 3, 2, 3] },
    { name: 'minAvailable above the number of Pods', spec: { minAvailable: 5 }, want: [0, 3, 5, 3] },
    { name: 'minAvailable in per cent, rounded up', spec: { minAvailable: '50%' }, scale: 3, want: [1, 3, 2, 3] },
    { name: 'maxUnavailable as a number', spec: { maxUnavailable: 1 }, scale: 4, want: [0, 3, 3, 4] },
    { name: 'maxUnavailable in per cent, rounded up', spec: { maxUnavailable: '10%' }, scale: 3, want: [1, 3, 2, 3] },
    {
      name: 'Pods that are not ready or are being deleted are not healthy',
      spec: { minAvailable: 1 },
      pods: podsOf('ready', 'unready', 'ending'),
      want: [0, 1, 1, 3],
    },
    { name: 'no Pods allow no disruption', spec: { maxUnavailable: 1 }, pods: [], scale: 0, want: [0, 0, 0, 0] },
  ];
  for (const { name, spec, pods = three, scale = 0, want } of cases) {
    test(name, () => {
      const { status } = planBudget({ budget: budgetOf(spec), pods, scale: () => scale, now });
      assert.deepEqual(
        [status?.disruptionsAllowed, status?.currentHealthy, status?.desiredHealthy, status?.expectedPods],
        want,
      );
      const reason = (want[0] ?? 0) > 0 ? 'SufficientPods' : 'InsufficientPods';
      assert.deepEqual(
        status?.conditions?.map((each) => each.reason),
        [reason],
      );
    });
  }

  test('an eviction counts until the deletion is observed, or for two minutes', () => {
    const disruptedPods = { p0: '2026-01-01T00:09:00Z', p1: '2026-01-01T00:07:59Z', gone: '2026-01-01T00:09:59Z' };
    const plan = planBudget({
      budget: budgetOf({ minAvailable: 2 }, { disruptedPods }),
      pods: three,
      scale: () => 0,
      now,
    });
    assert.deepEqual(plan.status?.disruptedPods, { p0: '2026-01-01T00:09:00Z' });
    assert.deepEqual([plan.status?.disruptionsAllowed, plan.nextMs], [0, 60_000]);
  });

  test('unknown sizes allow no eviction', () => {
    const problem = 'found no controllers for pod "p0"';
    const plan = planBudget({
      budget: budgetOf({ maxUnavailable: 1 }, { disruptionsAllowed: 1 }),
      pods: three,
      scale: () => ({ problem }),
      now,
    });
    assert.deepEqual(
      [plan.status?.disruptionsAllowed, plan.status?.conditions?.[0]?.reason, plan.problem],
      [0, 'SyncFailed', problem],
    );
  });

  test('the plan after its own result is empty', () => {
    const observed = { pods: three, scale: () => 3, now };
    const { status } = planBudget({ ...observed, budget: budgetOf({ minAvailable: '34%' }) });
    assert.ok(status !== undefined);
    assert.equal(planBudget({ ...observed, budget: budgetOf({ minAvailable: '34%' }, status) }).status, undefined);
  });
});
