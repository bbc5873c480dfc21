import type { FieldError } from '../../../field-errors.ts';
import { invalidValue, notSupported, required, duplicate, forbiddenField } from '../../../field-errors.ts';
import type { WebhookRule, ValidatingWebhook, ValidatingWebhookConfiguration } from './schema.ts';
import { dns1035LabelErrors, dnsSubdomainErrors } from '../../../names.ts';
import { labelSelectorErrors } from '../../../selectors/label-selector.ts';
import { clientConfigErrors } from './validate-client.ts';

/** Invalid values that an update accepts because the stored object has them. */
interface Leniency {
  readonly sideEffects: boolean;
  readonly versions: boolean;
  readonly repeatedNames: boolean;
}

const strict: Leniency = { sideEffects: false, versions: false, repeatedNames: false };

export const validateCreate = (object: ValidatingWebhookConfiguration): readonly FieldError[] =>
  configurationErrors(object, strict);

export function validateUpdate(
  object: ValidatingWebhookConfiguration,
  { webhooks = [] }: ValidatingWebhookConfiguration,
): readonly FieldError[] {
  return configurationErrors(object, {
    sideEffects: !webhooks.every(({ sideEffects }) => sideEffects !== undefined && harmless.includes(sideEffects)),
    versions: !webhooks.every(({ admissionReviewVersions }) => (admissionReviewVersions ?? []).some(isKnownVersion)),
    repeatedNames: new Set(webhooks.map(({ name }) => name)).size < webhooks.length,
  });
}

function configurationErrors({ webhooks = [] }: ValidatingWebhookConfiguration, leniency: Leniency): FieldError[] {
  const names = new Set<string>();
  return webhooks.flatMap((webhook, index) => {
    const path = `webhooks[${index}]`;
    const { name, admissionReviewVersions } = webhook;
    const isRepeated = !leniency.repeatedNames && name !== '' && names.has(name);
    names.add(name);
    return [
      ...webhookErrors(path, webhook, leniency),
      ...versionErrors(`${path}.admissionReviewVersions`, admissionReviewVersions ?? [], leniency),
      ...(isRepeated ? [duplicate(`${path}.name`, name)] : []),
    ];
  });
}

const reviewVersions: readonly string[] = ['v1', 'v1beta1'];
const isKnownVersion = (version: string): boolean => reviewVersions.includes(version);

function versionErrors(path: string, versions: readonly string[], leniency: Leniency): FieldError[] {
  if (versions.length === 0) return [required(path, `must specify one of ${reviewVersions.join(', ')}`)];
  const seen = new Set<string>();
  const errors = versions.flatMap((version, index) => {
    const problems = seen.has(version) ? ['duplicate version'] : dns1035LabelErrors(version);
    seen.add(version);
    return problems.map((problem) => invalidValue(`${path}[${index}]`, version, problem));
  });
  if (leniency.versions || versions.some(isKnownVersion)) return errors;
  return [...errors, invalidValue(path, versions, `must include at least one of ${reviewVersions.join(', ')}`)];
}

const failurePolicies: readonly string[] = ['Fail', 'Ignore'];
const matchPolicies: readonly string[] = ['Equivalent', 'Exact'];
const harmless: readonly string[] = ['None', 'NoneOnDryRun'];
const allSideEffects: readonly string[] = ['None', 'NoneOnDryRun', 'Some', 'Unknown'];

function webhookErrors(path: string, webhook: ValidatingWebhook, leniency: Leniency): FieldError[] {
  const { rules = [], failurePolicy, matchPolicy, timeoutSeconds, namespaceSelector, objectSelector } = webhook;
  const isTimeoutBad = timeoutSeconds !== undefined && (timeoutSeconds > 30 || timeoutSeconds < 1);
  return [
    ...qualifiedErrors(`${path}.name`, webhook.name),
    ...rules.flatMap((rule, index) => ruleErrors(`${path}.rules[${index}]`, rule)),
    ...oneOfErrors(`${path}.failurePolicy`, failurePolicy, failurePolicies),
    ...oneOfErrors(`${path}.matchPolicy`, matchPolicy, matchPolicies),
    ...sideEffectErrors(`${path}.sideEffects`, webhook, leniency.sideEffects ? allSideEffects : harmless),
    ...(isTimeoutBad
      ? [invalidValue(`${path}.timeoutSeconds`, timeoutSeconds, 'the timeout value must be between 1 and 30 seconds')]
      : []),
    ...labelSelectorErrors(`${path}.namespaceSelector`, namespaceSelector ?? {}),
    ...labelSelectorErrors(`${path}.objectSelector`, objectSelector ?? {}),
    ...clientConfigErrors(`${path}.clientConfig`, webhook.clientConfig),
    ...conditionErrors(`${path}.matchConditions`, webhook),
  ];
}

