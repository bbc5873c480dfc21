import type { StatusError } from '../../../errors.ts';
import { failure, forbidden } from '../../../errors.ts';
import type { Condition } from '../../../metadata.ts';
import type { PodDisruptionBudget } from './kind.ts';

type Status = PodDisruptionBudget['status'];

const conditionType = 'DisruptionAllowed';
/** Evictions that the controller of budgets has not confirmed. */
const maxUnconfirmed = 2000;

/**
 * The status of a budget after the eviction of one more Pod, which the controller of budgets then takes into account.
 * Throws Kubernetes' 429 if the budget does not allow it.
 */
export function disrupted(budget: PodDisruptionBudget, pod: string, now: string): Status {
  const { metadata, status } = budget;
  const { name = '', generation = 0 } = metadata;
  const { observedGeneration = 0, disruptedPods = {}, disruptionsAllowed: allowed } = status;
  if (observedGeneration < generation) throw unobserved(name);
  const subject = { group: 'policy', resource: 'poddisruptionbudget', name };
  if (allowed < 0) throw forbidden(subject, 'pdb disruptions allowed is negative');
  if (Object.keys(disruptedPods).length > maxUnconfirmed) {
    throw forbidden(subject, 'DisruptedPods map too big - too many evictions not confirmed by PDB controller');
  }
  if (allowed === 0) throw tooMany(reasonOf(name, status));
  return {
    ...status,
    disruptionsAllowed: allowed - 1,
    disruptedPods: { ...disruptedPods, [pod]: now },
    ...(allowed === 1 ? { conditions: withCondition(status, now) } : {}),
  };
}

/** The 429 of a budget whose controller has not seen its latest change. */
export const unobserved = (name: string): StatusError =>
  tooMany(`The disruption budget ${name} is still being processed by the server.`, 10);

function tooMany(message: string, retryAfterSeconds?: number): StatusError {
  return failure({
    code: 429,
    reason: 'TooManyRequests',
    message: "Cannot evict pod as it would violate the pod's disruption budget.",
    details: {
      causes: [{ reason: 'DisruptionBudget', message }],
      ...(retryAfterSeconds === undefined ? {} : { retryAfterSeconds }),
    },
  });
}

function reasonOf(name: string, { conditions = [], currentHealthy, desiredHealthy }: Status): string {
  const found = conditions.find(({ type }) => type === conditionType);
  const refusal = found?.status === 'False' && found.message !== '' ? found : undefined;
  const budget = `The disruption budget ${name}`;
  // After a failed sync the counts are not reliable.
  if (refusal?.reason === 'SyncFailed') {
    return `${budget} does not allow evicting pods currently because it failed sync: ${refusal.message}`;
  }
  if (currentHealthy <= desiredHealthy) {
    return `${budget} needs ${desiredHealthy} healthy pods and has ${currentHealthy} currently`;
  }
  const why = refusal === undefined ? '' : ` (${refusal.reason}): ${refusal.message}`;
  return `${budget} does not allow evicting pods currently${why}`;
}

function withCondition({ conditions = [], observedGeneration = 0 }: Status, now: string): readonly Condition[] {
  const old = conditions.find(({ type }) => type === conditionType);
  const next: Condition = {
    type: conditionType,
    status: 'False',
    observedGeneration,
    lastTransitionTime: old?.status === 'False' ? old.lastTransitionTime : now,
    reason: 'InsufficientPods',
    message: '',
  };
  return old === undefined ? [...conditions, next] : conditions.map((each) => (each === old ? next : each));
}
