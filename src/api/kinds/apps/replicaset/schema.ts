// ReplicaSets: a number of equal Pods.
import { labelSelector, objectSchema } from '../../../metadata.ts';
import type { Infer } from '../../../schema/infer.ts';
import { always, int32, int64, optional, pointer, struct } from '../../../schema/schema.ts';
import { podTemplateSpec } from '../../core/pod/spec.ts';
import { workloadConditions } from '../conditions.ts';

const apps = 'io.k8s.api.apps.v1';

const replicaSetSpec = struct(`${apps}.ReplicaSetSpec`, 'Which Pods should run.', {
  replicas: pointer(1, int32, 'How many Pods.'),
  minReadySeconds: optional(4, int32, 'How long a Pod must be ready to count as available.'),
  selector: pointer(2, labelSelector, 'Labels of the Pods. Cannot be changed.', { required: true }),
  template: always(3, podTemplateSpec, 'What the Pods look like.'),
});

const replicaSetStatus = struct(`${apps}.ReplicaSetStatus`, 'Which Pods run.', {
  replicas: always(1, int32, 'Pods in all.', { required: true }),
  fullyLabeledReplicas: optional(2, int32, 'Pods with all labels of the template.'),
  readyReplicas: optional(4, int32, 'Pods that are ready.'),
  availableReplicas: optional(5, int32, 'Pods that are available.'),
  terminatingReplicas: pointer(7, int32, 'Pods that are stopping.'),
  observedGeneration: optional(3, int64, 'The generation this status reflects.'),
  conditions: workloadConditions(6, 'ReplicaSet'),
});

/** Keeps a number of equal Pods running. */
export const replicaSet = objectSchema(`${apps}.ReplicaSet`, 'Keeps a number of equal Pods running.', {
  spec: always(2, replicaSetSpec, 'Which Pods should run.'),
  status: always(3, replicaSetStatus, 'Which Pods run.'),
});

export type ReplicaSet = Infer<typeof replicaSet>;
