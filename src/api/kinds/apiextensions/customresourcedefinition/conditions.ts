import type { CrdCondition, CustomResourceDefinition } from './schema.ts';

/** The condition of that type; undefined if the definition has none. */
export const conditionOf = ({ status }: CustomResourceDefinition, type: string): CrdCondition | undefined =>
  (status.conditions ?? []).find((condition) => condition.type === type);

/** Whether the custom resource is served. */
export const isEstablished = (crd: CustomResourceDefinition): boolean =>
  conditionOf(crd, 'Established')?.status === 'True';

/** The definition with a condition set; the time changes only with the status. */
export function withCondition(
  crd: CustomResourceDefinition,
  next: CrdCondition,
  now: string,
): CustomResourceDefinition {
  const { status } = crd;
  const old = conditionOf(crd, next.type);
  const lastTransitionTime = old?.status === next.status ? (old.lastTransitionTime ?? now) : now;
  const set = { ...next, lastTransitionTime };
  const conditions = status.conditions ?? [];
  return {
    ...crd,
    status: {
      ...status,
      conditions:
        old === undefined ? [...conditions, set] : conditions.map((condition) => (condition === old ? set : condition)),
    },
  };
}
