import { labelSelector, objectSchema } from '../../../metadata.ts';
import type { Infer } from '../../../schema/infer.ts';
import {
  always,
  boolean,
  int32,
  int64,
  intOrString,
  listMap,
  oneOf,
  optional,
  pointer,
  string,
  struct,
  time,
} from '../../../schema/schema.ts';
import { podTemplateSpec } from '../../core/pod/spec.ts';

const apps = 'io.k8s.api.apps.v1';

const rollingUpdateDeployment = struct(`${apps}.RollingUpdateDeployment`, 'Limits of a rolling update.', {
  maxUnavailable: pointer(1, intOrString, 'Maximum number or percentage of Pods that can be unavailable.'),
  maxSurge: pointer(2, intOrString, 'Maximum number or percentage of Pods above the desired number.'),
});

const deploymentStrategy = struct(
  `${apps}.DeploymentStrategy`,
  'How Pods are replaced.',
  {
    type: optional(1, oneOf('Recreate', 'RollingUpdate'), 'Recreate or RollingUpdate.'),
    rollingUpdate: pointer(2, rollingUpdateDeployment, 'Limits, for RollingUpdate.'),
  },
  { retainKeys: true },
);

const deploymentSpec = struct(`${apps}.DeploymentSpec`, 'The desired Pods.', {
  replicas: pointer(1, int32, 'Desired number of Pods.'),
  selector: pointer(2, labelSelector, 'Labels of the Pods. Cannot be changed.', { required: true }),
  template: always(3, podTemplateSpec, 'The template of the Pods.', { required: true }),
  strategy: always(4, deploymentStrategy, 'How Pods are replaced.'),
  minReadySeconds: optional(5, int32, 'Seconds a Pod must be ready to be available.'),
  revisionHistoryLimit: pointer(6, int32, 'Number of old ReplicaSets to keep.'),
  paused: optional(7, boolean, 'Whether the rollout is paused.'),
  progressDeadlineSeconds: pointer(9, int32, 'Seconds without progress after which the rollout has failed.'),
});

const deploymentCondition = struct(`${apps}.DeploymentCondition`, 'A condition of a Deployment.', {
  type: always(1, string, 'Type of the condition.', { required: true }),
  status: always(2, string, 'True, False or Unknown.', { required: true }),
  lastUpdateTime: always(6, time, 'When it was last reported.'),
  lastTransitionTime: always(7, time, 'When the status last changed.'),
  reason: optional(4, string, 'Reason, as one CamelCase word.'),
  message: optional(5, string, 'Human-readable message.'),
});

const deploymentStatus = struct(`${apps}.DeploymentStatus`, 'The observed Pods.', {
  observedGeneration: optional(1, int64, 'The generation this status reflects.'),
  replicas: optional(2, int32, 'Number of Pods.'),
  updatedReplicas: optional(3, int32, 'Pods with the current template.'),
  readyReplicas: optional(7, int32, 'Pods that are ready.'),
  availableReplicas: optional(4, int32, 'Pods that are available.'),
  unavailableReplicas: optional(5, int32, 'Pods that are not available yet.'),
  terminatingReplicas: pointer(9, int32, 'Pods that are terminating.'),
  conditions: optional(6, listMap(deploymentCondition, ['type'], { mergeKey: 'type' }), 'State of the Deployment.'),
  collisionCount: pointer(8, int32, 'Number of hash collisions.'),
});

/** Keeps a number of equal Pods running and replaces them when their template changes. */
export const deployment = objectSchema(
  `${apps}.Deployment`,
  'Keeps a number of equal Pods running and replaces them when their template changes.',
  {
    spec: always(2, deploymentSpec, 'The desired Pods.'),
    status: always(3, deploymentStatus, 'The observed Pods.'),
  },
);

export type Deployment = Infer<typeof deployment>;
