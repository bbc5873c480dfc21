// Whether a webhook applies to a write: its rules, then the labels of the namespace and of the object.
import type { Kind } from '../../../api/kind.ts';
import { namespaceKind } from '../../../api/kinds/core/namespace/kind.ts';
import { requirementsOf } from '../../../api/selectors/label-selector.ts';
import type {
  ValidatingWebhook,
  WebhookRule,
} from '../../../api/kinds/admissionregistration/validatingwebhookconfiguration/schema.ts';
import { matchesLabels } from '../../../api/selectors/labels.ts';
import type { AdmissionAttributes } from './attributes.ts';
import { reviewedObject } from './attributes.ts';

type Labels = Readonly<Record<string, string>> | undefined;

/** Returns the labels of a namespace. */
export type LabelsOfNamespace = (namespace: string) => Labels;

/** The kind in which the webhook receives the object: that of the request or an equivalent one; undefined: no match. */
export function matchedKind(
  webhook: ValidatingWebhook,
  attributes: AdmissionAttributes,
  namespaceLabels: LabelsOfNamespace,
): Kind | undefined {
  const { rules = [], matchPolicy } = webhook;
  const isOf = (kind: Kind): boolean => rules.some((rule) => matchesRule(rule, attributes, kind));
  const kind = isOf(attributes.kind)
    ? attributes.kind
    : matchPolicy === 'Exact'
      ? undefined
      : attributes.equivalents().find(isOf);
  if (kind === undefined) return undefined;
  return matchesNamespace(webhook, attributes, namespaceLabels) && matchesObject(webhook, attributes)
    ? kind
    : undefined;
}

function matchesRule(rule: WebhookRule, { operation, subresource }: AdmissionAttributes, kind: Kind): boolean {
  const { operations = [], apiGroups = [], apiVersions = [], resources = [], scope = '*' } = rule;
  return (
    (scope === '*' || kind.namespaced === (scope === 'Namespaced')) &&
    names(apiGroups, kind.group) &&
    names(apiVersions, kind.version) &&
    names(operations, operation) &&
    resources.some((resource) => {
      const [name, sub = ''] = resource.split('/', 2);
      return (name === '*' || name === kind.plural) && (sub === '*' || sub === subresource);
    })
  );
}

const names = (words: readonly string[], word: string): boolean => words.includes('*') || words.includes(word);

/** The selector does not apply to cluster-scoped objects. A Namespace is matched by its own new labels. */
function matchesNamespace(
  { namespaceSelector = {} }: ValidatingWebhook,
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
function matchesObject({ objectSelector = {} }: ValidatingWebhook, { object, old }: AdmissionAttributes): boolean {
  const requirements = requirementsOf(objectSelector) ?? [];
  return (
    requirements.length === 0 ||
    [object, old].some((each) => each !== undefined && matchesLabels(requirements, each.metadata.labels))
  );
}
