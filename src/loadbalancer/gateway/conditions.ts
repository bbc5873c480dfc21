import type { Condition } from '../../api/metadata.ts';

/** A condition without what depends on its past. */
export interface Wanted {
  readonly type: string;
  readonly status: 'True' | 'False' | 'Unknown';
  readonly reason: string;
  readonly message: string;
}

export const yes = (type: string, reason: string = type, message = ''): Wanted => ({
  type,
  status: 'True',
  reason,
  message,
});

export const no = (type: string, reason: string, message: string): Wanted => ({
  type,
  status: 'False',
  reason,
  message,
});

/** The conditions with others of theirs replaced. A time changes only with the status of its condition. */
export function withConditions(
  old: readonly Condition[] | null | undefined,
  wanted: readonly Wanted[],
  { generation, now }: { readonly generation: number; readonly now: string },
): readonly Condition[] {
  const types = new Set(wanted.map(({ type }) => type));
  const kept = (old ?? []).filter(({ type }) => !types.has(type));
  const set = wanted.map(({ type, status, reason, message }): Condition => {
    const before = (old ?? []).find((condition) => condition.type === type);
    const lastTransitionTime = before?.status === status ? before.lastTransitionTime : now;
    return { type, status, observedGeneration: generation, lastTransitionTime, reason, message };
  });
  return [...kept, ...set];
}
