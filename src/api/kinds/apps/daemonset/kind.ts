import { isDeepStrictEqual } from 'node:util';

import { labelSelector, objectSchema } from '../../../metadata.ts';
import type { Infer } from '../../../schema/infer.ts';
import { always, int32, int64, intOrString, oneOf, optional, pointer, struct } from '../../../schema/schema.ts';
import { podTemplateSpec } from '../../core/pod/spec.ts';
import {
  workloadConditions,
  containerColumns,
  negativeErrors,
  selectorChangeErrors,
  selectorColumn,
  templateDefaults,
  workloadErrors,
  amountErrors,
  amountOf,
} from '../workload.ts';
import { ageColumn, column, labelsText, nameColumn } from '../../../columns.ts';
import type { FieldError } from '../../../field-errors.ts';
import { invalidValue, notSupported, required } from '../../../field-errors.ts';
import { defineKind } from '../../../kind.ts';

const apps = 'io.k8s.api.apps.v1';

const rollingUpdateDaemonSet = struct(`${apps}.RollingUpdateDaemonSet`, 'Limits of a rolling update.', {
  maxUnavailable: pointer(1, intOrString, 'Maximum number or percentage of Pods that can be unavailable.'),
  maxSurge: pointer(2, intOrString, 'Maximum number or percentage of nodes that can run two Pods.'),
});

const daemonSetUpdateStrategy = struct(`${apps}.DaemonSetUpdateStrategy`, 'How Pods are replaced.', {
  type: optional(1, oneOf('RollingUpdate', 'OnDelete'), 'RollingUpdate or OnDelete.'),
  rollingUpdate: pointer(2, rollingUpdateDaemonSet, 'Limits, for RollingUpdate.'),
});

const daemonSetSpec = struct(`${apps}.DaemonSetSpec`, 'The desired Pods.', {
  selector: pointer(1, labelSelector, 'Labels of the Pods. Cannot be changed.', { required: true }),
  template: always(2, podTemplateSpec, 'The template of the Pods.', { required: true }),
  updateStrategy: always(3, daemonSetUpdateStrategy, 'How Pods are replaced.'),
  minReadySeconds: optional(4, int32, 'Seconds a Pod must be ready to be available.'),
  revisionHistoryLimit: pointer(6, int32, 'Number of old revisions to keep.'),
});

const daemonSetStatus = struct(`${apps}.DaemonSetStatus`, 'The observed Pods.', {
  currentNumberScheduled: always(1, int32, 'Nodes that run a Pod and should.', { required: true }),
  numberMisscheduled: always(2, int32, 'Nodes that run a Pod and should not.', { required: true }),
  desiredNumberScheduled: always(3, int32, 'Nodes that should run a Pod.', { required: true }),
  numberReady: always(4, int32, 'Nodes whose Pod is ready.', { required: true }),
  observedGeneration: optional(5, int64, 'The generation this status reflects.'),
  updatedNumberScheduled: optional(6, int32, 'Nodes whose Pod is up to date.'),
  numberAvailable: optional(7, int32, 'Nodes whose Pod is available.'),
  numberUnavailable: optional(8, int32, 'Nodes whose Pod is not available.'),
  collisionCount: pointer(9, int32, 'Number of hash collisions.'),
  conditions: workloadConditions(10, 'DaemonSet'),
});

/** Keeps one Pod running on every node that fits. */
const daemonSet = objectSchema(`${apps}.DaemonSet`, 'Keeps one Pod running on every node that fits.', {
  spec: always(2, daemonSetSpec, 'The desired Pods.'),
  status: always(3, daemonSetStatus, 'The observed Pods.'),
});

export type DaemonSet = Infer<typeof daemonSet>;

const integer = { type: 'integer' } as const;

