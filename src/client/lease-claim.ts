import type { LeaseSpec } from '../api/kinds/coordination/lease/kind.ts';

/** What was last read of a lease, and when by our own clock: the holder's clock may be wrong by any amount. */
export interface Observation {
  readonly spec: LeaseSpec;
  readonly atMs: number;
}

/** What the one who claims a lease knows. */
export interface Candidate {
  readonly identity: string;
  readonly leaseDurationMs: number;
  /** For the times that are written, and only read by people. */
  readonly nowMs: number;
}

/** The observation after reading a lease: one that says the same as before is as old as before. */
export function observe(before: Observation | undefined, spec: LeaseSpec, atMs: number): Observation {
  const isSame = before !== undefined && JSON.stringify(before.spec) === JSON.stringify(spec);
  return isSame ? before : { spec, atMs };
}

/** Whether another process holds the lease and has not renewed it for so long. */
export function isHeldByOther({ holderIdentity = '', leaseDurationSeconds = 0 }: LeaseSpec, held: Held): boolean {
  if (holderIdentity === '' || holderIdentity === held.identity) return false;
  return held.silentMs < leaseDurationSeconds * 1000;
}

/** The observer of a lease, and how long the lease has been the same. */
interface Held {
  readonly identity: string;
  readonly silentMs: number;
}

/** The lease as it is when the claimant takes it, or holds it on. */
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

/** The lease as it is when its holder gives it up: anybody may take it at once. */
export const released = (old: LeaseSpec, nowMs: number): LeaseSpec => ({
  ...old,
  holderIdentity: '',
  leaseDurationSeconds: 1,
  acquireTime: microTime(nowMs),
  renewTime: microTime(nowMs),
});

/** A time with six digits after the second, as leases have it. */
const microTime = (ms: number): string => new Date(ms).toISOString().replace('Z', '000Z');
