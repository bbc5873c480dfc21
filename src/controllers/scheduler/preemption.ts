// Which Pods give way to a Pod with a higher priority that fits no node.
import type { Pod } from '../../api/kinds/core/pod/schema.ts';
import type { PodDisruptionBudget } from '../../api/kinds/policy/poddisruptionbudget/kind.ts';
import { requirementsOf } from '../../api/selectors/label-selector.ts';
import { matchesLabels } from '../../api/selectors/labels.ts';
import { filterFor, isPermanent } from './schedule.ts';
import type { ClusterState, NodeState } from './state.ts';

/** Pods to delete, so that another Pod fits the node. */
export interface Preemption {
  readonly node: string;
  /** Most important first. */
  readonly victims: readonly Pod[];
}

interface Candidate extends Preemption {
  /** How many victims a PodDisruptionBudget protects. */
  readonly violations: number;
}

/** How many nodes are compared. */
const maxCandidates = 100;

export const priorityOf = ({ spec }: Pod): number => spec.priority ?? 0;

const uidOf = ({ metadata }: Pod): string => metadata.uid ?? '';

/**
 * The node where the fewest and least important Pods must go so that a Pod fits, PodDisruptionBudgets respected as far as possible.
 * undefined: the Pod may not preempt, its victims are already being deleted, or it would fit no node. The state is changed and restored.
 */
export function preempt(
  pod: Pod,
  state: ClusterState,
  budgets: readonly PodDisruptionBudget[],
): Preemption | undefined {
  if (pod.spec.preemptionPolicy === 'Never') return undefined;
  const nodes = state.nodes();
  const nominated = nodes.find(({ name }) => name === pod.status.nominatedNodeName);
  const isWaiting = nominated !== undefined && lowerPods(pod, nominated).some(isEnding);
  if (isWaiting) return undefined;
  const candidates: Candidate[] = [];
  for (const node of nodes) {
    const candidate = candidateOn(node, { pod, state, budgets });
    if (candidate !== undefined) candidates.push(candidate);
    if (candidates.length === maxCandidates) break;
  }
  const [first, ...others] = candidates;
  return others.reduce((best, next) => (best !== undefined && compareCandidates(next, best) < 0 ? next : best), first);
}

const isEnding = ({ metadata }: Pod): boolean => metadata.deletionTimestamp !== undefined;

const lowerPods = (pod: Pod, { pods }: NodeState): readonly Pod[] =>
  Array.from(pods.values(), (placed) => placed.pod).filter((other) => priorityOf(other) < priorityOf(pod));

/** The victims on one node: all Pods of lower priority, without those that may stay. */
function candidateOn(
  node: NodeState,
  {
    pod,
    state,
    budgets,
  }: { readonly pod: Pod; readonly state: ClusterState; readonly budgets: readonly PodDisruptionBudget[] },
): Candidate | undefined {
  const lower = lowerPods(pod, node).toSorted(byImportance);
  if (lower.length === 0 || filterFor(pod, state)(node).some(isPermanent)) return undefined;
  const fits = (): boolean => filterFor(pod, state)(node).length === 0;
  for (const each of lower) state.removePod(uidOf(each));
  try {
    if (!fits()) return undefined;
    const isProtected = protectedPods(lower, budgets);
    // Protected Pods are the first to stay.
    const order = [...lower.filter((each) => isProtected.has(each)), ...lower.filter((each) => !isProtected.has(each))];
    const victims = order.filter((each) => {
      state.setPod(each);
      if (fits()) return false;
      state.removePod(uidOf(each));
      return true;
    });
    const violations = victims.filter((each) => isProtected.has(each)).length;
    return { node: node.name, victims: victims.toSorted(byImportance), violations };
  } finally {
    for (const each of lower) state.setPod(each);
  }
}

/** The Pods whose deletion, after that of the Pods before them, a budget does not allow. */
function protectedPods(pods: readonly Pod[], budgets: readonly PodDisruptionBudget[]): ReadonlySet<Pod> {
  const left = budgets.map(({ metadata, spec, status }) => ({
    namespace: metadata.namespace,
    requirements: (spec.selector && requirementsOf(spec.selector)) ?? [],
    disrupted: status.disruptedPods ?? {},
    allowed: status.disruptionsAllowed,
  }));
  return new Set(
    pods.filter((pod) => {
      const own = left.filter(
        ({ namespace, requirements, disrupted }) =>
          namespace === pod.metadata.namespace &&
          requirements.length > 0 &&
          matchesLabels(requirements, pod.metadata.labels) &&
          disrupted[pod.metadata.name ?? ''] === undefined,
      );
      for (const budget of own) budget.allowed--;
      return own.some(({ allowed }) => allowed < 0);
    }),
  );
}

const startOf = ({ status }: Pod): number => {
  const startedAt = Date.parse(String(status.startTime));
  return Number.isNaN(startedAt) ? Infinity : startedAt;
};

/** Higher priority first, then the Pod that has run longer. */
const byImportance = (left: Pod, right: Pod): number =>
  priorityOf(right) - priorityOf(left) || Math.sign(startOf(left) - startOf(right)) || 0; // NaN: neither has started

/** Negative: `left` is better. */
function compareCandidates(left: Candidate, right: Candidate): number {
  const [ours, theirs] = [rankOf(left), rankOf(right)];
  for (const [index, value] of ours.entries()) {
    const other = theirs[index] ?? 0;
    if (value !== other) return value < other ? -1 : 1;
  }
  return 0;
}

/** Lower is better: violations, the highest priority, the sum of priorities, the number, and how long the most important have run. */
function rankOf({ victims, violations }: Candidate): readonly number[] {
  const priorities = victims.map(priorityOf);
  const highest = Math.max(...priorities);
  const since = Math.min(...victims.filter((pod) => priorityOf(pod) === highest).map(startOf));
  // As upstream, every Pod counts at least one, also with a negative priority.
  const sum = priorities.reduce((total, priority) => total + priority + 2 ** 31, 0);
  return [violations, highest, sum, victims.length, -since];
}
