// DaemonSets: one Pod on every node.
import { labelSelector, objectSchema } from '../../../metadata.ts';
import type { Infer } from '../../../schema/infer.ts';
import { always, int32, int64, intOrString, oneOf, optional, pointer, struct } from '../../../schema/schema.ts';
import { podTemplateSpec } from '../../core/pod/spec.ts';
import { workloadConditions } from '../conditions.ts';

const apps = 'io.k8s.api.apps.v1';

const rollingUpdateDaemonSet = struct(`${apps}.RollingUpdateDaemonSet`, 'How fast Pods are replaced.', {
  maxUnavailable: pointer(1, intOrString, 'How many Pods may be missing: a number or a percentage.'),
  maxSurge: pointer(2, intOrString, 'How many nodes may run two Pods: a number or a percentage.'),
});

const daemonSetUpdateStrategy = struct(`${apps}.DaemonSetUpdateStrategy`, 'How Pods are replaced.', {
  type: optional(1, oneOf('RollingUpdate', 'OnDelete'), 'RollingUpdate or OnDelete.'),
  rollingUpdate: pointer(2, rollingUpdateDaemonSet, 'How fast, for RollingUpdate.'),
});

const daemonSetSpec = struct(`${apps}.DaemonSetSpec`, 'Which Pods should run.', {
  selector: pointer(1, labelSelector, 'Labels of the Pods. Cannot be changed.', { required: true }),
  template: always(2, podTemplateSpec, 'What the Pods look like.', { required: true }),
  updateStrategy: always(3, daemonSetUpdateStrategy, 'How Pods are replaced.'),
  minReadySeconds: optional(4, int32, 'How long a Pod must be ready to count as available.'),
  revisionHistoryLimit: pointer(6, int32, 'How many old revisions are kept.'),
});

const daemonSetStatus = struct(`${apps}.DaemonSetStatus`, 'Which Pods run.', {
  currentNumberScheduled: always(1, int32, 'Nodes that run a Pod and should.', { required: true }),
  numberMisscheduled: always(2, int32, 'Nodes that run a Pod and should not.', { required: true }),
  desiredNumberScheduled: always(3, int32, 'Nodes that should run a Pod.', { required: true }),
  numberReady: always(4, int32, 'Nodes whose Pod is ready.', { required: true }),
  observedGeneration: optional(5, int64, 'The generation this status reflects.'),
  updatedNumberScheduled: optional(6, int32, 'Nodes whose Pod is up to date.'),
  numberAvailable: optional(7, int32, 'Nodes whose Pod is available.'),
  numberUnavailable: optional(8, int32, 'Nodes whose Pod is missing.'),
  collisionCount: pointer(9, int32, 'Collisions of hashes so far.'),
  conditions: workloadConditions(10, 'DaemonSet'),
});

/** Keeps one Pod running on every node that fits. */
export const daemonSet = objectSchema(`${apps}.DaemonSet`, 'Keeps one Pod running on every node that fits.', {
  spec: always(2, daemonSetSpec, 'Which Pods should run.'),
  status: always(3, daemonSetStatus, 'Which Pods run.'),
});

export type DaemonSet = Infer<typeof daemonSet>;
