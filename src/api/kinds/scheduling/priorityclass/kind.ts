import { ageColumn, column, nameColumn } from '../../../columns.ts';
import type { FieldError } from '../../../field-errors.ts';
import { forbiddenField, invalidValue, notSupported, required } from '../../../field-errors.ts';
import { defineKind } from '../../../kind.ts';
import { objectSchema } from '../../../metadata.ts';
import type { Infer } from '../../../schema/infer.ts';
import { always, boolean, int32, oneOf, optional, pointer, string } from '../../../schema/schema.ts';

const priorityClass = objectSchema('io.k8s.api.scheduling.v1.PriorityClass', 'A name for a priority of Pods.', {
  value: always(2, int32, 'The priority of Pods with this class. Cannot be changed.', { required: true }),
  globalDefault: optional(3, boolean, 'Whether Pods without a class get this one.'),
  description: optional(4, string, 'When to use the class.'),
  preemptionPolicy: pointer(
    5,
    oneOf('PreemptLowerPriority', 'Never'),
    'Whether Pods of this class evict Pods of lower priority. Cannot be changed.',
  ),
});

export type PriorityClass = Infer<typeof priorityClass>;

const highestOfUsers = 1_000_000_000;
const systemPrefix = 'system-';

/** The classes that every cluster has. No other name may start with `system-`. */
export const systemPriorityClasses = [
  {
    metadata: { name: 'system-node-critical' },
    value: 2_000_001_000,
    description: 'Used for system critical pods that must not be moved from their current node.',
  },
  {
    metadata: { name: 'system-cluster-critical' },
    value: 2_000_000_000,
    description:
      'Used for system critical pods that must run in the cluster, but can be moved to another node if necessary.',
  },
] as const;

export const priorityClassKind = defineKind<PriorityClass>({
  group: 'scheduling.k8s.io',
  version: 'v1',
  kind: 'PriorityClass',
  plural: 'priorityclasses',
  shortNames: ['pc'],
  namespaced: false,
  schema: priorityClass,
  generation: 'spec',
  deletion: {
    protectedNames: systemPriorityClasses.map(({ metadata }) => metadata.name),
    protection: 'this is a system priority class and cannot be deleted',
  },
  columns: [
    nameColumn,
    column('Value', 'The priority of Pods with this class.', ({ value }) => value, { type: 'integer' }),
    column('Global-Default', 'Whether Pods without a class get this one.', (object) => object.globalDefault ?? false, {
      type: 'boolean',
    }),
    ageColumn,
    column('PreemptionPolicy', 'Whether Pods of this class evict others.', (object) => object.preemptionPolicy ?? ''),
  ],
  applyDefaults: (object) => ({ ...object, preemptionPolicy: object.preemptionPolicy ?? 'PreemptLowerPriority' }),
  validateCreate: (object) => [...rangeErrors(object), ...policyErrors(object)],
  validateUpdate: changeErrors,
});

function rangeErrors({ metadata: { name = '' }, value, globalDefault = false }: PriorityClass): readonly FieldError[] {
  if (!name.startsWith(systemPrefix)) {
    const detail = `maximum allowed value of a user defined priority is ${highestOfUsers}`;
    return value > highestOfUsers ? [forbiddenField('value', detail)] : [];
  }
  const problem = systemProblem(name, value, globalDefault);
  if (problem === undefined) return [];
  const detail = `priority class names with '${systemPrefix}' prefix are reserved for system use only. error: ${problem}`;
  return [forbiddenField('metadata.name', detail)];
}

function systemProblem(name: string, value: number, globalDefault: boolean): string | undefined {
  const known = systemPriorityClasses.find(({ metadata }) => metadata.name === name);
  if (known === undefined) return `${name} is not a known system priority class`;
  if (value !== known.value) return `value of ${name} PriorityClass must be ${known.value}`;
  return globalDefault ? `globalDefault of ${name} PriorityClass must be false` : undefined;
}

const policies: readonly string[] = ['PreemptLowerPriority', 'Never'];

function policyErrors({ preemptionPolicy }: PriorityClass): readonly FieldError[] {
  const policy: string | undefined = preemptionPolicy;
  if (policy === undefined || policies.includes(policy)) return [];
  return [policy === '' ? required('preemptionPolicy') : notSupported('preemptionPolicy', policy, policies)];
}

function changeErrors(object: PriorityClass, old: PriorityClass): readonly FieldError[] {
  const { value, preemptionPolicy } = object;
  return [
    ...(value === old.value ? [] : [forbiddenField('value', 'may not be changed in an update.')]),
    ...(preemptionPolicy === old.preemptionPolicy
      ? []
      : [invalidValue('preemptionPolicy', preemptionPolicy, 'field is immutable')]),
  ];
}
