import { labelSelector, objectSchema } from '../../../metadata.ts';
import type { Infer } from '../../../schema/infer.ts';
import { always, int32, int64, optional, pointer, struct } from '../../../schema/schema.ts';
import { podTemplateSpec } from '../../core/pod/spec.ts';
import {
  workloadConditions,
  containerColumns,
  negativeErrors,
  selectorChangeErrors,
  selectorColumn,
  templateDefaults,
  workloadErrors,
  workloadSelector,
} from '../workload.ts';
import { ageColumn, column, nameColumn } from '../../../columns.ts';
import type { FieldError } from '../../../field-errors.ts';
import { defineKind } from '../../../kind.ts';
import { scaleSubresource } from '../../autoscaling/scale/kind.ts';

const apps = 'io.k8s.api.apps.v1';

const replicaSetSpec = struct(`${apps}.ReplicaSetSpec`, 'The desired Pods.', {
  replicas: pointer(1, int32, 'Desired number of Pods.'),
  minReadySeconds: optional(4, int32, 'Seconds a Pod must be ready to be available.'),
  selector: pointer(2, labelSelector, 'Labels of the Pods. Cannot be changed.', { required: true }),
  template: always(3, podTemplateSpec, 'The template of the Pods.'),
});

const replicaSetStatus = struct(`${apps}.ReplicaSetStatus`, 'The observed Pods.', {
  replicas: always(1, int32, 'Number of Pods.', { required: true }),
  fullyLabeledReplicas: optional(2, int32, 'Pods with all labels of the template.'),
  readyReplicas: optional(4, int32, 'Pods that are ready.'),
  availableReplicas: optional(5, int32, 'Pods that are available.'),
  terminatingReplicas: pointer(7, int32, 'Pods that are terminating.'),
  observedGeneration: optional(3, int64, 'The generation this status reflects.'),
  conditions: workloadConditions(6, 'ReplicaSet'),
});

/** Keeps a number of equal Pods running. */
const replicaSet = objectSchema(`${apps}.ReplicaSet`, 'Keeps a number of equal Pods running.', {
  spec: always(2, replicaSetSpec, 'The desired Pods.'),
  status: always(3, replicaSetStatus, 'The observed Pods.'),
});

export type ReplicaSet = Infer<typeof replicaSet>;

export const replicaSetKind = defineKind<ReplicaSet>({
  group: 'apps',
  version: 'v1',
  kind: 'ReplicaSet',
  plural: 'replicasets',
  shortNames: ['rs'],
  categories: ['all'],
  namespaced: true,
  schema: replicaSet,
  hasStatus: true,
  subresources: [scaleSubresource],
  scaleSelector: workloadSelector,
  generation: 'spec',
  selectableFields: { 'status.replicas': ({ status }) => String(status.replicas) },
  columns: [
    nameColumn,
    column('Desired', 'Desired number of Pods.', ({ spec }) => spec.replicas ?? 0, { type: 'integer' }),
    column('Current', 'Current number of Pods.', ({ status }) => status.replicas, { type: 'integer' }),
    column('Ready', 'Number of ready Pods.', ({ status }) => status.readyReplicas ?? 0, { type: 'integer' }),
    ageColumn,
    ...containerColumns,
    selectorColumn,
  ],
  applyDefaults: ({ spec, ...rest }) => ({
    ...rest,
    spec: { ...spec, replicas: spec.replicas ?? 1, template: templateDefaults(spec.template) },
  }),
  prepareForCreate: (object) => ({ ...object, status: { replicas: 0 } }),
  validateCreate: specErrors,
  validateUpdate: (object, old) => [...specErrors(object), ...selectorChangeErrors(object, old)],
});

function specErrors(object: ReplicaSet): readonly FieldError[] {
  const { replicas, minReadySeconds } = object.spec;
  return [
    ...negativeErrors({ 'spec.replicas': replicas, 'spec.minReadySeconds': minReadySeconds }),
    // Kubernetes prints "deployment" here as well.
    ...workloadErrors(object, { selectorOf: 'deployment', templateOf: 'ReplicaSet' }),
  ];
}
