// PersistentVolumeClaims embedded in Pods and StatefulSets.
import { labelSelector, objectMeta, objectSchema } from '../../../metadata.ts';
import type { Infer } from '../../../schema/infer.ts';
import {
  always,
  list,
  listMap,
  map,
  optional,
  pointer,
  quantity,
  string,
  struct,
  time,
} from '../../../schema/schema.ts';
import { typedLocalObjectReference, typedObjectReference } from '../references.ts';

const core = 'io.k8s.api.core.v1';

const volumeResourceRequirements = struct(
  `${core}.VolumeResourceRequirements`,
  'How much storage is requested and allowed.',
  {
    limits: optional(1, map(quantity), 'Maximum.'),
    requests: optional(2, map(quantity), 'Minimum.'),
  },
);

const persistentVolumeClaimSpec = struct(`${core}.PersistentVolumeClaimSpec`, 'The requested volume.', {
  accessModes: optional(1, list(string), 'How the volume is to be mounted.'),
  selector: pointer(4, labelSelector, 'Volumes to choose from.'),
  resources: always(2, volumeResourceRequirements, 'Size of the volume.'),
  volumeName: optional(3, string, 'The volume that is bound.'),
  storageClassName: pointer(5, string, 'Class of the storage.'),
  volumeMode: pointer(6, string, 'Filesystem or Block.'),
  dataSource: pointer(7, typedLocalObjectReference, 'Source of the content of the volume.'),
  dataSourceRef: pointer(8, typedObjectReference, 'Source of the content of the volume, of any kind.'),
  volumeAttributesClassName: pointer(9, string, 'Class of mutable attributes.'),
});

export const persistentVolumeClaimTemplate = struct(
  `${core}.PersistentVolumeClaimTemplate`,
  'Template of a claim that is created for each Pod.',
  {
    metadata: always(1, objectMeta, 'Labels and annotations of the claim.'),
    spec: always(2, persistentVolumeClaimSpec, 'The requested volume.', { required: true }),
  },
);

const persistentVolumeClaimCondition = struct(`${core}.PersistentVolumeClaimCondition`, 'A condition of a claim.', {
  type: always(1, string, 'Type of the condition.', { required: true }),
  status: always(2, string, 'True, False or Unknown.', { required: true }),
  lastProbeTime: always(3, time, 'When it was last checked.'),
  lastTransitionTime: always(4, time, 'When the status last changed.'),
  reason: optional(5, string, 'Reason, as one CamelCase word.'),
  message: optional(6, string, 'Human-readable message.'),
});

const modifyVolumeStatus = struct(`${core}.ModifyVolumeStatus`, 'Progress of a change of attributes.', {
  targetVolumeAttributesClassName: optional(1, string, 'The class being applied.'),
  status: always(2, string, 'State of the change.', { required: true }),
});

const persistentVolumeClaimStatus = struct(`${core}.PersistentVolumeClaimStatus`, 'The observed state of a claim.', {
  phase: optional(1, string, 'Pending, Bound or Lost.'),
  accessModes: optional(2, list(string), 'How the volume can be mounted.'),
  capacity: optional(3, map(quantity), 'Size of the volume.'),
  conditions: optional(
    4,
    listMap(persistentVolumeClaimCondition, ['type'], { mergeKey: 'type' }),
    'State of the claim.',
  ),
  allocatedResources: optional(5, map(quantity), 'Allocated size.'),
  allocatedResourceStatuses: optional(7, map(string), 'Progress of a resize.'),
  currentVolumeAttributesClassName: pointer(8, string, 'The current class.'),
  modifyVolumeStatus: pointer(9, modifyVolumeStatus, 'Progress of a change of attributes.'),
});

export const persistentVolumeClaim = objectSchema(`${core}.PersistentVolumeClaim`, 'A request for storage.', {
  spec: always(2, persistentVolumeClaimSpec, 'The requested volume.'),
  status: always(3, persistentVolumeClaimStatus, 'The observed state.'),
});

export type PersistentVolumeClaim = Infer<typeof persistentVolumeClaim>;
