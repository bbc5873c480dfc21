// When a Pod is evicted from a node with taints of the effect NoExecute.
import type { Node } from '../../api/kinds/core/node/schema.ts';
import type { Taint, Toleration } from '../tolerations.ts';
import { tolerates } from '../tolerations.ts';

/** The taints of a node that evict Pods. */
export const evictingTaints = ({ spec }: Node): readonly Taint[] =>
  (spec.taints ?? []).filter(({ effect }) => effect === 'NoExecute');

/** How long a Pod may stay on a node with these taints, in seconds: 0 without a toleration, Infinity with one for ever. */
export function toleratedSeconds(taints: readonly Taint[], tolerations: readonly Toleration[] = []): number {
  const seconds = taints.map((taint) => {
    // Of several tolerations of one taint, the first one counts, as in Kubernetes.
    const toleration = tolerations.find((candidate) => tolerates(candidate, taint));
    return toleration === undefined ? 0 : Math.max(0, toleration.tolerationSeconds ?? Infinity);
  });
  return Math.min(...seconds, Infinity);
}
