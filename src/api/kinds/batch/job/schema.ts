import { labelSelector, objectSchema } from '../../../metadata.ts';
import type { Infer } from '../../../schema/infer.ts';
import {
  always,
  boolean,
  int32,
  int64,
  list,
  mergeList,
  oneOf,
  optional,
  pointer,
  setOf,
  string,
  struct,
  time,
} from '../../../schema/schema.ts';
import { podTemplateSpec } from '../../core/pod/spec.ts';

const batch = 'io.k8s.api.batch.v1';

const onExitCodes = struct(`${batch}.PodFailurePolicyOnExitCodesRequirement`, 'Exit codes of a container.', {
  containerName: pointer(1, string, 'The container; default: all.'),
  operator: always(2, oneOf('In', 'NotIn'), 'In or NotIn.', { required: true }),
  values: always(3, setOf(int32), 'The exit codes, in order.', { required: true }),
});

const onPodConditions = struct(`${batch}.PodFailurePolicyOnPodConditionsPattern`, 'A condition of the Pod.', {
  type: always(1, string, 'Type of the condition.', { required: true }),
  status: always(2, string, 'Status of the condition; default: True.'),
});

const podFailurePolicyRule = struct(`${batch}.PodFailurePolicyRule`, 'What a failure of a Pod means for the Job.', {
  action: always(1, oneOf('Count', 'FailIndex', 'FailJob', 'Ignore'), 'FailJob, FailIndex, Ignore or Count.', {
    required: true,
  }),
  onExitCodes: pointer(2, onExitCodes, 'Applies to these exit codes.'),
  onPodConditions: optional(3, list(onPodConditions), 'Applies to Pods with one of these conditions.'),
});

const podFailurePolicy = struct(`${batch}.PodFailurePolicy`, 'What failures of Pods mean for the Job.', {
  rules: always(1, list(podFailurePolicyRule), 'The rules; the first that applies decides.', { required: true }),
});

const successPolicyRule = struct(`${batch}.SuccessPolicyRule`, 'When the Job has succeeded.', {
  succeededIndexes: pointer(1, string, 'Indexes that must succeed, such as 0,2-4.'),
  succeededCount: pointer(2, int32, 'How many of them must succeed; default: all.'),
});

const successPolicy = struct(`${batch}.SuccessPolicy`, 'When the Job has succeeded.', {
  rules: always(1, list(successPolicyRule), 'The rules; one must be met.', { required: true }),
});

const jobSpec = struct(`${batch}.JobSpec`, 'The desired Pods.', {
  parallelism: pointer(1, int32, 'Maximum number of Pods at a time.'),
  completions: pointer(2, int32, 'Number of Pods that must succeed.'),
  activeDeadlineSeconds: pointer(3, int64, 'Seconds after which the Job fails.'),
  podFailurePolicy: pointer(11, podFailurePolicy, 'What failures of Pods mean for the Job. Cannot be changed.'),
  successPolicy: pointer(16, successPolicy, 'When an indexed Job has succeeded. Cannot be changed.'),
  backoffLimit: pointer(7, int32, 'Number of retries before the Job fails.'),
  backoffLimitPerIndex: pointer(12, int32, 'Number of retries of each index. Cannot be changed.'),
  maxFailedIndexes: pointer(13, int32, 'Number of failed indexes after which the Job fails.'),
  selector: pointer(4, labelSelector, 'Labels of the Pods; generated unless manualSelector is true.'),
  manualSelector: pointer(5, boolean, 'Whether the selector is given and not generated.'),
  template: always(6, podTemplateSpec, 'The template of the Pods. Cannot be changed.', { required: true }),
  ttlSecondsAfterFinished: pointer(8, int32, 'Seconds after which a finished Job is deleted.'),
  completionMode: pointer(9, oneOf('Indexed', 'NonIndexed'), 'NonIndexed (the default) or Indexed. Cannot be changed.'),
  suspend: pointer(10, boolean, 'Whether the Job has no Pods for now.'),
  podReplacementPolicy: pointer(
    14,
    oneOf('Failed', 'TerminatingOrFailed'),
    'When a Pod is replaced: TerminatingOrFailed or Failed.',
  ),
  managedBy: pointer(15, string, 'The controller of the Job, if it is another one. Cannot be changed.'),
});

const jobCondition = struct(`${batch}.JobCondition`, 'One aspect of a Job’s state.', {
  type: always(1, string, 'Type of the condition.', { required: true }),
  status: always(2, string, 'True, False or Unknown.', { required: true }),
  lastProbeTime: always(3, time, 'When it was last checked.'),
  lastTransitionTime: always(4, time, 'When the status last changed.'),
  reason: optional(5, string, 'Reason, as one CamelCase word.'),
  message: optional(6, string, 'Human-readable message.'),
});

const uncountedTerminatedPods = struct(`${batch}.UncountedTerminatedPods`, 'Pods that ended and are not counted yet.', {
  succeeded: optional(1, setOf(string), 'UIDs of Pods that succeeded.'),
  failed: optional(2, setOf(string), 'UIDs of Pods that failed.'),
});

const jobStatus = struct(`${batch}.JobStatus`, 'The observed Pods.', {
  conditions: optional(1, mergeList(jobCondition, 'type'), 'State of the Job.'),
  startTime: pointer(2, time, 'When the Job was started.'),
  completionTime: pointer(3, time, 'When the Job succeeded.'),
  active: optional(4, int32, 'Pods that are pending or running.'),
  succeeded: optional(5, int32, 'Pods that succeeded.'),
  failed: optional(6, int32, 'Pods that failed.'),
  terminating: pointer(11, int32, 'Pods that are terminating.'),
  completedIndexes: optional(7, string, 'Indexes that succeeded, such as 0,2-4.'),
  failedIndexes: pointer(10, string, 'Indexes that failed.'),
  uncountedTerminatedPods: pointer(8, uncountedTerminatedPods, 'Pods that ended and are not counted yet.'),
  ready: pointer(9, int32, 'Pods that are ready.'),
});

export const job = objectSchema(`${batch}.Job`, 'Runs Pods until a number of them have succeeded.', {
  spec: always(2, jobSpec, 'The desired Pods.'),
  status: always(3, jobStatus, 'The observed Pods.'),
});

/** The Job that a CronJob creates. */
export const jobTemplateSpec = struct(`${batch}.JobTemplateSpec`, 'A template of Jobs.', {
  metadata: always(1, job.fields.metadata.schema, 'Labels and annotations of the Jobs.'),
  spec: always(2, jobSpec, 'The desired state of each Job.'),
});

export type Job = Infer<typeof job>;
export type JobSpec = Infer<typeof jobSpec>;
export type PodFailurePolicyRule = Infer<typeof podFailurePolicyRule>;
export type SuccessPolicyRule = Infer<typeof successPolicyRule>;
