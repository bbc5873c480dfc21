// The decision of the scheduler: the best node for a Pod, or why no node fits.
import type { Pod } from '../../api/kinds/core/pod/schema.ts';
import { compareText } from '../../api/order.ts';
import { matchesNode, preferenceFor } from './node-affinity.ts';
import { affinityFilter, affinityScore } from './pod-affinity.ts';
import type { Amounts } from './resources.ts';
import { comparedAmount, requestsOf } from './resources.ts';
import { spreadFilter, spreadScore } from './spread.ts';
import type { ClusterState, HostPort, NodeState } from './state.ts';
import { hostPortsOf } from './state.ts';
import { avoidedTaints, toleratesCordon, untoleratedTaint } from './taints.ts';

/** A node, or the message of the Event FailedScheduling. */
export type Decision = { readonly node: string } | { readonly message: string };

/** Decides where a Pod runs. */
export function schedule(pod: Pod, state: ClusterState): Decision {
  const nodes = state.nodes();
  if (nodes.length === 0) return { message: 'no nodes available to schedule pods' };
  const problemsOf = filterFor(pod, state);
  const fitting: NodeState[] = [];
  const counts = new Map<string, number>();
  for (const node of nodes) {
    const problems = problemsOf(node);
    if (problems.length === 0) fitting.push(node);
    for (const problem of problems) counts.set(problem, (counts.get(problem) ?? 0) + 1);
  }
  const best = bestOf(pod, fitting, state);
  if (best !== undefined) return { node: best.name };
  const reasons = Array.from(counts, ([problem, count]) => `${count} ${problem}`).toSorted(compareText);
  return { message: `0/${nodes.length} nodes are available: ${reasons.join(', ')}.` };
}

/** Problems that the deletion of Pods does not solve. */
const permanent: ReadonlySet<string> = new Set([
  'node(s) not found',
  'node(s) were unschedulable',
  'node(s) had untolerated taint(s)',
  "node(s) didn't match Pod's node affinity/selector",
]);

export const isPermanent = (problem: string): boolean => permanent.has(problem);

/** Returns why a node does not fit; empty: it does. Only the first kind of problem counts, as in Kubernetes. */
export function filterFor(pod: Pod, state: ClusterState): (node: NodeState) => readonly string[] {
  const { spec } = pod;
  const requests = requestsOf(spec);
  const ports = hostPortsOf(spec);
  const acceptsCordon = toleratesCordon(spec.tolerations);
  const [spread, affinity] = [spreadFilter(pod, state), affinityFilter(pod, state)];
  return (state) => {
    const { node } = state;
    if (node === undefined) return ['node(s) not found'];
    if (node.spec.unschedulable === true && !acceptsCordon) return ['node(s) were unschedulable'];
    if (untoleratedTaint(state, spec.tolerations) !== undefined) return ['node(s) had untolerated taint(s)'];
    if (!matchesNode(spec, node)) return ["node(s) didn't match Pod's node affinity/selector"];
    if (hasPortConflict(ports, state)) return ["node(s) didn't have free ports for the requested pod ports"];
    const lacking = lackingResources(requests, state);
    if (lacking.length > 0) return lacking;
    const problem = spread(state) ?? affinity(state);
    return problem === undefined ? [] : [problem];
  };
}

function hasPortConflict(wanted: readonly HostPort[], { pods }: NodeState): boolean {
  if (wanted.length === 0) return false;
  const isAny = (ip: string): boolean => ip === '' || ip === '0.0.0.0' || ip === '::';
  return Iterator.from(pods.values()).some(({ ports }) =>
    ports.some((used) =>
      wanted.some(
        ({ ip, protocol, port }) =>
          port === used.port && protocol === used.protocol && (isAny(ip) || isAny(used.ip) || ip === used.ip),
      ),
    ),
  );
}

/** Resources that a node has too little of. */
function lackingResources(requests: Amounts, { allocatable, used, pods }: NodeState): readonly string[] {
  const lacking = pods.size + 1 > (allocatable.get('pods') ?? defaultPods) ? ['Too many pods'] : [];
  for (const [name, amount] of requests) {
    if (amount > 0 && amount > (allocatable.get(name) ?? 0) - (used.get(name) ?? 0))
      lacking.push(`Insufficient ${name}`);
  }
  return lacking;
}

/** The limit of a node that reports none. */
const defaultPods = 110;

interface Score {
  readonly node: NodeState;
  total: number;
}

/** The node with the highest score; of equal ones, that with the fewest Pods. */
function bestOf(pod: Pod, nodes: readonly NodeState[], state: ClusterState): NodeState | undefined {
  const [first] = nodes;
  if (nodes.length < 2 || first === undefined) return first;
  const scores: readonly Score[] = nodes.map((node) => ({ node, total: 0 }));
  const { spec } = pod;
  const requests = requestsOf(spec);
  for (const score of scores) score.total += freeShare(requests, score.node) + balance(requests, score.node);
  add(scores, 3, (node) => -avoidedTaints(node, spec.tolerations));
  if (spec.affinity?.nodeAffinity !== undefined) {
    add(scores, 2, ({ node }) => (node === undefined ? 0 : preferenceFor(spec, node)));
  }
  const [spread, affinity] = [spreadScore(pod, state), affinityScore(pod, state)];
  if (spread !== undefined) add(scores, 2, (node) => -spread(node));
  if (affinity !== undefined) add(scores, 2, affinity);
  return scores.reduce((best, next) => (isBetter(next, best) ? next : best)).node;
}

const isBetter = (next: Score, best: Score): boolean => {
  if (next.total !== best.total) return next.total > best.total;
  const difference = next.node.pods.size - best.node.pods.size;
  return difference === 0 ? next.node.name < best.node.name : difference < 0;
};

/** Adds values scaled to 0 … 100, times a weight. */
function add(scores: readonly Score[], weight: number, of: (node: NodeState) => number): void {
  const values = scores.map(({ node }) => of(node));
  const [low, high] = [Math.min(...values), Math.max(...values)];
  if (low === high) return;
  for (const [index, score] of scores.entries()) {
    score.total += (weight * 100 * ((values[index] ?? low) - low)) / (high - low);
  }
}

const comparedResources = ['cpu', 'memory'] as const;

/** How much of a node's resources would be free, in per cent. */
function freeShare(requests: Amounts, { allocatable, compared }: NodeState): number {
  let sum = 0;
  for (const name of comparedResources) {
    const capacity = allocatable.get(name) ?? 0;
    const used = (compared.get(name) ?? 0) + comparedAmount(requests, name);
    if (capacity > 0) sum += (Math.max(0, capacity - used) * 100) / capacity;
  }
  return sum / comparedResources.length;
}

/** How similar the used shares of the resources would be, in per cent. */
function balance(requests: Amounts, { allocatable, used }: NodeState): number {
  const shares = comparedResources.flatMap((name) => {
    const capacity = allocatable.get(name) ?? 0;
    return capacity === 0 ? [] : [Math.min(1, ((used.get(name) ?? 0) + (requests.get(name) ?? 0)) / capacity)];
  });
  const [cpu, memory] = shares;
  return cpu === undefined || memory === undefined ? 100 : 100 * (1 - Math.abs(cpu - memory) / 2);
}
