// Why a member is not read or written, for /readyz and `fairlead mcs`.
import { connectionReason } from '../../client/connection-error.ts';
import type { Member } from '../member/member.ts';
import { unreadableReason } from '../member/unreadable.ts';

/** Why a member is not ready, as a sentence; undefined: it is ready. */
export function memberProblem({ id, isReady, probe, caches }: Member): string | undefined {
  if (isReady) return undefined;
  if (probe.state === 'unknown') return `cluster ${id} has not answered yet`;
  if (probe.state !== 'alive') return `requests to cluster ${id} fail: ${connectionReason(probe.error)}`;
  const slow = slowness({ id, probe });
  return (
    unreadableReason({ id, caches }) ??
    slow?.concat('; it has not been read yet') ??
    `cluster ${id} has not been read yet`
  );
}

/** The warning about a member that answers slowly; undefined: it does not. */
export const slowness = ({
  id,
  probe,
}: {
  readonly id: string;
  readonly probe: Pick<Member['probe'], 'isSlow' | 'latencyMs'>;
}): string | undefined =>
  probe.isSlow
    ? `cluster ${id} answers slowly: the last probe took ${(probe.latencyMs / 1000).toFixed(1)} s`
    : undefined;

/** The warning about a member whose clock differs; undefined: it does not. */
export const skewText = ({
  id,
  probe: { isSkewed, clockSkewMs = 0 },
}: {
  readonly id: string;
  readonly probe: Pick<Member['probe'], 'isSkewed' | 'clockSkewMs'>;
}): string | undefined =>
  isSkewed
    ? `the clock of cluster ${id} is ${Math.round(Math.abs(clockSkewMs) / 1000)} s ${clockSkewMs > 0 ? 'ahead' : 'behind'}: timestamps decide which export is the oldest`
    : undefined;
