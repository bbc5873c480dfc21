// Conditions in the status of workloads.

interface Condition {
  readonly type: string;
  readonly status: string;
  readonly reason?: string;
  readonly message?: string;
  readonly lastTransitionTime?: string | null;
}

/** The condition of a type. */
export const conditionOf = <C extends Condition>(conditions: readonly C[] | undefined, type: string): C | undefined =>
  conditions?.find((each) => each.type === type);

/** Whether the condition of a type is true. */
export const isTrue = (conditions: readonly Condition[] | undefined, type: string): boolean =>
  conditionOf(conditions, type)?.status === 'True';

/**
 * The conditions with one set. An equal status and reason change nothing, and an equal status keeps the transition time: a
 * new time would be a write without a change.
 */
export function withCondition<C extends Condition>(conditions: readonly C[] = [], next: C): readonly C[] {
  const old = conditionOf(conditions, next.type);
  if (old !== undefined && old.status === next.status && old.reason === next.reason) return conditions;
  const kept = old?.status === next.status ? { ...next, lastTransitionTime: old.lastTransitionTime } : next;
  return [...withoutCondition(conditions, next.type), kept];
}

/** The conditions without those of a type. */
export function withoutCondition<C extends Condition>(conditions: readonly C[] = [], type: string): readonly C[] {
  return conditions.some((each) => each.type === type) ? conditions.filter((each) => each.type !== type) : conditions;
}
