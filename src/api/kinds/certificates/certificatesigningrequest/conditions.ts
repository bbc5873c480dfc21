import type { CertificateSigningRequest } from './schema.ts';

type Conditions = NonNullable<CertificateSigningRequest['status']['conditions']>;

/** The conditions of a type; requests of early versions of Kubernetes may have several. */
export const conditionsOf = ({ status }: CertificateSigningRequest, type: string): Conditions =>
  (status.conditions ?? []).filter((condition) => condition.type === type);

/** The conditions with those of the given types as they are stored, unless their number has changed. */
export function withStoredConditions(
  sent: CertificateSigningRequest,
  old: CertificateSigningRequest,
  types: readonly string[],
): Conditions {
  const kept = new Map(
    types
      .filter((type) => conditionsOf(sent, type).length === conditionsOf(old, type).length)
      .map((type) => [type, [...conditionsOf(old, type)]]),
  );
  return (sent.status.conditions ?? []).map((condition) => kept.get(condition.type)?.shift() ?? condition);
}

/** Completes the times of conditions. The time of a transition is kept while the status is the same. */
export const withTimes = (conditions: Conditions, old: CertificateSigningRequest, now: string): Conditions =>
  conditions.map((condition) => {
    const { type, status, lastUpdateTime, lastTransitionTime } = condition;
    const stored = conditionsOf(old, type).find(
      (other) => other.status === status && other.lastTransitionTime !== null,
    );
    return {
      ...condition,
      lastUpdateTime: lastUpdateTime ?? now,
      lastTransitionTime: lastTransitionTime ?? stored?.lastTransitionTime ?? now,
    };
  });
