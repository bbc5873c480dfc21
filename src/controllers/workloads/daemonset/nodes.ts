// Which nodes run a Pod of a DaemonSet.
import type { DaemonSet } from '../../../api/kinds/apps/daemonset/kind.ts';
import { daemonSetKind } from '../../../api/kinds/apps/daemonset/kind.ts';
import type { Node } from '../../../api/kinds/core/node/schema.ts';
import type { Pod, PodSpec } from '../../../api/kinds/core/pod/schema.ts';
import { matchesNode } from '../../scheduler/node-affinity.ts';
import { isReadyNode } from '../../scheduler/readiness.ts';
import { untoleratedTaint } from '../../scheduler/taints.ts';
import type { Toleration } from '../../tolerations.ts';
import { tolerates } from '../../tolerations.ts';
import { referenceTo } from '../owner.ts';
import { revisionLabel } from '../revisions.ts';
import { podFromTemplate } from '../template.ts';

/** Whether a node gets a Pod, and whether one that it has stays. */
export interface Suitability {
  readonly runs: boolean;
  readonly keeps: boolean;
}

/** Whether a node fits: its labels and taints count, its resources do not. */
export function suitabilityOf({ spec }: DaemonSet, node: Node): Suitability {
  const pod = spec.template.spec;
  const name = node.metadata.name ?? '';
  if (pod.nodeName && pod.nodeName !== name) return { runs: false, keeps: false };
  if (!matchesNode(pod, node)) return { runs: false, keeps: false };
  const tolerations = tolerationsOf(pod);
  if (untoleratedTaint({ node, isReady: isReadyNode(node) }, tolerations) === undefined)
    return { runs: true, keeps: true };
  const evicting = (node.spec.taints ?? []).filter(({ effect }) => effect === 'NoExecute');
  return { runs: false, keeps: evicting.every((taint) => tolerations.some((each) => tolerates(each, taint))) };
}

const added: readonly Toleration[] = [
  { key: 'node.kubernetes.io/not-ready', operator: 'Exists', effect: 'NoExecute' },
  { key: 'node.kubernetes.io/unreachable', operator: 'Exists', effect: 'NoExecute' },
  { key: 'node.kubernetes.io/disk-pressure', operator: 'Exists', effect: 'NoSchedule' },
  { key: 'node.kubernetes.io/memory-pressure', operator: 'Exists', effect: 'NoSchedule' },
  { key: 'node.kubernetes.io/pid-pressure', operator: 'Exists', effect: 'NoSchedule' },
  { key: 'node.kubernetes.io/unschedulable', operator: 'Exists', effect: 'NoSchedule' },
];
const forHostNetwork: Toleration = {
  key: 'node.kubernetes.io/network-unavailable',
  operator: 'Exists',
  effect: 'NoSchedule',
};

function tolerationsOf({ tolerations = [], hostNetwork }: PodSpec): readonly Toleration[] {
  const all = hostNetwork === true ? [...added, forHostNetwork] : added;
  const isOther = ({ key, effect }: Toleration): boolean =>
    !all.some((each) => each.key === key && each.effect === effect);
  return [...tolerations.filter(isOther), ...all];
}

/** The Pod for a node. The scheduler binds it there, because its affinity names the node. */
export function podFor(set: DaemonSet, node: string, hash: string): Pod {
  const { namespace = '', annotations = {} } = set.metadata;
  const pod = podFromTemplate(set.spec.template, { namespace, owner: referenceTo(daemonSetKind, set) });
  const generation = annotations['deprecated.daemonset.template.generation'];
  const labels = {
    ...pod.metadata.labels,
    [revisionLabel]: hash,
    ...(generation === undefined ? {} : { 'pod-template-generation': generation }),
  };
  const onNode = {
    nodeSelectorTerms: [{ matchFields: [{ key: 'metadata.name', operator: 'In' as const, values: [node] }] }],
  };
  const { nodeAffinity, ...affinity } = pod.spec.affinity ?? {};
  return {
    ...pod,
    metadata: { ...pod.metadata, labels },
    spec: {
      ...pod.spec,
      tolerations: [...tolerationsOf(pod.spec)],
      affinity: {
        ...affinity,
        nodeAffinity: { ...nodeAffinity, requiredDuringSchedulingIgnoredDuringExecution: onNode },
      },
    },
  };
}

/** The node that a Pod runs on, or will run on by its affinity. */
export function nodeOf({ spec }: Pod): string {
  if (spec.nodeName) return spec.nodeName;
  const required = spec.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution;
  for (const { matchFields = [] } of required?.nodeSelectorTerms ?? []) {
    const field = matchFields.find(({ key, operator }) => key === 'metadata.name' && operator === 'In');
    if (field?.values?.length === 1) return field.values[0] ?? '';
  }
  return '';
}
