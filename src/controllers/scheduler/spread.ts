// Topology spread: how evenly the Pods of a group are distributed over zones and nodes.
import type { Pod, PodSpec } from '../../api/kinds/core/pod/schema.ts';
import { hostnameLabel, zoneLabel } from '../../api/kinds/core/node/labels.ts';
import { matchesLabels } from '../../api/selectors/labels.ts';
import { matchesNode } from './node-affinity.ts';
import { domainOf, selectorFor } from './pod-affinity.ts';
import type { ClusterState, NodeState } from './state.ts';
import { controllerUid } from './state.ts';
import { untoleratedTaint } from './taints.ts';

type Constraint = NonNullable<PodSpec['topologySpreadConstraints']>[number];

export type SpreadProblem =
  | "node(s) didn't match pod topology spread constraints"
  | "node(s) didn't match pod topology spread constraints (missing required label)";

/** Checks the constraints that must hold, for each node. */
export function spreadFilter(pod: Pod, state: ClusterState): (node: NodeState) => SpreadProblem | undefined {
  const constraints = (pod.spec.topologySpreadConstraints ?? [])
    .filter(({ whenUnsatisfiable }) => whenUnsatisfiable === 'DoNotSchedule')
    .map((constraint) => counted(pod, constraint, state));
  if (constraints.length === 0) return () => undefined;
  return (node) => {
    for (const { topologyKey, maxSkew, minDomains, counts, isSelf } of constraints) {
      const domain = domainOf(node, topologyKey);
      if (domain === undefined) return "node(s) didn't match pod topology spread constraints (missing required label)";
      const fewest = counts.size < minDomains ? 0 : Math.min(...counts.values());
      const skew = (counts.get(domain) ?? 0) + (isSelf ? 1 : 0) - fewest;
      if (skew > maxSkew) return "node(s) didn't match pod topology spread constraints";
    }
    return undefined;
  };
}

interface Counted {
  readonly topologyKey: string;
  readonly maxSkew: number;
  readonly minDomains: number;
  /** Domain → matching Pods. */
  readonly counts: ReadonlyMap<string, number>;
  /** Whether the Pod counts itself. */
  readonly isSelf: boolean;
}

function counted(pod: Pod, constraint: Constraint, state: ClusterState): Counted {
  const { topologyKey, maxSkew, minDomains = 1, labelSelector, matchLabelKeys } = constraint;
  const labels = pod.metadata.labels ?? {};
  const requirements = selectorFor(labelSelector, labels, { match: matchLabelKeys }) ?? undefined;
  const isMatch = (other: Pod): boolean =>
    requirements !== undefined &&
    other.metadata.namespace === pod.metadata.namespace &&
    other.metadata.deletionTimestamp === undefined &&
    matchesLabels(requirements, other.metadata.labels);
  const counts = new Map<string, number>();
  for (const node of state.nodes()) {
    const domain = domainOf(node, topologyKey);
    if (domain === undefined || !isCounted(pod, node, constraint)) continue;
    let matching = 0;
    for (const { pod: other } of node.pods.values()) if (isMatch(other)) matching++;
    counts.set(domain, (counts.get(domain) ?? 0) + matching);
  }
  const isSelf = requirements !== undefined && matchesLabels(requirements, labels);
  return { topologyKey, maxSkew, minDomains, counts, isSelf };
}

/** Whether a node's domain counts: by default if the affinity of the Pod allows it. */
function isCounted(
  { spec }: Pod,
  state: NodeState,
  { nodeAffinityPolicy = 'Honor', nodeTaintsPolicy = 'Ignore' }: Constraint,
): boolean {
  const { node } = state;
  if (node === undefined) return false;
  if (nodeAffinityPolicy === 'Honor' && !matchesNode(spec, node)) return false;
  return nodeTaintsPolicy !== 'Honor' || untoleratedTaint(state, spec.tolerations) === undefined;
}

/** The constraints of Pods without any of their own, for Pods with the same controller. */
const defaults = [
  { topologyKey: hostnameLabel, maxSkew: 3 },
  { topologyKey: zoneLabel, maxSkew: 5 },
] as const;

/** Scores nodes, lower is better, by the constraints that should hold; undefined: there are none. */
export function spreadScore(pod: Pod, state: ClusterState): ((node: NodeState) => number) | undefined {
  const given = pod.spec.topologySpreadConstraints ?? [];
  const soft = given.filter(({ whenUnsatisfiable }) => whenUnsatisfiable === 'ScheduleAnyway');
  const constraints = given.length > 0 ? soft.map((each) => counted(pod, each, state)) : defaultCounts(pod, state);
  if (constraints.length === 0) return undefined;
  return (node) => {
    let score = 0;
    for (const { topologyKey, maxSkew, counts } of constraints) {
      const domain = domainOf(node, topologyKey) ?? (topologyKey === hostnameLabel ? node.name : undefined);
      if (domain === undefined) continue;
      // Few domains weigh as much as many: Pods in a zone are more than on a node.
      score += (counts.get(domain) ?? 0) * Math.log(counts.size + 2) + (maxSkew - 1);
    }
    return score;
  };
}

function defaultCounts(pod: Pod, state: ClusterState): readonly Pick<Counted, 'topologyKey' | 'maxSkew' | 'counts'>[] {
  const controller = controllerUid(pod);
  if (controller === undefined) return [];
  const used = state.nodesOfController(controller);
  return defaults.map(({ topologyKey, maxSkew }) => {
    const counts = new Map<string, number>();
    for (const node of used) {
      const domain = domainOf(node, topologyKey) ?? (topologyKey === hostnameLabel ? node.name : undefined);
      if (domain !== undefined) counts.set(domain, (counts.get(domain) ?? 0) + 1);
    }
    return { topologyKey, maxSkew, counts };
  });
}
