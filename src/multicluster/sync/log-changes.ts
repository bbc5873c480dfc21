import type { Logger } from 'pino';
import { connectionReason } from '../../client/connection-error.ts';
import type { Member } from '../member/member.ts';
import { unreadableReason } from '../member/unreadable.ts';
import type { Observed } from './membership.ts';

/** A member, as far as the lines depend on it. */
export interface LoggedMember {
  readonly id: string;
  readonly caches: Pick<Member['caches'], 'excess' | 'lacksKinds'>;
  readonly probe: Pick<Member['probe'], 'latencyMs' | 'clockSkewMs' | 'error'>;
}

/** Logs one line for each change of the state of a member. */
export function logChanges(
  log: Pick<Logger, 'info' | 'warn' | 'error'>,
  member: LoggedMember,
  { before, now }: { readonly before: Observed; readonly now: Observed },
): void {
  const { id, probe, caches } = member;
  const isSilent = now.state === 'silent' || now.state === 'lost';
  const wasSilent = before.state === 'silent' || before.state === 'lost';
  const failure = { cluster: id, reason: connectionReason(probe.error) };
  if (isSilent && !wasSilent) log.warn(failure, 'requests to the cluster fail, retrying');
  if (now.state === 'lost' && before.state === 'silent') log.error(failure, 'cluster is lost, its leases expire');
  if (now.state === 'alive' && wasSilent) log.warn({ cluster: id }, 'requests to the cluster succeed again');
  if (now.isSlow !== before.isSlow && now.state === 'alive') {
    const text = now.isSlow ? 'cluster answers slowly' : 'cluster no longer answers slowly';
    log.warn({ cluster: id, latencyMs: Math.round(probe.latencyMs) }, text);
  }
  if (now.isSkewed !== before.isSkewed) {
    const text = now.isSkewed ? 'cluster clock differs from the local clock' : 'cluster clock no longer differs';
    log.warn({ cluster: id, skewSeconds: Math.round((probe.clockSkewMs ?? 0) / 1000) }, text);
  }
  if (now.problem !== before.problem) {
    if (now.problem === undefined) log.info({ cluster: id }, 'cluster is no longer rejected');
    else log.error({ cluster: id, reason: now.problem }, 'cluster is rejected');
  }
  if (now.isOverLimit && !before.isOverLimit)
    log.error({ cluster: id, err: caches.excess }, 'cluster is over its limit and is not read');
  if (!now.isOverLimit && before.isOverLimit) log.warn({ cluster: id }, 'cluster is within its limit again');
  if (now.lacksKinds && !before.lacksKinds)
    log.error({ cluster: id, reason: unreadableReason(member) }, 'cluster lacks CRDs and is not read');
  if (!now.lacksKinds && before.lacksKinds) log.warn({ cluster: id }, 'cluster has the CRDs');
}
