import { ageColumn, column, nameColumn } from '../../../columns.ts';
import type { FieldError } from '../../../field-errors.ts';
import { forbiddenField, invalidValue, notSupported } from '../../../field-errors.ts';
import { defineKind } from '../../../kind.ts';
import { scaleSubresource } from '../../autoscaling/scale/kind.ts';
import {
  containerColumns,
  negativeErrors,
  podNameWarnings,
  selectorChangeErrors,
  readyColumn,
  selectorColumn,
  templateDefaults,
  workloadErrors,
  workloadSelector,
  amountErrors,
  amountOf,
} from '../workload.ts';
import type { Deployment } from './schema.ts';
import { deployment } from './schema.ts';

export const deploymentKind = defineKind<Deployment>({
  group: 'apps',
  version: 'v1',
  kind: 'Deployment',
  plural: 'deployments',
  shortNames: ['deploy'],
  categories: ['all'],
  namespaced: true,
  schema: deployment,
  hasStatus: true,
  subresources: [scaleSubresource],
  scaleSelector: workloadSelector,
  generation: 'spec',
  columns: [
    nameColumn,
    readyColumn,
    column('Up-to-date', 'Pods with the current template.', ({ status }) => status.updatedReplicas ?? 0),
    column('Available', 'Pods that are available.', ({ status }) => status.availableReplicas ?? 0),
    ageColumn,
    ...containerColumns,
    selectorColumn,
  ],
  applyDefaults: ({ spec, ...rest }) => ({
    ...rest,
    spec: {
      ...spec,
      replicas: spec.replicas ?? 1,
      template: templateDefaults(spec.template),
      strategy: strategyDefaults(spec.strategy),
      revisionHistoryLimit: spec.revisionHistoryLimit ?? 10,
      progressDeadlineSeconds: spec.progressDeadlineSeconds ?? 600,
    },
  }),
  prepareForCreate: (object) => ({ ...object, status: {} }),
  warnings: (object, old) => (old === undefined ? podNameWarnings(object) : []),
  validateCreate: specErrors,
  validateUpdate: (object, old) => [...specErrors(object), ...selectorChangeErrors(object, old)],
});

type Strategy = Deployment['spec']['strategy'];

function strategyDefaults(given: Strategy): Strategy {
  const { type = 'RollingUpdate', rollingUpdate } = given;
  if (type !== 'RollingUpdate') return { ...given, type };
  return { type, rollingUpdate: { maxUnavailable: '25%', maxSurge: '25%', ...rollingUpdate } };
}

function specErrors(object: Deployment): readonly FieldError[] {
  const { replicas, strategy, minReadySeconds = 0, revisionHistoryLimit, progressDeadlineSeconds } = object.spec;
  const isHasty = progressDeadlineSeconds !== undefined && progressDeadlineSeconds <= minReadySeconds;
  return [
    ...negativeErrors({ 'spec.replicas': replicas }),
    ...workloadErrors(object, { selectorOf: 'deployment', templateOf: 'ReplicaSet' }),
    ...strategyErrors(strategy),
    ...negativeErrors({
      'spec.minReadySeconds': minReadySeconds,
      'spec.revisionHistoryLimit': revisionHistoryLimit,
      'spec.progressDeadlineSeconds': progressDeadlineSeconds,
    }),
    ...(isHasty
      ? [invalidValue('spec.progressDeadlineSeconds', progressDeadlineSeconds, 'must be greater than minReadySeconds')]
      : []),
  ];
}

/** An unknown strategy as Kubernetes prints it. */
const inGoNames = ({ type, rollingUpdate }: Strategy): object => ({
  Type: type,
  RollingUpdate: rollingUpdate ?? null,
});

function strategyErrors(strategy: Strategy): readonly FieldError[] {
  const { type, rollingUpdate } = strategy;
  if (type === 'Recreate') {
    if (rollingUpdate === undefined) return [];
    return [forbiddenField('spec.strategy.rollingUpdate', "may not be specified when strategy `type` is 'Recreate'")];
  }
  if (type !== 'RollingUpdate') {
    return [notSupported('spec.strategy', inGoNames(strategy), ['Recreate', 'RollingUpdate'])];
  }
  const { maxUnavailable = 0, maxSurge = 0 } = rollingUpdate ?? {};
  const path = 'spec.strategy.rollingUpdate';
  return [
    ...amountErrors(`${path}.maxUnavailable`, maxUnavailable, true),
    ...amountErrors(`${path}.maxSurge`, maxSurge, false),
    ...(amountOf(maxUnavailable) === 0 && amountOf(maxSurge) === 0
      ? [invalidValue(`${path}.maxUnavailable`, maxUnavailable, 'may not be 0 when `maxSurge` is 0')]
      : []),
  ];
}
