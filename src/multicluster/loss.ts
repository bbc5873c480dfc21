// What becomes of a cluster's endpoints in the others when it is no longer heard of: some want them gone, some cannot bear that.
import type { LossPolicy } from '../api/kinds/multicluster/labels.ts';
import { lossAnnotation, lossPolicies } from '../api/kinds/multicluster/labels.ts';
import type { ApiObject } from '../api/metadata.ts';

/** The policy that exports, or slices, ask for; the first that has one counts. */
export function lossPolicyOf(objects: readonly ApiObject[], unset: LossPolicy = 'Remove'): LossPolicy {
  const wishes = objects.map(({ metadata }) => metadata.annotations?.[lossAnnotation]);
  return wishes.flatMap((wish) => lossPolicies.find((policy) => policy === wish) ?? [])[0] ?? unset;
}
