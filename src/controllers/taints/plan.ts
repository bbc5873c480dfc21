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
    // Of several tolerations of one taint, the first one counts, as in Kubernetes.
    const toleration = tolerations.find((candidate) => tolerates(candidate, taint));
    return toleration === undefined ? 0 : Math.max(0, toleration.tolerationSeconds ?? Infinity);
  });
  return Math.min(...seconds, Infinity);
}

function tolerates({ key = '', operator = 'Equal', value = '', effect }: Toleration, taint: Taint): boolean {
  if (effect !== undefined && effect !== taint.effect) return false;
  if (key !== '' && key !== taint.key) return false;
  return operator === 'Exists' || (key !== '' && value === (taint.value ?? ''));
}
