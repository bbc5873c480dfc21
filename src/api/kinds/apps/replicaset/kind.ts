import { ageColumn, column, nameColumn } from '../../../columns.ts';
import type { FieldError } from '../../../field-errors.ts';
import { defineKind } from '../../../kind.ts';
import { subdomainName } from '../../../names.ts';
import {
  containerColumns,
  negativeErrors,
  selectorChangeErrors,
  selectorColumn,
  templateDefaults,
  workloadErrors,
} from '../workload.ts';
import type { ReplicaSet } from './schema.ts';
import { replicaSet } from './schema.ts';

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
  generation: 'spec',
  columns: [
    nameColumn,
    column('Desired', 'How many Pods there should be.', ({ spec }) => spec.replicas ?? 0, { type: 'integer' }),
    column('Current', 'How many Pods there are.', ({ status }) => status.replicas, { type: 'integer' }),
    column('Ready', 'How many Pods are ready.', ({ status }) => status.readyReplicas ?? 0, { type: 'integer' }),
    ageColumn,
    ...containerColumns,
    selectorColumn,
  ],
  applyDefaults: ({ spec, ...rest }) => ({
    ...rest,
    spec: { ...spec, replicas: spec.replicas ?? 1, template: templateDefaults(spec.template) },
  }),
  prepareForCreate: (object) => ({ ...object, status: { replicas: 0 } }),
  nameErrors: subdomainName,
  validateCreate: specErrors,
  validateUpdate: (object, old) => [...specErrors(object), ...selectorChangeErrors(object, old)],
});

function specErrors(object: ReplicaSet): readonly FieldError[] {
  const { replicas, minReadySeconds } = object.spec;
  return [
    ...negativeErrors({ 'spec.replicas': replicas, 'spec.minReadySeconds': minReadySeconds }),
    // Kubernetes says "deployment" here too.
    ...workloadErrors(object, { selectorOf: 'deployment', templateOf: 'ReplicaSet' }),
  ];
}
