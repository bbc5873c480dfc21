// What happens to the imported endpoints of a lost cluster.
import type { LossPolicy } from '../api/kinds/multicluster/labels.ts';
import { lossAnnotation, lossPolicies } from '../api/kinds/multicluster/labels.ts';
import type { ApiObject } from '../api/metadata.ts';

/** The policy in the annotation of the first export or slice that has a valid one. */
export function lossPolicyOf(objects: readonly ApiObject[], unset: LossPolicy = 'Remove'): LossPolicy {
  const requested = objects.map(({ metadata }) => metadata.annotations?.[lossAnnotation]);
  return requested.flatMap((value) => lossPolicies.find((policy) => policy === value) ?? [])[0] ?? unset;
}