/** Conditions are not evaluated: neither calling the webhook nor skipping it would be correct. */
const conditionErrors = (path: string, { matchConditions = [] }: ValidatingWebhook): FieldError[] =>
  matchConditions.length === 0
    ? []
    : [
        forbiddenField(
          path,
          'CEL is not supported by this server: select with rules, namespaceSelector, objectSelector',
        ),
      ];

const oneOfErrors = (path: string, value: string | undefined, words: readonly string[]): FieldError[] =>
  value === undefined || words.includes(value) ? [] : [notSupported(path, value, words)];

function sideEffectErrors(path: string, { sideEffects }: ValidatingWebhook, words: readonly string[]): FieldError[] {
  if (sideEffects === undefined) return [required(path, `must specify one of ${words.join(', ')}`)];
  return oneOfErrors(path, sideEffects, words);
}

function qualifiedErrors(path: string, name: string): FieldError[] {
  if (name === '') return [required(path)];
  const problems = dnsSubdomainErrors(name);
  if (problems.length > 0) return [invalidValue(path, name, problems.join(','))];
  if (name.split('.').length >= 3) return [];
  return [invalidValue(path, name, 'should be a domain with at least three segments separated by dots')];
}

const operations: readonly string[] = ['*', 'CONNECT', 'CREATE', 'DELETE', 'UPDATE'];
const scopes: readonly string[] = ['*', 'Cluster', 'Namespaced'];

/** Validation errors of a rule. */
function ruleErrors(path: string, rule: WebhookRule): FieldError[] {
  const { apiVersions = [], scope } = rule;
  return [
    ...wildcardErrors(`${path}.operations`, rule.operations, 'operations'),
    ...(rule.operations ?? []).flatMap((operation, index) =>
      operations.includes(operation) ? [] : [notSupported(`${path}.operations[${index}]`, operation, operations)],
    ),
    ...wildcardErrors(`${path}.apiGroups`, rule.apiGroups, 'API groups'),
    ...wildcardErrors(`${path}.apiVersions`, apiVersions, 'API versions'),
    ...apiVersions.flatMap((version, index) => (version === '' ? [required(`${path}.apiVersions[${index}]`)] : [])),
    ...resourceErrors(`${path}.resources`, rule.resources ?? []),
    ...(scope === undefined || scopes.includes(scope) ? [] : [notSupported(`${path}.scope`, scope, scopes)]),
  ];
}

/** A list must not be empty, and `*` must be its only item. */
function wildcardErrors(path: string, words: readonly string[] = [], what: string): FieldError[] {
  if (words.length === 0) return [required(path)];
  if (words.length === 1 || !words.includes('*')) return [];
  return [invalidValue(path, words, `if '*' is present, must not specify other ${what}`)];
}

// A star can replace the resource, the subresource or both. An item must not be covered by an earlier item.
function resourceErrors(path: string, resources: readonly string[]): FieldError[] {
  if (resources.length === 0) return [required(path)];
  const anySubresource = new Set<string>();
  const anyResource = new Set<string>();
  const errors = resources.flatMap((resource, index) => {
    const at = `${path}[${index}]`;
    if (resource === '') return [required(at)];
    const slash = resource.indexOf('/');
    if (slash < 0) return [];
    const [name, sub] = [resource.slice(0, slash), resource.slice(slash + 1)];
    const covered = [...(anySubresource.has(name) ? [`${name}/*`] : []), ...(anyResource.has(sub) ? [`*/${sub}`] : [])];
    if (sub === '*') anySubresource.add(name);
    if (name === '*') anyResource.add(sub);
    return covered.map((by) => invalidValue(at, resource, `if '${by}' is present, must not specify ${resource}`));
  });
  const whole = (why: string): FieldError => invalidValue(path, resources, why);
  if (resources.length > 1 && resources.includes('*/*')) {
    errors.push(whole("if '*/*' is present, must not specify other resources"));
  }
  // As in Kubernetes, where the last resource without a subresource decides.
  const last = resources.findLast((resource) => resource !== '' && !resource.includes('/'));
  if (resources.includes('*') && last !== undefined && last !== '*') {
    errors.push(whole("if '*' is present, must not specify other resources without subresources"));
  }
  return errors;
}
