import { ageColumn, column, nameColumn } from '../../../columns.ts';
import { defineKind } from '../../../kind.ts';
import { negativeErrors } from '../../apps/workload.ts';
import type { HorizontalPodAutoscaler, ScalingRules } from './schema.ts';
import { horizontalPodAutoscaler } from './schema.ts';
import { targetsText } from './targets.ts';
import { autoscalerErrors } from './validate.ts';

export const horizontalPodAutoscalerKind = defineKind<HorizontalPodAutoscaler>({
  group: 'autoscaling',
  version: 'v2',
  kind: 'HorizontalPodAutoscaler',
  plural: 'horizontalpodautoscalers',
  shortNames: ['hpa'],
  categories: ['all'],
  namespaced: true,
  schema: horizontalPodAutoscaler,
  hasStatus: true,
  withoutController: 'the number of Pods does not change',
  columns: [
    nameColumn,
    column('Reference', 'The workload.', ({ spec: { scaleTargetRef: target } }) => `${target.kind}/${target.name}`),
    column('Targets', 'Current and desired values of the metrics.', ({ spec, status }) =>
      targetsText(spec.metrics ?? [], status.currentMetrics ?? []),
    ),
    column('MinPods', 'Smallest number of Pods.', ({ spec }) => String(spec.minReplicas ?? '<unset>')),
    column('MaxPods', 'Largest number of Pods.', ({ spec }) => spec.maxReplicas),
    column('Replicas', 'Observed number of Pods.', ({ status }) => status.currentReplicas ?? 0),
    ageColumn,
  ],
  applyDefaults,
  prepareForCreate: (object) => ({ ...object, status: { desiredReplicas: 0, currentMetrics: null } }),
  validateCreate: (object) => autoscalerErrors(object),
  validateUpdate: autoscalerErrors,
  validateStatus: ({ status }) =>
    negativeErrors({
      'status.currentReplicas': status.currentReplicas,
      'status.desiredReplicas': status.desiredReplicas,
    }),
});

const targetOfCpu = { type: 'Utilization', averageUtilization: 80 };

function applyDefaults({ spec, ...rest }: HorizontalPodAutoscaler): HorizontalPodAutoscaler {
  const { behavior, metrics = [] } = spec;
  return {
    ...rest,
    spec: {
      ...spec,
      minReplicas: spec.minReplicas ?? 1,
      metrics: metrics.length > 0 ? metrics : [{ type: 'Resource', resource: { name: 'cpu', target: targetOfCpu } }],
      ...(behavior === undefined
        ? {}
        : { behavior: { scaleUp: upDefaults(behavior.scaleUp), scaleDown: downDefaults(behavior.scaleDown) } }),
    },
  };
}

const double = { type: 'Percent', value: 100, periodSeconds: 15 };

const upDefaults = (rules: ScalingRules = {}): ScalingRules => ({
  stabilizationWindowSeconds: 0,
  selectPolicy: 'Max',
  policies: [{ type: 'Pods', value: 4, periodSeconds: 15 }, double],
  ...rules,
});

const downDefaults = (rules: ScalingRules = {}): ScalingRules => ({
  selectPolicy: 'Max',
  policies: [double],
  ...rules,
});
