import type { FieldError } from '../../../field-errors.ts';
import { forbiddenField, invalidAll, invalidValue, notSupported, required } from '../../../field-errors.ts';
import { dnsLabelErrors, pathSegmentErrors } from '../../../names.ts';
import { parseQuantity } from '../../../quantity.ts';
import { containerResourceNameErrors } from '../../core/resource-names.ts';
import type { MetricSpec, MetricTarget } from './schema.ts';
import { referenceErrors } from './validate-reference.ts';
import type { ReferenceRules } from './validate-reference.ts';

const types = ['ContainerResource', 'External', 'Object', 'Pods', 'Resource'] as const;
const fields = ['object', 'external', 'pods', 'resource', 'containerResource'] as const;
type MetricField = (typeof fields)[number];

const fieldOf: Readonly<Record<string, MetricField>> = {
  ContainerResource: 'containerResource',
  External: 'external',
  Object: 'object',
  Pods: 'pods',
  Resource: 'resource',
};

/** Validation errors of one metric: of its type, of the first field that is set, and of fields of other types. */
export function metricErrors(path: string, metric: MetricSpec, rules: ReferenceRules): readonly FieldError[] {
  const unknown = notSupported(`${path}.type`, metric.type, types);
  const expected = Object.hasOwn(fieldOf, metric.type) ? fieldOf[metric.type] : undefined;
  const present = fields.filter((field) => metric[field] !== undefined);
  const [first] = present;
  const others = present.length === 1 ? [] : present.filter((field) => field !== expected);
  const missing = expected !== undefined && metric[expected] === undefined;
  return [
    ...(metric.type === '' ? [required(`${path}.type`, 'must specify a metric source type')] : []),
    ...(expected === undefined ? [unknown] : []),
    ...(first === undefined ? [] : sourceErrors(`${path}.${first}`, first, metric, rules)),
    ...(missing ? [required(`${path}.${expected}`, 'must populate information for the given metric source')] : []),
    ...(expected === undefined ? [unknown] : []), // twice, as in Kubernetes
    ...others.map((field) => forbiddenField(`${path}.${field}`, 'must populate the given metric source only')),
  ];
}

function sourceErrors(
  path: string,
  field: MetricField,
  metric: MetricSpec,
  rules: ReferenceRules,
): readonly FieldError[] {
  const { object, external, pods, resource, containerResource } = metric;
  const at = `${path}.target`;
  if (field === 'object' && object !== undefined) {
    return [
      ...referenceErrors(`${path}.describedObject`, object.describedObject, rules),
      ...identifierErrors(`${path}.metric`, object.metric.name),
      ...targetErrors(at, object.target),
      ...eitherValue(at, object.target, 'must set either a target value or averageValue'),
    ];
  }
  if (field === 'external' && external !== undefined) {
    const { value, averageValue } = external.target;
    return [
      ...identifierErrors(`${path}.metric`, external.metric.name),
      ...targetErrors(at, external.target),
      ...eitherValue(at, external.target, 'must set either a target value for metric or a per-pod target'),
      ...(value !== undefined && averageValue !== undefined
        ? [forbiddenField(`${at}.value`, 'may not set both a target value for metric and a per-pod target')]
        : []),
    ];
  }
  if (field === 'pods' && pods !== undefined) {
    return [
      ...identifierErrors(`${path}.metric`, pods.metric.name),
      ...targetErrors(at, pods.target),
      ...(pods.target.averageValue === undefined
        ? [required(`${at}.averageValue`, 'must specify a positive target averageValue')]
        : []),
    ];
  }
  if (containerResource !== undefined && field === 'containerResource') {
    return [
      ...resourceNameErrors(`${path}.name`, containerResource.name, true),
      ...(containerResource.container === ''
        ? [required(`${path}.container`, 'must specify a container')]
        : invalidAll(`${path}.container`, containerResource.container, dnsLabelErrors(containerResource.container))),
      ...utilizationErrors(at, containerResource.target),
    ];
  }
  if (resource === undefined) return [];
  return [...resourceNameErrors(`${path}.name`, resource.name, false), ...utilizationErrors(at, resource.target)];
}

const eitherValue = (path: string, { value, averageValue }: MetricTarget, detail: string): readonly FieldError[] =>
  value === undefined && averageValue === undefined ? [required(`${path}.averageValue`, detail)] : [];

function identifierErrors(path: string, name: string): readonly FieldError[] {
  if (name === '') return [required(`${path}.name`, 'must specify a metric name')];
  return invalidAll(`${path}.name`, name, pathSegmentErrors(name));
}

function resourceNameErrors(path: string, name: string, isOfContainer: boolean): readonly FieldError[] {
  if (name === '') return [required(path, 'must specify a resource name')];
  return isOfContainer ? invalidAll(path, name, containerResourceNameErrors(name)) : [];
}

function utilizationErrors(path: string, target: MetricTarget): readonly FieldError[] {
  const { averageUtilization, averageValue } = target;
  const hasNone = averageUtilization === undefined && averageValue === undefined;
  const hasBoth = averageUtilization !== undefined && averageValue !== undefined;
  return [
    ...targetErrors(path, target),
    ...(hasNone
      ? [required(`${path}.averageUtilization`, 'must set either a target raw value or a target utilization')]
      : []),
    ...(hasBoth
      ? [forbiddenField(`${path}.averageValue`, 'may not set both a target raw value and a target utilization')]
      : []),
  ];
}

const targetTypes = ['Utilization', 'Value', 'AverageValue'];

function targetErrors(path: string, { type, value, averageValue, averageUtilization }: MetricTarget): FieldError[] {
  const errors: FieldError[] = [];
  if (type === '') errors.push(required(`${path}.type`, 'must specify a metric target type'));
  if (!targetTypes.includes(type)) {
    errors.push(invalidValue(`${path}.type`, type, 'must be either Utilization, Value, or AverageValue'));
  }
  for (const [field, amount] of Object.entries({ value, averageValue })) {
    if (amount === undefined || parseQuantity(String(amount)).nano > 0n) continue;
    errors.push(invalidValue(`${path}.${field}`, amount, 'must be positive'));
  }
  if (averageUtilization !== undefined && averageUtilization < 1) {
    errors.push(invalidValue(`${path}.averageUtilization`, averageUtilization, 'must be greater than 0'));
  }
  return errors;
}
