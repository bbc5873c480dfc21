import type { HealthSettings } from './settings.ts';

/** What is thought of a backend. */
export interface Standing {
  readonly isUp: boolean;
  /** How many answers in a row said otherwise. */
  readonly doubts: number;
}

/** What is thought of it after one more check: it takes several in a row to change one's mind. */
export function judged(before: Standing, hasAnswered: boolean, { rise, fall }: HealthSettings): Standing {
  if (hasAnswered === before.isUp) return { isUp: before.isUp, doubts: 0 };
  const doubts = before.doubts + 1;
  return doubts >= (before.isUp ? fall : rise) ? { isUp: hasAnswered, doubts: 0 } : { isUp: before.isUp, doubts };
}
