import { labelSelector, objectSchema } from '../../../metadata.ts';
import type { Infer } from '../../../schema/infer.ts';
import {
  always,
  int32,
  int64,
  intOrString,
  list,
  oneOf,
  optional,
  pointer,
  string,
  struct,
} from '../../../schema/schema.ts';
import { persistentVolumeClaim } from '../../core/pod/claim.ts';
import { podTemplateSpec } from '../../core/pod/spec.ts';
import { workloadConditions } from '../workload.ts';

const apps = 'io.k8s.api.apps.v1';

const rollingUpdateStatefulSetStrategy = struct(`${apps}.RollingUpdateStatefulSetStrategy`, 'How Pods are replaced.', {
  partition: pointer(1, int32, 'Pods below this ordinal keep the old template.'),
  maxUnavailable: pointer(2, intOrString, 'Maximum number or percentage of Pods that can be unavailable.'),
});

const statefulSetUpdateStrategy = struct(`${apps}.StatefulSetUpdateStrategy`, 'How Pods are replaced.', {
  type: optional(1, oneOf('RollingUpdate', 'OnDelete'), 'RollingUpdate or OnDelete.'),
  rollingUpdate: pointer(2, rollingUpdateStatefulSetStrategy, 'Settings for RollingUpdate.'),
});

const statefulSetPersistentVolumeClaimRetentionPolicy = struct(
  `${apps}.StatefulSetPersistentVolumeClaimRetentionPolicy`,
  'How claims are retained.',
  {
    whenDeleted: optional(1, string, 'When the StatefulSet is deleted: Retain or Delete.'),
    whenScaled: optional(2, string, 'When it is scaled down: Retain or Delete.'),
  },
);

const statefulSetOrdinals = struct(`${apps}.StatefulSetOrdinals`, 'How Pods are numbered.', {
  start: always(1, int32, 'The first number.'),
});

const statefulSetSpec = struct(`${apps}.StatefulSetSpec`, 'The desired Pods.', {
  replicas: pointer(1, int32, 'Desired number of Pods.'),
  selector: pointer(2, labelSelector, 'Labels of the Pods. Cannot be changed.', { required: true }),
  template: always(3, podTemplateSpec, 'The template of the Pods.', { required: true }),
  volumeClaimTemplates: optional(4, list(persistentVolumeClaim), 'Claims that are created for each Pod.'),
  serviceName: always(5, string, 'The headless Service that names the Pods.'),
  podManagementPolicy: optional(6, oneOf('OrderedReady', 'Parallel'), 'OrderedReady or Parallel.'),
  updateStrategy: always(7, statefulSetUpdateStrategy, 'How Pods are replaced.'),
  revisionHistoryLimit: pointer(8, int32, 'Number of old revisions to keep.'),
  minReadySeconds: optional(9, int32, 'Seconds a Pod must be ready to be available.'),
  persistentVolumeClaimRetentionPolicy: pointer(
    10,
    statefulSetPersistentVolumeClaimRetentionPolicy,
    'How claims are retained.',
  ),
  ordinals: pointer(11, statefulSetOrdinals, 'How Pods are numbered.'),
});

const statefulSetStatus = struct(`${apps}.StatefulSetStatus`, 'The observed Pods.', {
  observedGeneration: optional(1, int64, 'The generation this status reflects.'),
  replicas: always(2, int32, 'Number of Pods.', { required: true }),
  readyReplicas: optional(3, int32, 'Pods that are ready.'),
  currentReplicas: optional(4, int32, 'Pods of the current revision.'),
  updatedReplicas: optional(5, int32, 'Pods of the updated revision.'),
  currentRevision: optional(6, string, 'The revision that is replaced.'),
  updateRevision: optional(7, string, 'The revision that replaces it.'),
  collisionCount: pointer(9, int32, 'Number of hash collisions.'),
  conditions: workloadConditions(10, 'StatefulSet'),
  availableReplicas: always(11, int32, 'Pods that are available.'),
});

/** Keeps Pods running that each have a name and storage of their own. */
export const statefulSet = objectSchema(
  `${apps}.StatefulSet`,
  'Keeps Pods running that each have a name and storage of their own.',
  {
    spec: always(2, statefulSetSpec, 'The desired Pods.'),
    status: always(3, statefulSetStatus, 'The observed Pods.'),
  },
);

export type StatefulSet = Infer<typeof statefulSet>;
