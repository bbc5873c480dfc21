// Deployments: Pods that are replaced step by step when their template changes.
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

const rollingUpdateDeployment = struct(`${apps}.RollingUpdateDeployment`, 'How fast Pods are replaced.', {
  maxUnavailable: pointer(1, intOrString, 'How many Pods may be missing: a number or a percentage.'),
  maxSurge: pointer(2, intOrString, 'How many Pods may be in excess: a number or a percentage.'),
});

const deploymentStrategy = struct(
  `${apps}.DeploymentStrategy`,
  'How Pods are replaced.',
  {
    type: optional(1, oneOf('Recreate', 'RollingUpdate'), 'Recreate or RollingUpdate.'),
    rollingUpdate: pointer(2, rollingUpdateDeployment, 'How fast, for RollingUpdate.'),
  },
  { retainKeys: true },
);

const deploymentSpec = struct(`${apps}.DeploymentSpec`, 'Which Pods should run.', {
  replicas: pointer(1, int32, 'How many Pods.'),
  selector: pointer(2, labelSelector, 'Labels of the Pods. Cannot be changed.', { required: true }),
  template: always(3, podTemplateSpec, 'What the Pods look like.', { required: true }),
  strategy: always(4, deploymentStrategy, 'How Pods are replaced.'),
  minReadySeconds: optional(5, int32, 'How long a Pod must be ready to count as available.'),
  revisionHistoryLimit: pointer(6, int32, 'How many old ReplicaSets are kept.'),
  paused: optional(7, boolean, 'Whether nothing is to be done.'),
  progressDeadlineSeconds: pointer(9, int32, 'After how long without progress it counts as failed.'),
});

const deploymentCondition = struct(`${apps}.DeploymentCondition`, 'One aspect of a Deployment’s state.', {
  type: always(1, string, 'Which aspect.', { required: true }),
  status: always(2, string, 'True, False or Unknown.', { required: true }),
  lastUpdateTime: always(6, time, 'When it was last reported.'),
  lastTransitionTime: always(7, time, 'When the status last changed.'),
  reason: optional(4, string, 'Why, in one word.'),
  message: optional(5, string, 'Why, for a person.'),
});

const deploymentStatus = struct(`${apps}.DeploymentStatus`, 'Which Pods run.', {
  observedGeneration: optional(1, int64, 'The generation this status reflects.'),
  replicas: optional(2, int32, 'Pods in all.'),
  updatedReplicas: optional(3, int32, 'Pods of the current template.'),
  readyReplicas: optional(7, int32, 'Pods that are ready.'),
  availableReplicas: optional(4, int32, 'Pods that are available.'),
  unavailableReplicas: optional(5, int32, 'Pods that are missing.'),
  terminatingReplicas: pointer(9, int32, 'Pods that are stopping.'),
  conditions: optional(6, listMap(deploymentCondition, ['type'], { mergeKey: 'type' }), 'State of the Deployment.'),
  collisionCount: pointer(8, int32, 'Collisions of hashes so far.'),
});

/** Keeps a number of equal Pods running and replaces them when their template changes. */
export const deployment = objectSchema(
  `${apps}.Deployment`,
  'Keeps a number of equal Pods running and replaces them when their template changes.',
  {
    spec: always(2, deploymentSpec, 'Which Pods should run.'),
    status: always(3, deploymentStatus, 'Which Pods run.'),
  },
);

export type Deployment = Infer<typeof deployment>;
