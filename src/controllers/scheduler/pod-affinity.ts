// Affinity and anti-affinity between Pods: which topology domains a Pod must share, or must not share, with others.
import type { Pod, PodSpec } from '../../api/kinds/core/pod/schema.ts';
import type { LabelSelector } from '../../api/selectors/label-selector.ts';
import { requirementsOf } from '../../api/selectors/label-selector.ts';
import type { Requirement } from '../../api/selectors/labels.ts';
import { matchesLabels } from '../../api/selectors/labels.ts';
import type { ClusterState, NodeState } from './state.ts';

type Affinity = NonNullable<PodSpec['affinity']>;
type Term = NonNullable<NonNullable<Affinity['podAffinity']>['requiredDuringSchedulingIgnoredDuringExecution']>[number];
type Labels = Readonly<Record<string, string>>;

/** A term of a Pod, prepared for comparison with many Pods. */
interface Matcher {
  readonly topologyKey: string;
  readonly matches: (pod: Pod) => boolean;
}

/** The requirements of a selector with the keys whose values must equal, or differ from, those of a Pod. */
export function selectorFor(
  selector: LabelSelector | undefined,
  labels: Labels,
  keys: { readonly match?: readonly string[] | undefined; readonly mismatch?: readonly string[] | undefined },
): readonly Requirement[] | undefined {
  const requirements = selector === undefined ? undefined : requirementsOf(selector);
  if (requirements === undefined) return undefined;
  const added = (names: readonly string[] = [], operator: 'in' | 'notin'): readonly Requirement[] =>
    names.flatMap((key) =>
      Object.hasOwn(labels, key) ? [{ key, operator, values: new Set([labels[key] ?? '']) }] : [],
    );
  return [...requirements, ...added(keys.match, 'in'), ...added(keys.mismatch, 'notin')];
}

function matcherOf(term: Term, { metadata }: Pod, namespaces: ReadonlyMap<string, Labels>): Matcher {
  const { labelSelector, namespaceSelector, topologyKey, matchLabelKeys, mismatchLabelKeys } = term;
  const requirements = selectorFor(labelSelector, metadata.labels ?? {}, {
    match: matchLabelKeys,
    mismatch: mismatchLabelKeys,
  });
  const named = new Set(term.namespaces);
  const ofNamespaces = namespaceSelector === undefined ? undefined : requirementsOf(namespaceSelector);
  if (named.size === 0 && ofNamespaces === undefined) named.add(metadata.namespace ?? '');
  const isIncluded = (namespace: string): boolean =>
    named.has(namespace) || (ofNamespaces !== undefined && matchesLabels(ofNamespaces, namespaces.get(namespace)));
  return {
    topologyKey,
    matches: (pod) =>
      requirements !== undefined &&
      isIncluded(pod.metadata.namespace ?? '') &&
      matchesLabels(requirements, pod.metadata.labels),
  };
}

/** The domain of a node; undefined: it has no such label. */
export const domainOf = ({ node }: NodeState, topologyKey: string): string | undefined =>
  node?.metadata.labels?.[topologyKey];

/** Why a node does not fit. */
export type AffinityProblem =
  | "node(s) didn't match pod affinity rules"
  | "node(s) didn't match pod anti-affinity rules"
  | "node(s) didn't satisfy existing pods anti-affinity rules";

/** Checks the required rules of a Pod, and those of others against it, for each node. */
export function affinityFilter(pod: Pod, state: ClusterState): (node: NodeState) => AffinityProblem | undefined {
  const { podAffinity, podAntiAffinity } = pod.spec.affinity ?? {};
  const matchers = (terms: readonly Term[] = []): readonly Matcher[] =>
    terms.map((term) => matcherOf(term, pod, state.namespaces));
  const together = matchers(podAffinity?.requiredDuringSchedulingIgnoredDuringExecution);
  const apart = matchers(podAntiAffinity?.requiredDuringSchedulingIgnoredDuringExecution);
  const refused = refusedDomains(pod, state);
  if (together.length + apart.length + refused.size === 0) return () => undefined;
  const near = domainsWithAll(together, state);
  const far = apart.map((matcher) => domainsWith(matcher, state));
  // The first Pod of a group that must be together has nobody to join.
  const isFirst = near.every((domains) => domains.size === 0) && together.every(({ matches }) => matches(pod));
  return (node) => {
    for (const [index, { topologyKey }] of together.entries()) {
      const domain = domainOf(node, topologyKey);
      if (domain === undefined || (!isFirst && near[index]?.has(domain) !== true)) {
        return "node(s) didn't match pod affinity rules";
      }
    }
    for (const [index, { topologyKey }] of apart.entries()) {
      const domain = domainOf(node, topologyKey);
      if (domain !== undefined && far[index]?.has(domain) === true)
        return "node(s) didn't match pod anti-affinity rules";
    }
    for (const [topologyKey, domains] of refused) {
      const domain = domainOf(node, topologyKey);
      if (domain !== undefined && domains.has(domain))
        return "node(s) didn't satisfy existing pods anti-affinity rules";
    }
    return undefined;
  };
}

