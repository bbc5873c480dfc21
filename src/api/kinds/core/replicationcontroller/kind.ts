import { ageColumn, column, labelsText, nameColumn } from '../../../columns.ts';
import type { FieldError } from '../../../field-errors.ts';
import { forbiddenField, invalidValue, notSupported, required } from '../../../field-errors.ts';
import { defineKind } from '../../../kind.ts';
import { objectSchema } from '../../../metadata.ts';
import { countedAs } from '../../../quota.ts';
import type { Infer } from '../../../schema/infer.ts';
import { always, atomicMap, int32, int64, optional, pointer, string, struct } from '../../../schema/schema.ts';
import {
  negativeErrors,
  podNameWarnings,
  templateColumns,
  templateDefaults,
  workloadConditions,
} from '../../apps/workload.ts';
import { scaleSubresource } from '../../autoscaling/scale/kind.ts';
import type { PodTemplateSpec } from '../pod/schema.ts';
import { podTemplateSpec } from '../pod/spec.ts';
import { podTemplateErrors } from '../pod/validate.ts';

const core = 'io.k8s.api.core.v1';

const replicationControllerSpec = struct(`${core}.ReplicationControllerSpec`, 'The desired Pods.', {
  replicas: pointer(1, int32, 'Desired number of Pods.', { default: 1 }),
  minReadySeconds: optional(4, int32, 'Seconds a Pod must be ready to be available.', { default: 0 }),
  selector: optional(2, atomicMap(string), 'Labels of the Pods; default: those of the template.'),
  template: pointer(3, podTemplateSpec, 'The template of the Pods.'),
});

const replicationControllerStatus = struct(`${core}.ReplicationControllerStatus`, 'The observed Pods.', {
  replicas: always(1, int32, 'Number of Pods.', { required: true }),
  fullyLabeledReplicas: optional(2, int32, 'Pods with all labels of the template.'),
  readyReplicas: optional(4, int32, 'Pods that are ready.'),
  availableReplicas: optional(5, int32, 'Pods that are available.'),
  observedGeneration: optional(3, int64, 'The generation this status reflects.'),
  conditions: workloadConditions(6, 'ReplicationController', 'core'),
});

const replicationController = objectSchema(
  `${core}.ReplicationController`,
  'Keeps a number of equal Pods running. Use a ReplicaSet or a Deployment instead.',
  {
    spec: always(2, replicationControllerSpec, 'The desired Pods.'),
    status: always(3, replicationControllerStatus, 'The observed Pods.'),
  },
);

export type ReplicationController = Infer<typeof replicationController>;

export const replicationControllerKind = defineKind<ReplicationController>({
  group: '',
  version: 'v1',
  kind: 'ReplicationController',
  plural: 'replicationcontrollers',
  shortNames: ['rc'],
  categories: ['all'],
  namespaced: true,
  schema: replicationController,
  hasStatus: true,
  subresources: [scaleSubresource],
  scaleSelector: ({ spec: { selector } }) => (isEmpty(selector) ? '' : labelsText(selector)),
  generation: 'spec',
  deletion: { orphansByDefault: true },
  selectableFields: { 'status.replicas': ({ status }) => String(status.replicas) },
  quota: countedAs('count/replicationcontrollers', 'replicationcontrollers'),
  columns: [
    nameColumn,
    column('Desired', 'Desired number of Pods.', ({ spec }) => spec.replicas ?? 0, { type: 'integer' }),
    column('Current', 'Current number of Pods.', ({ status }) => status.replicas, { type: 'integer' }),
    column('Ready', 'Number of ready Pods.', ({ status }) => status.readyReplicas ?? 0, { type: 'integer' }),
    ageColumn,
    ...templateColumns<ReplicationController>(({ spec }) => spec.template),
    column('Selector', 'Labels of the Pods.', ({ spec }) => labelsText(spec.selector), { wide: true }),
  ],
  applyDefaults,
  prepareForCreate: (object) => ({ ...object, status: { replicas: 0 } }),
  warnings: (object, old) => (old === undefined ? podNameWarnings(object) : []),
  validateCreate: specErrors,
  validateUpdate: specErrors,
  validateStatus: statusErrors,
});

const isEmpty = (labels: Readonly<Record<string, string>> | undefined): boolean =>
  Object.keys(labels ?? {}).length === 0;

/** Selector and labels default to the labels of the template. */
function applyDefaults({ metadata, spec, ...rest }: ReplicationController): ReplicationController {
  const { template } = spec;
  const labels = template?.metadata.labels;
  return {
    ...rest,
    metadata: { ...metadata, ...(labels !== undefined && isEmpty(metadata.labels) ? { labels } : {}) },
    spec: {
      ...spec,
      ...(labels !== undefined && isEmpty(spec.selector) ? { selector: labels } : {}),
      replicas: spec.replicas ?? 1,
      ...(template === undefined ? {} : { template: templateDefaults(template) }),
    },
  };
}

function specErrors({ spec }: ReplicationController): readonly FieldError[] {
  const { replicas, minReadySeconds, selector = {}, template } = spec;
  return [
    ...negativeErrors({ 'spec.minReadySeconds': minReadySeconds }),
    ...(isEmpty(selector) ? [required('spec.selector')] : []),
    ...negativeErrors({ 'spec.replicas': replicas }),
    ...(template === undefined ? [required('spec.template')] : templateErrors(template, selector)),
  ];
}

function templateErrors(template: PodTemplateSpec, selector: Readonly<Record<string, string>>): readonly FieldError[] {
  const { labels = {} } = template.metadata;
  const { restartPolicy, activeDeadlineSeconds } = template.spec;
  const path = 'spec.template';
  const errors = Object.entries(selector).every(([key, value]) => labels[key] === value)
    ? []
    : [invalidValue(`${path}.metadata.labels`, labels, '`selector` does not match template `labels`')];
  errors.push(...podTemplateErrors(template, path));
  if (restartPolicy !== 'Always') {
    errors.push(notSupported(`${path}.spec.restartPolicy`, restartPolicy, ['Always']));
  }
  if (activeDeadlineSeconds !== undefined) {
    const detail = 'activeDeadlineSeconds in ReplicationController is not Supported';
    errors.push(forbiddenField(`${path}.spec.activeDeadlineSeconds`, detail));
  }
  return errors;
}

function statusErrors({ status }: ReplicationController): readonly FieldError[] {
  const { replicas, fullyLabeledReplicas = 0, readyReplicas = 0, availableReplicas = 0, observedGeneration } = status;
  const counts = { fullyLabeledReplicas, readyReplicas, availableReplicas };
  return [
    ...negativeErrors({
      'status.replicas': replicas,
      'status.fullyLabeledReplicas': fullyLabeledReplicas,
      'status.readyReplicas': readyReplicas,
      'status.availableReplicas': availableReplicas,
      'status.observedGeneration': observedGeneration,
    }),
    ...Object.entries(counts)
      .filter(([, count]) => count > replicas)
      .map(([field, count]) => invalidValue(`status.${field}`, count, 'cannot be greater than status.replicas')),
    ...(availableReplicas > readyReplicas
      ? [invalidValue('status.availableReplicas', availableReplicas, 'cannot be greater than readyReplicas')]
      : []),
  ];
}
