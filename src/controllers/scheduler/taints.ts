import type { Taint, Toleration } from '../tolerations.ts';
import { tolerates } from '../tolerations.ts';
import type { NodeState } from './state.ts';

const notReady: Taint = { key: 'node.kubernetes.io/not-ready', effect: 'NoSchedule' };

/** The first taint that keeps a Pod off a node. A node that does not report that it is ready counts as tainted. */
export function untoleratedTaint(
  { node, isReady }: Pick<NodeState, 'node' | 'isReady'>,
  tolerations: readonly Toleration[] = [],
): Taint | undefined {
  const taints = isReady ? (node?.spec.taints ?? []) : [...(node?.spec.taints ?? []), notReady];
  return taints.find((taint) => taint.effect !== 'PreferNoSchedule' && !isTolerated(taint, tolerations));
}

const isTolerated = (taint: Taint, tolerations: readonly Toleration[]): boolean =>
  tolerations.some((toleration) => tolerates(toleration, taint));

/** The number of taints that a Pod would rather avoid. */
export const avoidedTaints = ({ node }: NodeState, tolerations: readonly Toleration[] = []): number =>
  (node?.spec.taints ?? []).filter((taint) => taint.effect === 'PreferNoSchedule' && !isTolerated(taint, tolerations))
    .length;

const unschedulable: Taint = { key: 'node.kubernetes.io/unschedulable', effect: 'NoSchedule' };

/** Whether a cordoned node takes the Pod. */
export const toleratesCordon = (tolerations: readonly Toleration[] = []): boolean =>
  isTolerated(unschedulable, tolerations);
