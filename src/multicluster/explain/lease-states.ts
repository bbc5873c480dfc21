// How the leases of source clusters stand, for people who ask once. The reaper, which looks all the time, trusts no clock but
// its own (MCS-87).
import type { Lease } from '../../api/kinds/coordination/lease/kind.ts';
import { sourceOfLease } from '../lease/lease.ts';
import { defaultSourceLeaseMs } from '../member/options.ts';
import type { LeaseState } from './why.ts';

/** A source is late when this much of its time has passed: it did not answer the last question. */
const lateShare = 2 / 3;

/**
 * Source → how its lease stands. Whoever renews one renews all of them: one that is older than the newest is late by that
 * much, whatever our clock says. Only if nobody renews any, which our clock has to tell, all have run out.
 */
export function leaseStates(leases: readonly Lease[], nowMs: number): ReadonlyMap<string, LeaseState> {
  const newest = Math.max(...leases.map(renewedAt));
  return new Map(
    leases.map((lease) => {
      const durationMs = (lease.spec.leaseDurationSeconds ?? defaultSourceLeaseMs / 1000) * 1000;
      const ageMs = (nowMs - newest < durationMs ? newest : nowMs) - renewedAt(lease);
      return [sourceOfLease(lease) ?? '', stateAt(ageMs / durationMs)];
    }),
  );
}

const renewedAt = ({ spec }: Lease): number => Date.parse(spec.renewTime ?? '') || 0;

const stateAt = (share: number): LeaseState => (share < lateShare ? 'healthy' : share < 1 ? 'suspect' : 'expired');
