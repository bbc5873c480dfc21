import { ageColumn, column, nameColumn } from '../../../columns.ts';
import { conditionErrors } from '../../../condition-errors.ts';
import type { FieldError } from '../../../field-errors.ts';
import { invalidValue, notSupported } from '../../../field-errors.ts';
import { defineKind } from '../../../kind.ts';
import { condition, labelSelector, objectSchema } from '../../../metadata.ts';
import type { Infer } from '../../../schema/infer.ts';
import {
  always,
  int32,
  int64,
  intOrString,
  listMap,
  map,
  oneOf,
  optional,
  pointer,
  replaced,
  struct,
  time,
} from '../../../schema/schema.ts';
import { labelSelectorErrors } from '../../../selectors/label-selector.ts';
import { amountErrors, negativeErrors } from '../../apps/workload.ts';

const policy = 'io.k8s.api.policy.v1';

const spec = struct(`${policy}.PodDisruptionBudgetSpec`, 'The Pods and how many of them may be evicted.', {
  minAvailable: pointer(1, intOrString, 'Number or percentage of the Pods that stay available after an eviction.'),
  selector: pointer(
    2,
    replaced(labelSelector),
    'Labels of the Pods. Without a selector it selects no Pod, with an empty one all of the namespace.',
  ),
  maxUnavailable: pointer(
    3,
    intOrString,
    'Number or percentage of the Pods that may be unavailable after an eviction. Excludes minAvailable.',
  ),
  unhealthyPodEvictionPolicy: pointer(
    4,
    oneOf('AlwaysAllow', 'IfHealthyBudget'),
    'Whether Pods that are not ready can always be evicted, or only while enough others are healthy (the default).',
  ),
});

const status = struct(`${policy}.PodDisruptionBudgetStatus`, 'How many Pods may be evicted now.', {
  observedGeneration: optional(1, int64, 'The generation this status reflects. Evictions wait for it.'),
  disruptedPods: optional(2, map(time), 'Pods that were evicted and are not observed as deleted yet, with the time.'),
  disruptionsAllowed: always(3, int32, 'Number of Pods that may be evicted now.', { required: true }),
  currentHealthy: always(4, int32, 'Number of healthy Pods.', { required: true }),
  desiredHealthy: always(5, int32, 'Minimum number of healthy Pods.', { required: true }),
  expectedPods: always(6, int32, 'Number of Pods that are counted.', { required: true }),
  conditions: optional(7, listMap(condition, ['type'], { mergeKey: 'type' }), 'State of the budget.'),
});

const podDisruptionBudget = objectSchema(
  `${policy}.PodDisruptionBudget`,
  'Limits how many Pods are evicted at a time.',
  {
    spec: always(2, spec, 'The Pods and how many of them may be evicted.'),
    status: always(3, status, 'How many Pods may be evicted now.'),
  },
);

export type PodDisruptionBudget = Infer<typeof podDisruptionBudget>;

const orNone = (amount: number | string | undefined): string => (amount === undefined ? 'N/A' : String(amount));

export const podDisruptionBudgetKind = defineKind<PodDisruptionBudget>({
  group: 'policy',
  version: 'v1',
  kind: 'PodDisruptionBudget',
  plural: 'poddisruptionbudgets',
  shortNames: ['pdb'],
  namespaced: true,
  schema: podDisruptionBudget,
  hasStatus: true,
  generation: 'spec',
  unconditionalUpdate: false,
  columns: [
    nameColumn,
    column('Min Available', 'Minimum number of available Pods.', (object) => orNone(object.spec.minAvailable)),
    column('Max Unavailable', 'Maximum number of unavailable Pods.', (object) => orNone(object.spec.maxUnavailable)),
    column(
      'Allowed Disruptions',
      'Number of Pods that may be evicted now.',
      (object) => object.status.disruptionsAllowed,
      {
        type: 'integer',
      },
    ),
    ageColumn,
  ],
  prepareForCreate: (object) => ({
    ...object,
    status: { disruptionsAllowed: 0, currentHealthy: 0, desiredHealthy: 0, expectedPods: 0 },
  }),
  validateCreate: (object) => specErrors(object),
  validateUpdate: specErrors,
  validateStatus: ({ status: { conditions = [], ...counts } }) => [
    ...conditionErrors('status.conditions', conditions),
    ...negativeErrors({
      'status.disruptionsAllowed': counts.disruptionsAllowed,
      'status.currentHealthy': counts.currentHealthy,
      'status.desiredHealthy': counts.desiredHealthy,
      'status.expectedPods': counts.expectedPods,
    }),
  ],
});

function specErrors({ spec }: PodDisruptionBudget, old?: PodDisruptionBudget): readonly FieldError[] {
  const { minAvailable, maxUnavailable, selector, unhealthyPodEvictionPolicy: policyOfUnhealthy } = spec;
  const areBothSet = minAvailable !== undefined && maxUnavailable !== undefined;
  const policies = ['AlwaysAllow', 'IfHealthyBudget'];
  return [
    ...(areBothSet
      ? [invalidValue('spec', inGoNames(spec), 'minAvailable and maxUnavailable cannot be both set')]
      : []),
    ...(minAvailable === undefined ? [] : amountErrors('spec.minAvailable', minAvailable, true)),
    ...(maxUnavailable === undefined ? [] : amountErrors('spec.maxUnavailable', maxUnavailable, true)),
    ...(selector === undefined ? [] : labelSelectorErrors('spec.selector', selector, old?.spec.selector)),
    ...(policyOfUnhealthy === undefined || policies.includes(policyOfUnhealthy)
      ? []
      : [notSupported('spec.unhealthyPodEvictionPolicy', policyOfUnhealthy, policies)]),
  ];
}

/** The spec as Kubernetes prints it. */
const inGoNames = (spec: PodDisruptionBudget['spec']): object => ({
  MinAvailable: spec.minAvailable ?? null,
  Selector: spec.selector ?? null,
  MaxUnavailable: spec.maxUnavailable ?? null,
  UnhealthyPodEvictionPolicy: spec.unhealthyPodEvictionPolicy ?? null,
});
