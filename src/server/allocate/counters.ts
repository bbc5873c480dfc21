/** How often numbers were handed out, or were not, to those who asked for a certain one (static) or any (dynamic). */
export interface Counters {
  readonly allocations: Record<Scope, number>;
  readonly errors: Record<Scope, number>;
}
/** Whether a certain number was asked for, or any. */
export type Scope = 'static' | 'dynamic';

/** Counters that start at zero. */
export const newCounters = (): Counters => ({
  allocations: { static: 0, dynamic: 0 },
  errors: { static: 0, dynamic: 0 },
});

/** Counts an attempt; returns `done` so that it can stand in a condition. */
export function count(counters: Counters, scope: Scope, done: boolean): boolean {
  (done ? counters.allocations : counters.errors)[scope]++;
  return done;
}
