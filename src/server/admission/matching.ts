// Whether a webhook or a policy applies to a write: its rules, then the labels of the namespace and of the object.
import type { Kind } from '../../api/kind.ts';
import { namespaceKind } from '../../api/kinds/core/namespace/kind.ts';
import type { LabelSelector } from '../../api/selectors/label-selector.ts';
import { requirementsOf } from '../../api/selectors/label-selector.ts';
import type { WebhookRule } from '../../api/kinds/admissionregistration/webhook-schema.ts';
import { matchesLabels } from '../../api/selectors/labels.ts';
import type { AdmissionAttributes } from './attributes.ts';
import { reviewedObject } from './attributes.ts';

type Labels = Readonly<Record<string, string>> | undefined;

/** Returns the labels of a namespace. */
export type LabelsOfNamespace = (namespace: string) => Labels;

/** A rule, which a policy can limit to objects with some names. */
type Rule = WebhookRule & { readonly resourceNames?: readonly string[] };

/** The writes to which a webhook or a policy applies. */
export interface MatchCriteria {
  readonly rules?: readonly Rule[];
  readonly excluded?: readonly Rule[];
  readonly matchPolicy?: string;
  readonly namespaceSelector?: LabelSelector;
  readonly objectSelector?: LabelSelector;
}

/** The kind in which a webhook or policy receives the object: that of the request or an equivalent one; undefined: no match. */
export function matchedKind(
  criteria: MatchCriteria,
  attributes: AdmissionAttributes,
  namespaceLabels: LabelsOfNamespace,
): Kind | undefined {
  const { rules = [], excluded = [], matchPolicy } = criteria;
  const isOf =
    (some: readonly Rule[]) =>
    (kind: Kind): boolean =>
      some.some((rule) => matchesRule(rule, attributes, kind));
  const others = (): readonly Kind[] => (matchPolicy === 'Exact' ? [] : attributes.equivalents());
  if (excluded.length > 0 && [attributes.kind, ...others()].some(isOf(excluded))) return undefined;
  const kind = isOf(rules)(attributes.kind) ? attributes.kind : others().find(isOf(rules));
  if (kind === undefined) return undefined;
  return matchesNamespace(criteria, attributes, namespaceLabels) && matchesObject(criteria, attributes)
    ? kind
    : undefined;
}

function matchesRule(rule: Rule, attributes: AdmissionAttributes, kind: Kind): boolean {
  const { operations = [], apiGroups = [], apiVersions = [], resources = [], scope = '*', resourceNames = [] } = rule;
  const { operation, subresource } = attributes;
  return (
    (scope === '*' || kind.namespaced === (scope === 'Namespaced')) &&
    names(apiGroups, kind.group) &&
    names(apiVersions, kind.version) &&
    names(operations, operation) &&
    (resourceNames.length === 0 || resourceNames.includes(reviewedObject(attributes).metadata.name ?? '')) &&
    resources.some((resource) => {
      const [name, sub = ''] = resource.split('/', 2);
      return (name === '*' || name === kind.plural) && (sub === '*' || sub === subresource);
    })
  );
}

const names = (words: readonly string[], word: string): boolean => words.includes('*') || words.includes(word);

/** The selector does not apply to cluster-scoped objects. A Namespace is matched by its own new labels. */
function matchesNamespace(
  { namespaceSelector = {} }: MatchCriteria,
  attributes: AdmissionAttributes,
  namespaceLabels: LabelsOfNamespace,
): boolean {
  const { kind } = attributes;
  if (!kind.namespaced && kind !== namespaceKind) return true;
  const requirements = requirementsOf(namespaceSelector) ?? [];
  if (requirements.length === 0) return true;
  const { labels, namespace = '' } = reviewedObject(attributes).metadata;
  return matchesLabels(requirements, kind === namespaceKind ? labels : namespaceLabels(namespace));
}

/** Matches the labels before or after the write, so that removing a label does not bypass the webhook. */
function matchesObject({ objectSelector = {} }: MatchCriteria, { object, old }: AdmissionAttributes): boolean {
  const requirements = requirementsOf(objectSelector) ?? [];
  return (
    requirements.length === 0 ||
    [object, old].some((each) => each !== undefined && matchesLabels(requirements, each.metadata.labels))
  );
}
