// Computes the states of leases from one snapshot, for commands. The reaper observes them continuously by its own clock (MCS-87).
import type { Lease } from '../../api/kinds/coordination/lease/kind.ts';
import { sourceOfLease } from '../lease/lease.ts';
import { defaultSourceLeaseMs } from '../member/options.ts';
import type { LeaseState } from './why.ts';

/** The share of the lease duration after which a source is late. */
const lateShare = 2 / 3;

/**
 * Source → the state of its lease. A controller renews all leases, so the age of a lease is its distance to the newest one,
 * independent of the local clock. Only if the newest has expired by the local clock, all have.
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
