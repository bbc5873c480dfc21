// The status of a Deployment: counters, and the conditions that `kubectl rollout status` reads.
import type { Deployment } from '../../../api/kinds/apps/deployment/schema.ts';
import type { ReplicaSet } from '../../../api/kinds/apps/replicaset/kind.ts';
import { timestamp } from '../../../api/timestamp.ts';
import { conditionOf, withCondition, withoutCondition } from '../conditions.ts';
import type { Sets } from './sets.ts';
import { availableIn, desiredReplicas, limitsOf, total } from './sets.ts';

type Status = Deployment['status'];
type Condition = NonNullable<Status['conditions']>[number];

/** A kubelet or a user never sets a deadline of this length: it stands for none. */
const noDeadline = 2147483647;

export const hasDeadline = ({ spec: { progressDeadlineSeconds = noDeadline } }: Deployment): boolean =>
  progressDeadlineSeconds !== noDeadline;

/** A condition with the times of now. */
export function condition(type: string, status: string, reason: string, message: string, now: number): Condition {
  const time = timestamp(now);
  return { type, status, lastUpdateTime: time, lastTransitionTime: time, reason, message };
}

/** The counters and the condition Available. */
export function countedStatus(deployment: Deployment, { current, old }: Sets, now: number): Status {
  const sets = current === undefined ? old : [...old, current];
  const available = total(sets, availableIn);
  const replicas = total(sets, ({ status }) => status.replicas);
  const { collisionCount, conditions } = deployment.status;
  const isAvailable = available >= desiredReplicas(deployment) - limitsOf(deployment).maxUnavailable;
  const availability = isAvailable
    ? condition('Available', 'True', 'MinimumReplicasAvailable', 'Deployment has minimum availability.', now)
    : condition(
        'Available',
        'False',
        'MinimumReplicasUnavailable',
        'Deployment does not have minimum availability.',
        now,
      );
  const { generation } = deployment.metadata;
  return {
    ...(generation === undefined ? {} : { observedGeneration: generation }),
    ...count('replicas', replicas),
    ...count('updatedReplicas', current?.status.replicas ?? 0),
    ...count(
      'readyReplicas',
      total(sets, ({ status }) => status.readyReplicas ?? 0),
    ),
    ...count('availableReplicas', available),
    ...count('unavailableReplicas', Math.max(0, replicas - available)),
    terminatingReplicas: total(sets, ({ status }) => status.terminatingReplicas ?? 0),
    conditions: withCondition(conditions, availability),
    ...(collisionCount === undefined ? {} : { collisionCount }),
  };
}

const count = (name: keyof Status, value: number): Status => (value === 0 ? {} : { [name]: value });

/** Whether all Pods have the current template and are available. */
export function isComplete({ metadata, spec }: Deployment, status: Status): boolean {
  const desired = spec.replicas ?? 1;
  const { updatedReplicas = 0, replicas = 0, availableReplicas = 0, observedGeneration = 0 } = status;
  return (
    updatedReplicas === desired &&
    replicas === desired &&
    availableReplicas === desired &&
    observedGeneration >= (metadata.generation ?? 0)
  );
}

/** Reasons of the condition Progressing. */
export const reasons = {
  available: 'NewReplicaSetAvailable',
  created: 'NewReplicaSetCreated',
  createError: 'ReplicaSetCreateError',
  found: 'FoundNewReplicaSet',
  paused: 'DeploymentPaused',
  resumed: 'DeploymentResumed',
  timedOut: 'ProgressDeadlineExceeded',
  updated: 'ReplicaSetUpdated',
} as const;

/** The status of a rollout: the counters, and the conditions Progressing and ReplicaFailure. */
export function rolloutStatus(deployment: Deployment, sets: Sets, now: number): Status {
  const counted = countedStatus(deployment, sets, now);
  let conditions: readonly Condition[] = counted.conditions ?? [];
  const before = conditionOf(conditions, 'Progressing');
  if (!hasDeadline(deployment)) conditions = withoutCondition(conditions, 'Progressing');
  const wasComplete = counted.replicas === counted.updatedReplicas && before?.reason === reasons.available;
  if (hasDeadline(deployment) && !wasComplete) {
    const next = progress(deployment, { counted, before, name: sets.current?.metadata.name, now });
    if (next !== undefined) conditions = next(conditions);
  }
  const failure = failureOf(sets);
  conditions = withoutCondition(conditions, 'ReplicaFailure');
  if (failure !== undefined) conditions = [...conditions, keptTimes(failure, counted.conditions, now)];
  return { ...counted, conditions };
}

interface Progress {
  readonly counted: Status;
  readonly before: Condition | undefined;
  readonly name: string | undefined;
  readonly now: number;
}

