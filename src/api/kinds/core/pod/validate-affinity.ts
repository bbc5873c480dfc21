// Validates affinity and topology spread constraints as Kubernetes does.
import type { FieldError } from '../../../field-errors.ts';
import { duplicate, forbiddenField, invalidAll, invalidValue, notSupported, required } from '../../../field-errors.ts';
import { dnsLabelErrors, qualifiedNameErrors } from '../../../names.ts';
import { labelSelectorErrors } from '../../../selectors/label-selector.ts';
import { nodeSelectorErrors, nodeSelectorTermErrors } from '../node/selector-errors.ts';
import type { PodSpec } from './schema.ts';

type Affinity = NonNullable<PodSpec['affinity']>;
type NodeAffinity = NonNullable<Affinity['nodeAffinity']>;
type PodAffinity = NonNullable<Affinity['podAffinity']>;
type PodTerm = NonNullable<PodAffinity['requiredDuringSchedulingIgnoredDuringExecution']>[number];
type Spread = NonNullable<PodSpec['topologySpreadConstraints']>[number];

const mandatory = 'requiredDuringSchedulingIgnoredDuringExecution';
const preferred = 'preferredDuringSchedulingIgnoredDuringExecution';

/** Validation errors of an affinity at `path`. */
export function affinityErrors({ nodeAffinity, podAffinity, podAntiAffinity }: Affinity, path: string): FieldError[] {
  return [
    ...(nodeAffinity === undefined ? [] : nodeErrors(nodeAffinity, `${path}.nodeAffinity`)),
    ...(podAffinity === undefined ? [] : podErrors(podAffinity, `${path}.podAffinity`)),
    ...(podAntiAffinity === undefined ? [] : podErrors(podAntiAffinity, `${path}.podAntiAffinity`)),
  ];
}

function nodeErrors({ [mandatory]: selector, [preferred]: terms = [] }: NodeAffinity, path: string): FieldError[] {
  return [
    ...(selector === undefined ? [] : nodeSelectorErrors(selector, `${path}.${mandatory}`)),
    ...terms.flatMap(({ weight, preference }, index) => {
      const at = `${path}.${preferred}[${index}]`;
      return [...weightErrors(weight, at), ...nodeSelectorTermErrors(preference, `${at}.preference`)];
    }),
  ];
}

function podErrors({ [mandatory]: terms = [], [preferred]: weighted = [] }: PodAffinity, path: string): FieldError[] {
  return [
    ...terms.flatMap((term, index) => podTermErrors(term, `${path}.${mandatory}[${index}]`)),
    ...weighted.flatMap(({ weight, podAffinityTerm }, index) => {
      const at = `${path}.${preferred}[${index}]`;
      return [...weightErrors(weight, at), ...podTermErrors(podAffinityTerm, `${at}.podAffinityTerm`)];
    }),
  ];
}

const weightErrors = (weight: number, path: string): readonly FieldError[] =>
  weight >= 1 && weight <= 100 ? [] : [invalidValue(`${path}.weight`, weight, 'must be in the range 1-100')];

function podTermErrors(term: PodTerm, path: string): readonly FieldError[] {
  const { labelSelector, namespaceSelector, namespaces = [], topologyKey } = term;
  return [
    ...(labelSelector === undefined ? [] : labelSelectorErrors(`${path}.labelSelector`, labelSelector)),
    ...(namespaceSelector === undefined ? [] : labelSelectorErrors(`${path}.namespaceSelector`, namespaceSelector)),
    ...namespaces.flatMap((name) => invalidAll(`${path}.namespace`, name, dnsLabelErrors(name))),
    ...keyErrors(term, path),
    ...(topologyKey === '' ? [required(`${path}.topologyKey`, 'can not be empty')] : []),
    ...invalidAll(`${path}.topologyKey`, topologyKey, qualifiedNameErrors(topologyKey)),
  ];
}

/** Errors of label keys whose values are those of the Pod itself. */
function keyErrors(
  term: Pick<PodTerm, 'labelSelector' | 'matchLabelKeys' | 'mismatchLabelKeys'>,
  path: string,
): readonly FieldError[] {
  const { labelSelector, matchLabelKeys = [], mismatchLabelKeys = [] } = term;
  const errors = Object.entries({ matchLabelKeys, mismatchLabelKeys }).flatMap(([field, keys]) => {
    if (keys.length === 0) return [];
    const at = `${path}.${field}`;
    if (labelSelector === undefined) return [forbiddenField(at, 'must not be specified when labelSelector is not set')];
    return keys.flatMap((key, index) => invalidAll(`${at}[${index}]`, key, qualifiedNameErrors(key)));
  });
  for (const [index, key] of matchLabelKeys.entries()) {
    if (!mismatchLabelKeys.includes(key)) continue;
    const detail = 'exists in both matchLabelKeys and mismatchLabelKeys';
    errors.push(invalidValue(`${path}.matchLabelKeys[${index}]`, key, detail));
  }
  return errors;
}

const actions: readonly string[] = ['DoNotSchedule', 'ScheduleAnyway'];
const policies: readonly string[] = ['Honor', 'Ignore'];

/** Validation errors of topology spread constraints at `path`. */
export const spreadErrors = (constraints: readonly Spread[], path: string): readonly FieldError[] =>
  constraints.flatMap((constraint, index) => {
    const { topologyKey, whenUnsatisfiable, labelSelector, maxSkew } = constraint;
    const at = `${path}[${index}]`;
    const isRepeated = constraints
      .slice(index + 1)
      .some((other) => other.topologyKey === topologyKey && other.whenUnsatisfiable === whenUnsatisfiable);
    return [
      ...positiveErrors(maxSkew, `${at}.maxSkew`),
      ...(topologyKey === '' ? [required(`${at}.topologyKey`, 'can not be empty')] : []),
      ...(actions.includes(whenUnsatisfiable)
        ? []
        : [notSupported(`${at}.whenUnsatisfiable`, whenUnsatisfiable, actions)]),
      ...(isRepeated
        ? [duplicate(`${at}.{topologyKey, whenUnsatisfiable}`, `{${topologyKey}, ${whenUnsatisfiable}}`)]
        : []),
      ...domainErrors(constraint, `${at}.minDomains`),
      ...policyErrors(constraint, at),
      ...keyErrors(constraint, at),
      ...(labelSelector === undefined ? [] : labelSelectorErrors(`${at}.labelSelector`, labelSelector)),
    ];
  });

const positiveErrors = (value: number, path: string): readonly FieldError[] =>
  value > 0 ? [] : [invalidValue(path, value, 'must be greater than zero')];

function domainErrors({ minDomains, whenUnsatisfiable: action }: Spread, path: string): readonly FieldError[] {
  if (minDomains === undefined) return [];
  const detail = `can only use minDomains if whenUnsatisfiable=DoNotSchedule, not ${action}`;
  return [
    ...positiveErrors(minDomains, path),
    ...(action === 'DoNotSchedule' ? [] : [invalidValue(path, minDomains, detail)]),
  ];
}

const policyErrors = ({ nodeAffinityPolicy, nodeTaintsPolicy }: Spread, path: string): readonly FieldError[] =>
  Object.entries({ nodeAffinityPolicy, nodeTaintsPolicy }).flatMap(([field, policy]) =>
    policy === undefined || policies.includes(policy) ? [] : [notSupported(`${path}.${field}`, policy, policies)],
  );
