import { isDeepStrictEqual } from 'node:util';
import { ageColumn, nameColumn } from '../../../columns.ts';
import type { FieldError } from '../../../field-errors.ts';
import { forbiddenField, invalidAll, invalidValue, notSupported } from '../../../field-errors.ts';
import { defineKind } from '../../../kind.ts';
import { scaleSubresource } from '../../autoscaling/scale/kind.ts';
import { dnsLabelErrors, labelName } from '../../../names.ts';
import { claimSpecErrors } from '../../core/persistentvolumeclaim/validate.ts';
import type { PodTemplateSpec } from '../../core/pod/schema.ts';
import {
  containerColumns,
  negativeErrors,
  readyColumn,
  templateDefaults,
  workloadErrors,
  workloadSelector,
} from '../workload.ts';
import type { StatefulSet } from './schema.ts';
import { statefulSet } from './schema.ts';

type Spec = StatefulSet['spec'];

export const statefulSetKind = defineKind<StatefulSet>({
  group: 'apps',
  version: 'v1',
  kind: 'StatefulSet',
  plural: 'statefulsets',
  shortNames: ['sts'],
  categories: ['all'],
  namespaced: true,
  schema: statefulSet,
  hasStatus: true,
  subresources: [scaleSubresource],
  scaleSelector: workloadSelector,
  generation: 'spec',
  columns: [nameColumn, readyColumn, ageColumn, ...containerColumns],
  applyDefaults: ({ spec, ...rest }) => ({
    ...rest,
    spec: {
      ...spec,
      replicas: spec.replicas ?? 1,
      template: templateDefaults(spec.template),
      ...(spec.volumeClaimTemplates && { volumeClaimTemplates: spec.volumeClaimTemplates.map(claimDefaults) }),
      podManagementPolicy: spec.podManagementPolicy ?? 'OrderedReady',
      updateStrategy: strategyDefaults(spec.updateStrategy),
      revisionHistoryLimit: spec.revisionHistoryLimit ?? 10,
      persistentVolumeClaimRetentionPolicy: {
        whenDeleted: 'Retain',
        whenScaled: 'Retain',
        ...spec.persistentVolumeClaimRetentionPolicy,
      },
    },
  }),
  prepareForCreate: (object) => ({
    ...withoutMaxUnavailable(object, undefined),
    status: { replicas: 0, availableReplicas: 0 },
  }),
  prepareForUpdate: withoutMaxUnavailable,
  nameErrors: labelName,
  warnings: ({ spec: { revisionHistoryLimit = 0 } }) => (revisionHistoryLimit < 0 ? [keepsAllRevisions] : []),
  validateCreate: (object) => [...specErrors(object, claimErrors(object.spec)), ...serviceNameErrors(object.spec)],
  validateUpdate: (object, old) => [...specErrors(object), ...immutableFieldErrors(object.spec, old.spec)],
});

const keepsAllRevisions =
  'spec.revisionHistoryLimit: a negative value retains all historical revisions; a value >= 0 is recommended';

type Strategy = Spec['updateStrategy'];

function strategyDefaults(given: Strategy): Strategy {
  const { type = 'RollingUpdate' } = given;
  const rollingUpdate = given.rollingUpdate ?? (given.type === undefined ? {} : undefined);
  if (type !== 'RollingUpdate' || rollingUpdate === undefined) return { ...given, type };
  return { type, rollingUpdate: { partition: 0, ...rollingUpdate } };
}

type Claim = NonNullable<Spec['volumeClaimTemplates']>[number];

const claimDefaults = (claim: Claim): Claim => ({
  ...claim,
  kind: 'PersistentVolumeClaim',
  apiVersion: 'v1',
  spec: { ...claim.spec, volumeMode: claim.spec.volumeMode ?? 'Filesystem' },
  status: { ...claim.status, phase: claim.status.phase ?? 'Pending' },
});

