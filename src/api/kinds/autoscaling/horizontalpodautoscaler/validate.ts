import type { FieldError } from '../../../field-errors.ts';
import { forbiddenField, invalidValue, notSupported, required } from '../../../field-errors.ts';
import { parseQuantity } from '../../../quantity.ts';
import type { HorizontalPodAutoscaler, MetricSpec, ScalingRules } from './schema.ts';
import { metricErrors } from './validate-metrics.ts';
import type { ReferenceRules } from './validate-reference.ts';
import { referenceErrors, versionProblem } from './validate-reference.ts';

const maxPeriodSeconds = 1800;
const maxWindowSeconds = 3600;

/** Validation errors of an autoscaler, which replaces `old` if there is one. */
export function autoscalerErrors({ spec }: HorizontalPodAutoscaler, old?: HorizontalPodAutoscaler): FieldError[] {
  const { scaleTargetRef, minReplicas, maxReplicas, metrics = [], behavior = {} } = spec;
  const lowest = old?.spec.minReplicas === 0 ? 0 : 1;
  const errors: FieldError[] = [];
  if (minReplicas !== undefined && minReplicas < lowest) {
    errors.push(invalidValue('spec.minReplicas', minReplicas, `must be greater than or equal to ${lowest}`));
  }
  if (maxReplicas < 1) errors.push(invalidValue('spec.maxReplicas', maxReplicas, 'must be greater than 0'));
  if (minReplicas !== undefined && maxReplicas < minReplicas) {
    errors.push(invalidValue('spec.maxReplicas', maxReplicas, 'must be greater than or equal to `minReplicas`'));
  }
  errors.push(...referenceErrors('spec.scaleTargetRef', scaleTargetRef, targetRules(scaleTargetRef, old)));
  const rules = metricRules(old?.spec.metrics ?? []);
  errors.push(...metrics.flatMap((metric, index) => metricErrors(`spec.metrics[${index}]`, metric, rules)));
  if (minReplicas === 0 && !metrics.some(({ type }) => type === 'Object' || type === 'External')) {
    const detail = 'must specify at least one Object or External metric to support scaling to zero replicas';
    errors.push(forbiddenField('spec.metrics', detail));
  }
  for (const [direction, each] of Object.entries({ scaleUp: behavior.scaleUp, scaleDown: behavior.scaleDown })) {
    if (each !== undefined) errors.push(...rulesErrors(`spec.behavior.${direction}`, each));
  }
  return errors;
}

type Target = HorizontalPodAutoscaler['spec']['scaleTargetRef'];

/** The version of an unchanged target is not validated again. */
function targetRules({ apiVersion, kind }: Target, old: HorizontalPodAutoscaler | undefined): ReferenceRules {
  const before = old?.spec.scaleTargetRef;
  if (before !== undefined && before.apiVersion === apiVersion && before.kind === kind) return 'any';
  return kind === 'ReplicationController' ? 'valid' : 'withGroup';
}

const metricRules = (old: readonly MetricSpec[]): ReferenceRules =>
  old.some(({ object }) => object && versionProblem(object.describedObject.apiVersion ?? '', 'valid') !== undefined)
    ? 'any'
    : 'valid';

const choices = ['Disabled', 'Max', 'Min'];

function rulesErrors(path: string, rules: ScalingRules): FieldError[] {
  const { stabilizationWindowSeconds: window, selectPolicy, policies = [], tolerance } = rules;
  const errors: FieldError[] = [];
  const windowPath = `${path}.stabilizationWindowSeconds`;
  if (window !== undefined && window < 0) {
    errors.push(invalidValue(windowPath, window, 'must be greater than or equal to zero'));
  }
  if (window !== undefined && window > maxWindowSeconds) {
    errors.push(invalidValue(windowPath, window, `must be less than or equal to ${maxWindowSeconds}`));
  }
  if (selectPolicy !== undefined && !choices.includes(selectPolicy)) {
    errors.push(notSupported(`${path}.selectPolicy`, selectPolicy, choices));
  }
  if (policies.length === 0) errors.push(required(`${path}.policies`, 'must specify at least one Policy'));
  errors.push(...policies.flatMap((policy, index) => policyErrors(`${path}.policies[${index}]`, policy)));
  if (tolerance !== undefined && parseQuantity(String(tolerance)).nano < 0n) {
    errors.push(invalidValue(`${path}.tolerance`, tolerance, 'must be greater than or equal to 0'));
  }
  return errors;
}

type Policy = NonNullable<ScalingRules['policies']>[number];

function policyErrors(path: string, { type, value, periodSeconds: period }: Policy): FieldError[] {
  const errors: FieldError[] = [];
  if (type !== 'Pods' && type !== 'Percent') errors.push(notSupported(`${path}.type`, type, ['Percent', 'Pods']));
  if (value <= 0) errors.push(invalidValue(`${path}.value`, value, 'must be greater than zero'));
  if (period <= 0) errors.push(invalidValue(`${path}.periodSeconds`, period, 'must be greater than zero'));
  if (period > maxPeriodSeconds) {
    errors.push(invalidValue(`${path}.periodSeconds`, period, `must be less than or equal to ${maxPeriodSeconds}`));
  }
  return errors;
}
