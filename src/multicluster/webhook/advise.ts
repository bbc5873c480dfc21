import { keyFor } from '../../client/key.ts';
import { planChange } from '../explain/plan-change.ts';
import type { SeedPolicy } from '../merge/merged.ts';
import type { Member } from '../member/member.ts';
import { textOf } from '../record.ts';
import type { Services } from '../sync/services.ts';
import type { ExportReview } from './review.ts';
import { createWarnings, dryRunWarnings } from './warnings.ts';

/** The state of the cluster set. */
export interface SetState {
  readonly services: Services;
  /** Participating members. */
  readonly members: readonly Member[];
  readonly seedPolicy: SeedPolicy;
  readonly now: string;
}

/** Warnings for the author of an export; none if the cluster is not a member of the set. */
export function advise(review: ExportReview, cluster: string, set: SetState): readonly string[] {
  const member = set.members.find(({ id }) => id === cluster);
  if (member === undefined || review.operation !== 'CREATE') return [];
  const { dryRun } = review;
  if (!member.isReady) return dryRun ? [`plan: cluster ${cluster} has not been read yet, try again in a moment`] : [];
  const key = keyFor(review);
  if (member.isExported(key))
    return dryRun ? [`plan: ${textOf(review)} is exported already, nothing would change`] : [];
  const { services, ...rest } = set;
  const plan = planChange(
    key,
    { verb: 'export', member },
    { ...rest, merged: services.get(key), rules: services.rules },
  );
  services.delete(key); // removes the merged service again unless another cluster exports it
  return dryRun ? dryRunWarnings(plan, cluster) : createWarnings(plan, cluster);
}
