// What becomes of a cluster's endpoints in the others when it is no longer heard of: some want them gone, some cannot bear that.
import type { ApiObject } from '../api/metadata.ts';

/**
 * `Remove`: they go when its lease runs out. `Demote`: before that they come last, from when it is first silent. `Keep`:
 * they stay, for services whose endpoints are reached some other way than its API server.
 */
export type LossPolicy = 'Remove' | 'Demote' | 'Keep';

export const lossPolicies: readonly LossPolicy[] = ['Remove', 'Demote', 'Keep'];

/** On an export, and so on the slices that come of it: the policy of this service. */
export const lossAnnotation = 'fairlead.dev/on-source-loss';

/** The policy that exports, or slices, ask for; the first that has one counts. */
export function lossPolicyOf(objects: readonly ApiObject[], unset: LossPolicy = 'Remove'): LossPolicy {
  const wishes = objects.map(({ metadata }) => metadata.annotations?.[lossAnnotation]);
  return wishes.flatMap((wish) => lossPolicies.find((policy) => policy === wish) ?? [])[0] ?? unset;
}
