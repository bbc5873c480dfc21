// Conditions, before and after they get their time.
import type { Condition } from '../../api/metadata.ts';

/** A condition without its time. Reason and message are always given, though the seed does not ask for them. */
export interface Statement {
  readonly type: string;
  readonly status: 'True' | 'False' | 'Unknown';
  readonly reason: string;
  readonly message: string;
}

/** A condition as it is read: in the seed's shape all but type and status may be absent. */
export interface ReadCondition {
  readonly type: string;
  readonly status: string;
  readonly observedGeneration?: number;
  readonly lastTransitionTime?: string;
  readonly reason?: string;
  readonly message?: string;
}

/**
 * The conditions with the statements in them, each type once. A time moves only when a status does (MCS-24); types that
 * are not stated are somebody else's and stay. undefined: they are so already.
 */
export function stated(
  statements: readonly Statement[],
  conditions: readonly ReadCondition[],
  now: string,
): readonly Condition[] | undefined {
  const before = new Map(conditions.map((condition) => [condition.type, condition]));
  const isSame =
    before.size === conditions.length &&
    statements.every((statement) => {
      const { status, reason, message } = before.get(statement.type) ?? {};
      return status === statement.status && reason === statement.reason && message === statement.message;
    });
  if (isSame) return undefined;
  const types = new Set(statements.map(({ type }) => type));
  const others = [...before.values()].filter(({ type }) => !types.has(type));
  return [
    ...statements.map((statement) => timed(statement, before.get(statement.type), now)),
    ...others.map(completed),
  ];

  function completed(condition: ReadCondition): Condition {
    return { reason: 'Unknown', message: '', lastTransitionTime: now, ...condition };
  }
}

function timed(statement: Statement, before: ReadCondition | undefined, now: string): Condition {
  const hasMoved = before?.status !== statement.status || before.lastTransitionTime === undefined;
  return { ...statement, lastTransitionTime: hasMoved ? now : before.lastTransitionTime };
}