/** The domains with a Pod that a term matches. */
function domainsWith({ topologyKey, matches }: Matcher, state: ClusterState): ReadonlySet<string> {
  const domains = new Set<string>();
  for (const node of state.nodes()) {
    const domain = domainOf(node, topologyKey);
    if (domain === undefined || domains.has(domain)) continue;
    for (const { pod } of node.pods.values()) {
      if (!matches(pod)) continue;
      domains.add(domain);
      break;
    }
  }
  return domains;
}

/** For each term, the domains with a Pod that all terms match. */
function domainsWithAll(matchers: readonly Matcher[], state: ClusterState): readonly ReadonlySet<string>[] {
  const isMatch = (pod: Pod): boolean => matchers.every(({ matches }) => matches(pod));
  return matchers.map(({ topologyKey }) => domainsWith({ topologyKey, matches: isMatch }, state));
}

/** Topology key → domains whose Pods refuse this Pod. */
function refusedDomains(pod: Pod, state: ClusterState): ReadonlyMap<string, ReadonlySet<string>> {
  const refused = new Map<string, Set<string>>();
  for (const [other, node] of state.withAffinity()) {
    const terms = other.spec.affinity?.podAntiAffinity?.requiredDuringSchedulingIgnoredDuringExecution ?? [];
    for (const term of terms) {
      const { topologyKey, matches } = matcherOf(term, other, state.namespaces);
      const domain = domainOf(node, topologyKey);
      if (domain === undefined || !matches(pod)) continue;
      const domains = refused.get(topologyKey);
      if (domains === undefined) refused.set(topologyKey, new Set([domain]));
      else domains.add(domain);
    }
  }
  return refused;
}

/** Scores nodes by the preferred rules of a Pod and those of others about it; undefined: there are none. */
export function affinityScore(pod: Pod, state: ClusterState): ((node: NodeState) => number) | undefined {
  const { podAffinity, podAntiAffinity } = pod.spec.affinity ?? {};
  const scores = new Map<string, Map<string, number>>();
  const add = (topologyKey: string, node: NodeState, weight: number): void => {
    const domain = domainOf(node, topologyKey);
    if (domain === undefined) return;
    const byDomain = scores.get(topologyKey) ?? new Map<string, number>();
    scores.set(topologyKey, byDomain.set(domain, (byDomain.get(domain) ?? 0) + weight));
  };
  const own = [
    ...weighted(podAffinity?.preferredDuringSchedulingIgnoredDuringExecution, 1),
    ...weighted(podAntiAffinity?.preferredDuringSchedulingIgnoredDuringExecution, -1),
  ].map(({ term, weight }) => ({ ...matcherOf(term, pod, state.namespaces), weight }));
  if (own.length > 0) {
    for (const node of state.nodes()) {
      for (const { pod: other } of node.pods.values()) {
        for (const { matches, topologyKey, weight } of own) if (matches(other)) add(topologyKey, node, weight);
      }
    }
  }
  for (const [other, node] of state.withAffinity()) {
    const { podAffinity: near, podAntiAffinity: far } = other.spec.affinity ?? {};
    const terms = [
      ...weighted(near?.preferredDuringSchedulingIgnoredDuringExecution, 1),
      ...weighted(far?.preferredDuringSchedulingIgnoredDuringExecution, -1),
    ];
    for (const { term, weight } of terms) {
      const { matches, topologyKey } = matcherOf(term, other, state.namespaces);
      if (matches(pod)) add(topologyKey, node, weight);
    }
  }
  if (scores.size === 0) return undefined;
  return (node) => {
    let sum = 0;
    for (const [topologyKey, byDomain] of scores) sum += byDomain.get(domainOf(node, topologyKey) ?? '') ?? 0;
    return sum;
  };
}

type Preferred = NonNullable<NonNullable<Affinity['podAffinity']>['preferredDuringSchedulingIgnoredDuringExecution']>;

const weighted = (terms: Preferred = [], sign: 1 | -1): readonly { readonly term: Term; readonly weight: number }[] =>
  terms.map(({ weight, podAffinityTerm }) => ({ term: podAffinityTerm, weight: sign * weight }));
