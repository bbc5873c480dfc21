import type { LeaseSpec } from '../api/kinds/coordination/lease/kind.ts';

/** The last observed change of a lease in our own monotonic time, because the clock of the holder may be wrong. */
export interface Observation {
  readonly spec: LeaseSpec;
  readonly atMs: number;
}

/** A candidate that claims a lease. */
export interface Candidate {
  readonly identity: string;
  readonly leaseDurationMs: number;
  /** Wall clock time for the timestamps in the lease, which no candidate evaluates. */
  readonly nowMs: number;
}

/** Updates the observation after a read. An unchanged lease keeps its time. */
export function observe(before: Observation | undefined, spec: LeaseSpec, atMs: number): Observation {
  const isSame = before !== undefined && JSON.stringify(before.spec) === JSON.stringify(spec);
  return isSame ? before : { spec, atMs };
}

/** Whether the lease belongs to another candidate and has not expired. */
export function isHeldByOther({ holderIdentity = '', leaseDurationSeconds = 0 }: LeaseSpec, held: Held): boolean {
  if (holderIdentity === '' || holderIdentity === held.identity) return false;
  return held.silentMs < leaseDurationSeconds * 1000;
}

/** The observing candidate, and the time since the lease last changed. */
interface Held {
  readonly identity: string;
  readonly silentMs: number;
}

/** The lease after the candidate acquires or renews it. */
export function claimed(old: LeaseSpec | undefined, claimant: Candidate): LeaseSpec {
  const { identity, leaseDurationMs, nowMs } = claimant;
  const isOurs = old?.holderIdentity === identity;
  return {
    ...old,
    holderIdentity: identity,
    leaseDurationSeconds: Math.ceil(leaseDurationMs / 1000),
    acquireTime: isOurs ? (old.acquireTime ?? microTime(nowMs)) : microTime(nowMs),
    renewTime: microTime(nowMs),
    leaseTransitions: old === undefined ? 0 : (old.leaseTransitions ?? 0) + (isOurs ? 0 : 1),
  };
}

/** The lease after its holder releases it, so that another candidate can acquire it at once. */
export const released = (old: LeaseSpec, nowMs: number): LeaseSpec => ({
  ...old,
  holderIdentity: '',
  leaseDurationSeconds: 1,
  acquireTime: microTime(nowMs),
  renewTime: microTime(nowMs),
});

/** A MicroTime, which has six fractional digits. */
const microTime = (ms: number): string => new Date(ms).toISOString().replace('Z', '000Z');
