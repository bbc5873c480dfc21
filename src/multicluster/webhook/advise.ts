import { keyFor } from '../../client/key.ts';
import { planChange } from '../explain/plan-change.ts';
import type { SeedPolicy } from '../merge/merged.ts';
import type { Member } from '../member/member.ts';
import { textOf } from '../record.ts';
import type { Services } from '../sync/services.ts';
import type { ExportReview } from './review.ts';
import { createWarnings, dryRunWarnings } from './warnings.ts';

/** What is known of the set. */
export interface Known {
  readonly services: Services;
  /** Members that take part. */
  readonly members: readonly Member[];
  readonly seedPolicy: SeedPolicy;
  readonly now: string;
}

/** What the author of an export in a cluster should know; nothing if the cluster is not of the set. */
export function advise(review: ExportReview, cluster: string, known: Known): readonly string[] {
  const member = known.members.find(({ id }) => id === cluster);
  if (member === undefined || review.operation !== 'CREATE') return [];
  const { dryRun } = review;
  if (!member.isReady) return dryRun ? [`plan: cluster ${cluster} has not been read yet, ask again in a moment`] : [];
  const key = keyFor(review);
  if (member.isExported(key))
    return dryRun ? [`plan: ${textOf(review)} is exported already, nothing would change`] : [];
  const { services, ...set } = known;
  const plan = planChange(
    key,
    { verb: 'export', member },
    { ...set, merged: services.get(key), rules: services.rules },
  );
  services.delete(key); // unless others export it, it was only asked about
  return dryRun ? dryRunWarnings(plan, cluster) : createWarnings(plan, cluster);
}
