// Desired conditions, and how they change existing ones with their times.
import type { Condition } from '../../api/metadata.ts';

/** A condition without its time. Reason and message are always set, although the supercluster API does not require them. */
export interface PlannedCondition {
  readonly type: string;
  readonly status: 'True' | 'False' | 'Unknown';
  readonly reason: string;
  readonly message: string;
}

/** An existing condition: in the supercluster API, all fields except type and status may be absent. */
export interface ExistingCondition {
  readonly type: string;
  readonly status: string;
  readonly observedGeneration?: number;
  readonly lastTransitionTime?: string;
  readonly reason?: string;
  readonly message?: string;
}

/**
 * Merges planned conditions into existing ones, each type once. The time changes only with the status (MCS-24). Other types
 * belong to other controllers and are kept. undefined: nothing changes.
 */
export function withConditions(
  planned: readonly PlannedCondition[],
  existing: readonly ExistingCondition[],
  now: string,
): readonly Condition[] | undefined {
  const before = new Map(existing.map((condition) => [condition.type, condition]));
  const isSame =
    before.size === existing.length &&
    planned.every((each) => {
      const { status, reason, message } = before.get(each.type) ?? {};
      return status === each.status && reason === each.reason && message === each.message;
    });
  if (isSame) return undefined;
  const types = new Set(planned.map(({ type }) => type));
  const others = [...before.values()].filter(({ type }) => !types.has(type));
  return [
    ...planned.map((each) => withTime(each, before.get(each.type), now)),
    ...others.map((each) => ({ reason: 'Unknown', message: '', lastTransitionTime: now, ...each })),
  ];
}

function withTime(planned: PlannedCondition, before: ExistingCondition | undefined, now: string): Condition {
  const isTransition = before?.status !== planned.status || before.lastTransitionTime === undefined;
  return { ...planned, lastTransitionTime: isTransition ? now : before.lastTransitionTime };
}
