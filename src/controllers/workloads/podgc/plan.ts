// Which Pods are deleted because nothing else will: their node is gone or out of service, or they are too many.
import type { Node } from '../../../api/kinds/core/node/schema.ts';
import type { Pod } from '../../../api/kinds/core/pod/schema.ts';
import { isReadyNode } from '../../scheduler/readiness.ts';
import { isTrue } from '../conditions.ts';
import { isFinished, isTerminating } from '../pods.ts';

/** A Pod to delete at once. */
export interface Garbage {
  readonly pod: Pod;
  /** The node that is gone: the Pod fails first, so that its Job or ReplicaSet counts it. */
  readonly lostNode: string | undefined;
}

export interface Observed {
  readonly pods: readonly Pod[];
  readonly nodes: readonly Node[];
  /** Names of nodes that do not exist and whose quarantine has passed. */
  readonly lostNodes: ReadonlySet<string>;
  /** How many Pods that have finished are kept. */
  readonly threshold: number;
}

/**
 * Whether a Pod depends on its node. Pods that users write with the name of a node that never existed do not: they have not
 * been assigned by a scheduler, and no agent runs them.
 */
export const isAssigned = ({ spec, status }: Pod): boolean =>
  Boolean(spec.nodeName) && isTrue(status.conditions, 'PodScheduled');

const outOfService = 'node.kubernetes.io/out-of-service';

/** The Pods to delete. */
export function planGarbage({ pods, nodes, lostNodes, threshold }: Observed): readonly Garbage[] {
  const stopped = new Set(
    nodes
      .filter((node) => !isReadyNode(node) && node.spec.taints?.some(({ key }) => key === outOfService) === true)
      .map(({ metadata }) => metadata.name ?? ''),
  );
  const garbage: Garbage[] = [];
  const finished: Pod[] = [];
  for (const pod of pods) {
    const { nodeName = '' } = pod.spec;
    if (isAssigned(pod) && lostNodes.has(nodeName)) garbage.push({ pod, lostNode: nodeName });
    else if (isTerminating(pod) && (nodeName === '' || stopped.has(nodeName)))
      garbage.push({ pod, lostNode: undefined });
    else if (isFinished(pod) && !isTerminating(pod)) finished.push(pod);
  }
  const surplus = finished.toSorted(byAge).slice(0, Math.max(0, finished.length - threshold));
  return [...garbage, ...surplus.map((pod) => ({ pod, lostNode: undefined }))];
}

const byAge = ({ metadata: left }: Pod, { metadata: right }: Pod): number =>
  Date.parse(left.creationTimestamp ?? '') - Date.parse(right.creationTimestamp ?? '');
