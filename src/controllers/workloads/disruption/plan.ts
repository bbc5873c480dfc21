// The status of a PodDisruptionBudget: how many of its Pods may be evicted now.
import { isDeepStrictEqual } from 'node:util';

import { amountOf } from '../../../api/kinds/apps/workload.ts';
import type { Pod } from '../../../api/kinds/core/pod/schema.ts';
import type { PodDisruptionBudget } from '../../../api/kinds/policy/poddisruptionbudget/kind.ts';
import { timestamp } from '../../../api/timestamp.ts';
import { isReady, isTerminating } from '../pods.ts';

export interface Observed {
  readonly budget: PodDisruptionBudget;
  /** The Pods that it selects. */
  readonly pods: readonly Pod[];
  /** The sum of the sizes of their controllers, or why it is unknown. Only read if the budget is relative to it. */
  readonly scale: () => number | { readonly problem: string };
  readonly now: number;
}

export interface BudgetPlan {
  /** undefined: it has not changed. */
  readonly status: PodDisruptionBudget['status'] | undefined;
  /** Why the budget could not be computed. */
  readonly problem: string | undefined;
  /** When an eviction that was not carried out is given up. */
  readonly nextMs: number | undefined;
}

/** How long an eviction may take until the deletion of the Pod is observed. */
const evictionMs = 120_000;

/** Plans the status. */
export function planBudget(observed: Observed): BudgetPlan {
  const { budget, pods, now } = observed;
  const { disrupted, nextMs } = unconfirmed(budget, pods, now);
  const healthy = pods.filter(
    (pod) => !isTerminating(pod) && disrupted[pod.metadata.name ?? ''] === undefined && isReady(pod),
  ).length;
  const wanted = desired(observed, pods.length);
  const { generation } = budget.metadata;
  const common = {
    ...(generation === undefined ? {} : { observedGeneration: generation }),
    ...(Object.keys(disrupted).length === 0 ? {} : { disruptedPods: disrupted }),
  };
  if ('problem' in wanted) {
    // No eviction is allowed on unknown numbers.
    const status = { ...budget.status, ...common, disruptionsAllowed: 0 };
    return result(
      budget,
      { ...status, conditions: conditionsOf(budget, 'SyncFailed', wanted.problem, now) },
      wanted.problem,
      nextMs,
    );
  }
  const allowed = wanted.expected <= 0 ? 0 : Math.max(0, healthy - wanted.healthy);
  const status = {
    ...common,
    disruptionsAllowed: allowed,
    currentHealthy: healthy,
    desiredHealthy: wanted.healthy,
    expectedPods: wanted.expected,
    conditions: conditionsOf(budget, allowed > 0 ? 'SufficientPods' : 'InsufficientPods', '', now),
  };
  return result(budget, status, undefined, nextMs);
}

function result(
  budget: PodDisruptionBudget,
  status: PodDisruptionBudget['status'],
  problem: string | undefined,
  nextMs: number | undefined,
): BudgetPlan {
  return { status: isDeepStrictEqual(status, budget.status) ? undefined : status, problem, nextMs };
}

type Wanted = { readonly expected: number; readonly healthy: number } | { readonly problem: string };

function desired({ budget, scale }: Observed, pods: number): Wanted {
  const { minAvailable, maxUnavailable } = budget.spec;
  if (typeof minAvailable === 'number') return { expected: pods, healthy: minAvailable };
  if (minAvailable === undefined && maxUnavailable === undefined) return { expected: pods, healthy: 0 };
  const expected = scale();
  if (typeof expected !== 'number') return expected;
  const share = (amount: number | string): number =>
    typeof amount === 'number' ? amount : Math.ceil((amountOf(amount) * expected) / 100);
  if (maxUnavailable !== undefined) return { expected, healthy: Math.max(0, expected - share(maxUnavailable)) };
  return { expected, healthy: share(minAvailable ?? 0) };
}

/** Evictions whose deletion is not observed yet, and when the next of them is given up. */
function unconfirmed(
  { status }: PodDisruptionBudget,
  pods: readonly Pod[],
  now: number,
): { readonly disrupted: Readonly<Record<string, string>>; readonly nextMs: number | undefined } {
  const byName = new Map(pods.map((pod) => [pod.metadata.name, pod]));
  const disrupted: Record<string, string> = {};
  let nextMs = Infinity;
  for (const [name, time] of Object.entries(status.disruptedPods ?? {})) {
    const pod = byName.get(name);
    const leftMs = Date.parse(String(time)) + evictionMs - now;
    if (pod === undefined || isTerminating(pod) || !(leftMs > 0)) continue;
    disrupted[name] = time;
    nextMs = Math.min(nextMs, leftMs);
  }
  return { disrupted, nextMs: nextMs === Infinity ? undefined : nextMs };
}

type Condition = NonNullable<PodDisruptionBudget['status']['conditions']>[number];

function conditionsOf(
  { metadata, status }: PodDisruptionBudget,
  reason: 'SufficientPods' | 'InsufficientPods' | 'SyncFailed',
  message: string,
  now: number,
): readonly Condition[] {
  const type = 'DisruptionAllowed';
  const is = reason === 'SufficientPods' ? 'True' : 'False';
  const old = status.conditions?.find((each) => each.type === type);
  const next: Condition = {
    type,
    status: is,
    observedGeneration: metadata.generation ?? 0,
    lastTransitionTime: old?.status === is ? old.lastTransitionTime : timestamp(now),
    reason,
    message,
  };
  return [...(status.conditions ?? []).filter((each) => each !== old), next];
}
