/**
 * What becomes of a cluster's endpoints in the others when it is no longer heard of. `Remove`: they go when its lease
 * runs out. `Demote`: before that they come last, from when it is first silent. `Keep`: they stay, for services whose
 * endpoints are reached some other way than its API server.
 */
export type LossPolicy = 'Remove' | 'Demote' | 'Keep';

export const lossPolicies: readonly LossPolicy[] = ['Remove', 'Demote', 'Keep'];

/** On an export, and so on the slices that come of it: the policy of this service. */
export const lossAnnotation = 'fairlead.dev/on-source-loss';
