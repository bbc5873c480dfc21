// When a Pod is evicted from a node with taints of the effect NoExecute.
import type { Node } from '../../api/kinds/core/node/schema.ts';
import type { PodSpec } from '../../api/kinds/core/pod/schema.ts';

type Taint = NonNullable<Node['spec']['taints']>[number];
type Toleration = NonNullable<PodSpec['tolerations']>[number];

/** The taints of a node that evict Pods. */
export const evictingTaints = ({ spec }: Node): readonly Taint[] =>
  (spec.taints ?? []).filter(({ effect }) => effect === 'NoExecute');

/** How long a Pod may stay on a node with these taints, in seconds: 0 without a toleration, Infinity with one for ever. */
export function toleratedSeconds(taints: readonly Taint[], tolerations: readonly Toleration[] = []): number {
  const seconds = taints.map((taint) => {
    const matching = tolerations.filter((toleration) => tolerates(toleration, taint));
    if (matching.length === 0) return 0;
    // Several tolerations of one taint: the shortest of those with a time, as in Kubernetes.
    const times = matching.flatMap(({ tolerationSeconds }) =>
      tolerationSeconds === undefined ? [] : [tolerationSeconds],
    );
    return times.length === 0 ? Infinity : Math.max(0, Math.min(...times));
  });
  return Math.min(...seconds, Infinity);
}

function tolerates({ key = '', operator = 'Equal', value = '', effect }: Toleration, taint: Taint): boolean {
  if (effect !== undefined && effect !== taint.effect) return false;
  if (key !== '' && key !== taint.key) return false;
  return operator === 'Exists' || (key !== '' && value === (taint.value ?? ''));
}