/** How the condition Progressing changes; undefined: not at all. */
function progress(
  deployment: Deployment,
  { counted, before, name, now }: Progress,
): ((conditions: readonly Condition[]) => readonly Condition[]) | undefined {
  const subject = name === undefined ? `Deployment "${deployment.metadata.name}"` : `ReplicaSet "${name}"`;
  const make = (status: string, reason: string, message: string): Condition =>
    condition('Progressing', status, reason, `${subject} ${message}`, now);
  if (isComplete(deployment, counted)) {
    const next = make('True', reasons.available, 'has successfully progressed.');
    return (conditions) => withCondition(conditions, next);
  }
  if (hasProgressed(deployment.status, counted)) {
    const next = make('True', reasons.updated, 'is progressing.');
    const kept = before?.status === 'True' ? { ...next, lastTransitionTime: before.lastTransitionTime } : next;
    // Progress is a new update time even if nothing else changes: the deadline counts from it.
    return (conditions) => [...withoutCondition(conditions, 'Progressing'), kept];
  }
  if (!isTimedOut(deployment, before, now)) return undefined;
  const next = make('False', reasons.timedOut, 'has timed out progressing.');
  return (conditions) => withCondition(conditions, next);
}

function hasProgressed(before: Status, after: Status): boolean {
  const oldPods = ({ replicas = 0, updatedReplicas = 0 }: Status): number => replicas - updatedReplicas;
  return (
    (after.updatedReplicas ?? 0) > (before.updatedReplicas ?? 0) ||
    oldPods(after) < oldPods(before) ||
    (after.readyReplicas ?? 0) > (before.readyReplicas ?? 0) ||
    (after.availableReplicas ?? 0) > (before.availableReplicas ?? 0)
  );
}

function isTimedOut(deployment: Deployment, before: Condition | undefined, now: number): boolean {
  if (before === undefined || before.reason === reasons.available) return false;
  return before.reason === reasons.timedOut || untilDeadlineMs(deployment, before, now) <= 0;
}

function untilDeadlineMs({ spec }: Deployment, { lastUpdateTime }: Condition, now: number): number {
  return Date.parse(String(lastUpdateTime)) + (spec.progressDeadlineSeconds ?? noDeadline) * 1000 - now;
}

/** When the deadline of a rollout passes if nothing changes; undefined: it has none. */
export function untilTimeoutMs(deployment: Deployment, status: Status, now: number): number | undefined {
  const before = conditionOf(status.conditions, 'Progressing');
  if (!hasDeadline(deployment) || before === undefined || deployment.spec.paused === true) return undefined;
  if (before.reason === reasons.available || before.reason === reasons.timedOut) return undefined;
  if (isComplete(deployment, status)) return undefined;
  // A whole second later, since timestamps have no fractions.
  return Math.max(0, untilDeadlineMs(deployment, before, now)) + 1000;
}

/** The failure of a ReplicaSet, preferably of the new one, as a condition of the Deployment. */
function failureOf({ current, old }: Sets): NonNullable<ReplicaSet['status']['conditions']>[number] | undefined {
  for (const set of [current, ...old]) {
    const failure = conditionOf(set?.status.conditions, 'ReplicaFailure');
    if (failure !== undefined && (set === current || current === undefined || (set?.spec.replicas ?? 0) > 0))
      return failure;
  }
  return undefined;
}

function keptTimes(
  { type, status, reason = '', message = '', lastTransitionTime }: NonNullable<ReturnType<typeof failureOf>>,
  before: readonly Condition[] | undefined,
  now: number,
): Condition {
  const old = conditionOf(before, type);
  const made = condition(type, status, reason, message, now);
  return old?.status === status && old.reason === reason && old.message === message
    ? old
    : { ...made, lastTransitionTime: lastTransitionTime ?? made.lastTransitionTime };
}

/** The conditions after the Deployment was paused or resumed: no rollout times out while it is paused. */
export function withPause(deployment: Deployment, now: number): Status {
  const { status, spec } = deployment;
  if (!hasDeadline(deployment)) return status;
  const before = conditionOf(status.conditions, 'Progressing');
  if (before?.reason === reasons.timedOut) return status;
  const isMarked = before?.reason === reasons.paused;
  if (spec.paused === true && !isMarked) {
    const next = condition('Progressing', 'Unknown', reasons.paused, 'Deployment is paused', now);
    return { ...status, conditions: withCondition(status.conditions, next) };
  }
  if (spec.paused !== true && isMarked) {
    const next = condition('Progressing', 'Unknown', reasons.resumed, 'Deployment is resumed', now);
    return { ...status, conditions: withCondition(status.conditions, next) };
  }
  return status;
}
