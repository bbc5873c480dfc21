import type { FieldError } from '../../field-errors.ts';
import { duplicate, invalidValue, notSupported, required } from '../../field-errors.ts';
import { dns1035LabelErrors, dnsSubdomainErrors } from '../../names.ts';
import { labelSelectorErrors } from '../../selectors/label-selector.ts';
import { matchConditionErrors } from './match-conditions.ts';
import { clientConfigErrors } from './validate-client.ts';
import { ruleErrors } from './validate-rules.ts';
import type { AnyWebhook, WebhookConfiguration } from './webhook-configuration.ts';
import type { MatchCondition } from './webhook-schema.ts';

/** Invalid values that an update accepts because the stored object has them. */
interface Leniency {
  readonly sideEffects: boolean;
  readonly versions: boolean;
  readonly repeatedNames: boolean;
  /** The match conditions that are stored. */
  readonly conditions: readonly MatchCondition[];
}

const strict: Leniency = { sideEffects: false, versions: false, repeatedNames: false, conditions: [] };

export const validateCreate = (object: WebhookConfiguration): readonly FieldError[] =>
  configurationErrors(object, strict);

export function validateUpdate(
  object: WebhookConfiguration,
  { webhooks = [] }: WebhookConfiguration,
): readonly FieldError[] {
  return configurationErrors(object, {
    sideEffects: !webhooks.every(({ sideEffects }) => sideEffects !== undefined && harmless.includes(sideEffects)),
    versions: !webhooks.every(({ admissionReviewVersions }) => (admissionReviewVersions ?? []).some(isKnownVersion)),
    repeatedNames: new Set(webhooks.map(({ name }) => name)).size < webhooks.length,
    conditions: webhooks.flatMap(({ matchConditions = [] }) => matchConditions),
  });
}

function configurationErrors({ webhooks = [] }: WebhookConfiguration, leniency: Leniency): FieldError[] {
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
const reinvocationPolicies: readonly string[] = ['Never', 'IfNeeded'];
const harmless: readonly string[] = ['None', 'NoneOnDryRun'];
const allSideEffects: readonly string[] = ['None', 'NoneOnDryRun', 'Some', 'Unknown'];

function webhookErrors(path: string, webhook: AnyWebhook, leniency: Leniency): FieldError[] {
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
    ...matchConditionErrors(`${path}.matchConditions`, webhook.matchConditions ?? [], {
      stored: leniency.conditions,
    }),
    ...oneOfErrors(`${path}.reinvocationPolicy`, webhook.reinvocationPolicy, reinvocationPolicies),
  ];
}

const oneOfErrors = (path: string, value: string | undefined, words: readonly string[]): FieldError[] =>
  value === undefined || words.includes(value) ? [] : [notSupported(path, value, words)];

function sideEffectErrors(path: string, { sideEffects }: AnyWebhook, words: readonly string[]): FieldError[] {
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
