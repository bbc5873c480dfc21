// Node selectors and node affinity: which nodes a Pod requires and prefers.
import type { Node } from '../../api/kinds/core/node/schema.ts';
import type { PodSpec } from '../../api/kinds/core/pod/schema.ts';
import type { Requirement } from '../../api/selectors/labels.ts';
import { matchesLabels } from '../../api/selectors/labels.ts';

type NodeAffinity = NonNullable<NonNullable<PodSpec['affinity']>['nodeAffinity']>;
type NodeSelector = NonNullable<NodeAffinity['requiredDuringSchedulingIgnoredDuringExecution']>;
type Term = NonNullable<NodeSelector['nodeSelectorTerms']>[number];
type Expression = NonNullable<Term['matchExpressions']>[number];

const operators: Readonly<Record<Expression['operator'], Requirement['operator']>> = {
  In: 'in',
  NotIn: 'notin',
  Exists: 'exists',
  DoesNotExist: 'absent',
  Gt: 'gt',
  Lt: 'lt',
};

const requirementOf = ({ key, operator, values }: Expression): Requirement => ({
  key,
  operator: operators[operator],
  values: new Set(values),
});

/** Whether a Pod may run on a node by its selector and its required affinity. */
export function matchesNode({ nodeSelector, affinity }: PodSpec, node: Node): boolean {
  const labels = node.metadata.labels ?? {};
  for (const [key, value] of Object.entries(nodeSelector ?? {})) {
    if (!Object.hasOwn(labels, key) || labels[key] !== value) return false;
  }
  const required = affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution;
  return required === undefined || (required.nodeSelectorTerms ?? []).some((term) => matchesTerm(term, node));
}

/** Whether a node meets all requirements of a term. A term without requirements matches nothing. */
function matchesTerm({ matchExpressions = [], matchFields = [] }: Term, { metadata }: Node): boolean {
  if (matchExpressions.length + matchFields.length === 0) return false;
  const fields = { 'metadata.name': metadata.name ?? '' };
  return (
    matchesLabels(matchExpressions.map(requirementOf), metadata.labels) &&
    matchesLabels(matchFields.map(requirementOf), fields)
  );
}

/** The sum of the weights of the preferences that a node meets. */
export function preferenceFor({ affinity }: PodSpec, node: Node): number {
  const preferred = affinity?.nodeAffinity?.preferredDuringSchedulingIgnoredDuringExecution ?? [];
  return preferred.reduce(
    (sum, { weight, preference }) => sum + (isEmptyTerm(preference) || matchesTerm(preference, node) ? weight : 0),
    0,
  );
}

/** A preference without requirements prefers all nodes. */
const isEmptyTerm = ({ matchExpressions = [], matchFields = [] }: Term): boolean =>
  matchExpressions.length + matchFields.length === 0;