/** Kubernetes drops the field unless the gate MaxUnavailableStatefulSet, which is off, was on before. */
function withoutMaxUnavailable(object: StatefulSet, old: StatefulSet | undefined): StatefulSet {
  const { rollingUpdate, ...strategy } = object.spec.updateStrategy;
  const isUsed = old?.spec.updateStrategy.rollingUpdate?.maxUnavailable !== undefined;
  if (rollingUpdate?.maxUnavailable === undefined || isUsed) return object;
  const { maxUnavailable: _dropped, ...kept } = rollingUpdate;
  return { ...object, spec: { ...object.spec, updateStrategy: { ...strategy, rollingUpdate: kept } } };
}

const claimErrors = ({ volumeClaimTemplates = [] }: Spec): readonly FieldError[] =>
  volumeClaimTemplates.flatMap(({ spec }, index) => claimSpecErrors(spec, `spec.volumeClaimTemplates[${index}].spec`));

/** The claims of an existing object are not validated: they cannot be changed. */
function specErrors(object: StatefulSet, ofClaims: readonly FieldError[] = []): readonly FieldError[] {
  const { replicas, minReadySeconds, ordinals, podManagementPolicy: policy = 'OrderedReady' } = object.spec;
  return [
    ...(policy === 'OrderedReady' || policy === 'Parallel'
      ? []
      : [invalidValue('spec.podManagementPolicy', policy, "must be 'OrderedReady' or 'Parallel'")]),
    ...strategyErrors(object.spec.updateStrategy),
    ...retentionErrors(object.spec),
    ...ofClaims,
    ...negativeErrors({
      'spec.replicas': replicas,
      'spec.minReadySeconds': minReadySeconds,
      'spec.ordinals.start': ordinals?.start,
    }),
    ...workloadErrors(withClaims(object), { selectorOf: 'statefulset', templateOf: 'StatefulSet' }),
  ];
}

function strategyErrors(strategy: Strategy): readonly FieldError[] {
  const { type, rollingUpdate } = strategy;
  if (type === 'OnDelete') {
    if (rollingUpdate === undefined) return [];
    return [
      invalidValue(
        'spec.updateStrategy.rollingUpdate',
        rollingUpdate,
        "only allowed for updateStrategy 'RollingUpdate'",
      ),
    ];
  }
  if (type !== 'RollingUpdate') {
    const printed = { Type: type, RollingUpdate: rollingUpdate ?? null };
    return [invalidValue('spec.updateStrategy', printed, "must be 'RollingUpdate' or 'OnDelete'")];
  }
  return negativeErrors({ 'spec.updateStrategy.rollingUpdate.partition': rollingUpdate?.partition });
}

function retentionErrors({ persistentVolumeClaimRetentionPolicy: policy = {} }: Spec): readonly FieldError[] {
  const path = 'spec.persistentVolumeClaimRetentionPolicy';
  return Object.entries(policy)
    .filter(([, word]) => word !== 'Retain' && word !== 'Delete')
    .map(([field, word]) => notSupported(`${path}.${field}`, word, ['Retain', 'Delete']));
}

// Pods get a volume for each claim and their own hostname, so the template is validated with those volumes and without
// hostname and subdomain.
function withClaims(object: StatefulSet): StatefulSet {
  const { hostname: _hostname, subdomain: _subdomain, ...pod } = object.spec.template.spec;
  const claims = (object.spec.volumeClaimTemplates ?? []).map(({ metadata }) => metadata.name ?? '');
  const claimed = new Set(claims);
  const own = (pod.volumes ?? []).filter(({ name }) => !claimed.has(name));
  const volumes = [...claims.map((name) => ({ name, persistentVolumeClaim: { claimName: name } })), ...own];
  const template: PodTemplateSpec = { ...object.spec.template, spec: { ...pod, volumes } };
  return { ...object, spec: { ...object.spec, template } };
}

function serviceNameErrors({ serviceName }: Spec): readonly FieldError[] {
  if (!serviceName) return [];
  return invalidAll('spec.serviceName', serviceName, dnsLabelErrors(serviceName));
}

const immutableFields = ['selector', 'volumeClaimTemplates', 'serviceName', 'podManagementPolicy'] as const;

function immutableFieldErrors(spec: Spec, old: Spec): readonly FieldError[] {
  if (immutableFields.every((field) => isDeepStrictEqual(spec[field], old[field]))) return [];
  return [
    forbiddenField(
      'spec',
      "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', 'updateStrategy', 'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden",
    ),
  ];
}
