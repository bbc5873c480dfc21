// ReplicaSets: a number of equal Pods.
import { labelSelector, objectSchema } from '../../../metadata.ts';
import type { Infer } from '../../../schema/infer.ts';
import { always, int32, int64, listMap, optional, pointer, string, struct, time } from '../../../schema/schema.ts';
import { podTemplateSpec } from '../../core/pod/spec.ts';

const apps = 'io.k8s.api.apps.v1';

const replicaSetSpec = struct(`${apps}.ReplicaSetSpec`, 'Which Pods should run.', {
  replicas: pointer(1, int32, 'How many Pods.'),
  minReadySeconds: optional(4, int32, 'How long a Pod must be ready to count as available.'),
  selector: pointer(2, labelSelector, 'Labels of the Pods. Cannot be changed.', { required: true }),
  template: always(3, podTemplateSpec, 'What the Pods look like.'),
});

const replicaSetCondition = struct(`${apps}.ReplicaSetCondition`, 'One aspect of a ReplicaSet’s state.', {
  type: always(1, string, 'Which aspect.', { required: true }),
  status: always(2, string, 'True, False or Unknown.', { required: true }),
  lastTransitionTime: always(3, time, 'When the status last changed.'),
  reason: optional(4, string, 'Why, in one word.'),
  message: optional(5, string, 'Why, for a person.'),
});

const replicaSetStatus = struct(`${apps}.ReplicaSetStatus`, 'Which Pods run.', {
  replicas: always(1, int32, 'Pods in all.', { required: true }),
  fullyLabeledReplicas: optional(2, int32, 'Pods with all labels of the template.'),
  readyReplicas: optional(4, int32, 'Pods that are ready.'),
  availableReplicas: optional(5, int32, 'Pods that are available.'),
  terminatingReplicas: pointer(7, int32, 'Pods that are stopping.'),
  observedGeneration: optional(3, int64, 'The generation this status reflects.'),
  conditions: optional(6, listMap(replicaSetCondition, ['type'], { mergeKey: 'type' }), 'State of the ReplicaSet.'),
});

/** Keeps a number of equal Pods running. */
export const replicaSet = objectSchema(`${apps}.ReplicaSet`, 'Keeps a number of equal Pods running.', {
  spec: always(2, replicaSetSpec, 'Which Pods should run.'),
  status: always(3, replicaSetStatus, 'Which Pods run.'),
});

export type ReplicaSet = Infer<typeof replicaSet>;