export const daemonSetKind = defineKind<DaemonSet>({
  group: 'apps',
  version: 'v1',
  kind: 'DaemonSet',
  plural: 'daemonsets',
  shortNames: ['ds'],
  categories: ['all'],
  namespaced: true,
  schema: daemonSet,
  hasStatus: true,
  generation: 'spec',
  columns: [
    nameColumn,
    column('Desired', 'Nodes that should run a Pod.', ({ status }) => status.desiredNumberScheduled, integer),
    column('Current', 'Nodes that run a Pod and should.', ({ status }) => status.currentNumberScheduled, integer),
    column('Ready', 'Nodes whose Pod is ready.', ({ status }) => status.numberReady, integer),
    column('Up-to-date', 'Nodes whose Pod is up to date.', ({ status }) => status.updatedNumberScheduled ?? 0, integer),
    column('Available', 'Nodes whose Pod is available.', ({ status }) => status.numberAvailable ?? 0, integer),
    column('Node Selector', 'Labels of the nodes.', ({ spec }) => labelsText(spec.template.spec.nodeSelector)),
    ageColumn,
    ...containerColumns,
    selectorColumn,
  ],
  applyDefaults: ({ spec, ...rest }) => ({
    ...rest,
    spec: {
      ...spec,
      template: templateDefaults(spec.template),
      updateStrategy: strategyDefaults(spec.updateStrategy),
      revisionHistoryLimit: spec.revisionHistoryLimit ?? 10,
    },
  }),
  prepareForCreate: (object) => ({
    ...withTemplateGeneration(object, Math.max(templateGeneration(object), 1)),
    status: noNodes,
  }),
  prepareForUpdate: (object, old) => {
    const isChanged = !isDeepStrictEqual(object.spec.template, old.spec.template);
    return withTemplateGeneration(object, templateGeneration(old) + (isChanged ? 1 : 0));
  },
  validateCreate: specErrors,
  validateUpdate: (object, old) => [...selectorChangeErrors(object, old), ...specErrors(object)],
});

/** Kubernetes counts versions of the template in this annotation, which was a field before apps/v1. */
const generationAnnotation = 'deprecated.daemonset.template.generation';

const templateGeneration = ({ metadata }: DaemonSet): number =>
  Number.parseInt(metadata.annotations?.[generationAnnotation] ?? '0', 10) || 0;

function withTemplateGeneration(object: DaemonSet, count: number): DaemonSet {
  const annotations = { ...object.metadata.annotations, [generationAnnotation]: String(count) };
  return { ...object, metadata: { ...object.metadata, annotations } };
}

const noNodes: DaemonSet['status'] = {
  currentNumberScheduled: 0,
  numberMisscheduled: 0,
  desiredNumberScheduled: 0,
  numberReady: 0,
};

type Strategy = DaemonSet['spec']['updateStrategy'];

function strategyDefaults(given: Strategy): Strategy {
  const { type = 'RollingUpdate', rollingUpdate } = given;
  if (type !== 'RollingUpdate') return { ...given, type };
  return { type, rollingUpdate: { maxUnavailable: 1, maxSurge: 0, ...rollingUpdate } };
}

function specErrors(object: DaemonSet): readonly FieldError[] {
  const { minReadySeconds, revisionHistoryLimit, updateStrategy } = object.spec;
  return [
    ...workloadErrors(object, { selectorOf: 'daemonset', templateOf: 'DaemonSet' }),
    ...negativeErrors({ 'spec.minReadySeconds': minReadySeconds }),
    ...strategyErrors(updateStrategy),
    ...negativeErrors({ 'spec.revisionHistoryLimit': revisionHistoryLimit }),
  ];
}

function strategyErrors({ type, rollingUpdate }: Strategy): readonly FieldError[] {
  if (type === 'OnDelete') return [];
  if (type !== 'RollingUpdate') return [notSupported('spec.updateStrategy', type, ['RollingUpdate', 'OnDelete'])];
  const { maxUnavailable = 0, maxSurge = 0 } = rollingUpdate ?? {};
  const path = 'spec.updateStrategy.rollingUpdate';
  const [unavailable, surge] = [amountOf(maxUnavailable), amountOf(maxSurge)];
  return [
    ...amountErrors(`${path}.maxUnavailable`, maxUnavailable, true),
    ...amountErrors(`${path}.maxSurge`, maxSurge, true),
    ...(unavailable !== 0 && surge !== 0
      ? [invalidValue(`${path}.maxSurge`, maxSurge, 'may not be set when maxUnavailable is non-zero')]
      : []),
    ...(unavailable === 0 && surge === 0 ? [required(`${path}.maxUnavailable`, 'cannot be 0 when maxSurge is 0')] : []),
  ];
}
