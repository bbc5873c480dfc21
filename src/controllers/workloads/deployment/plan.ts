// The next step of a Deployment: one change of its ReplicaSets, its status and its revision.
import { isDeepStrictEqual } from 'node:util';

import type { Deployment } from '../../../api/kinds/apps/deployment/schema.ts';
import type { ReplicaSet } from '../../../api/kinds/apps/replicaset/kind.ts';
import type { Pod } from '../../../api/kinds/core/pod/schema.ts';
import { conditionOf, withCondition } from '../conditions.ts';
import { controllerOf } from '../owner.ts';
import { isFinished } from '../pods.ts';
import type { Sizes } from './scale.ts';
import { isScaled, rollingStep, scaleStep, shrinkAll, sizeOfNew } from './scale.ts';
import type { Sets } from './sets.ts';
import {
  annotated,
  desiredReplicas,
  hasSizeAnnotations,
  maxRevision,
  newSet,
  resized,
  revisionAnnotation,
  revisionOf,
  setsOf,
  sizeOf,
  total,
} from './sets.ts';
import {
  condition,
  countedStatus,
  hasDeadline,
  isComplete,
  reasons,
  rolloutStatus,
  untilTimeoutMs,
  withPause,
} from './status.ts';

export interface Observed {
  readonly deployment: Deployment;
  /** The ReplicaSets that belong to it. */
  readonly sets: readonly ReplicaSet[];
  /** The Pods of these ReplicaSets; only read with the strategy Recreate. */
  readonly pods: () => readonly Pod[];
  readonly now: number;
}

/** A ReplicaSet to update. */
export interface SetUpdate {
  readonly set: ReplicaSet;
  /** Its sizes before and after. */
  readonly from: number;
  readonly to: number;
}

export interface DeploymentPlan {
  readonly create: ReplicaSet | undefined;
  readonly update: readonly SetUpdate[];
  readonly remove: readonly ReplicaSet[];
  /** The Deployment with its new status and revision; undefined: they have not changed. */
  readonly deployment: Deployment | undefined;
  /** When the rollout times out if nothing changes. */
  readonly nextMs: number | undefined;
}

/** Plans one step. The next follows when the ReplicaSets have changed. */
export function planDeployment({ deployment: given, sets: all, pods, now }: Observed): DeploymentPlan {
  const deployment = { ...given, status: withPause(given, now) };
  if (given.metadata.deletionTimestamp !== undefined) {
    const sets = setsOf(deployment, all);
    return { ...nothing, ...statusChange(given, deployment, countedStatus(deployment, sets, now), now) };
  }
  const { spec } = deployment;
  const found = setsOf(deployment, all);
  const revision = maxRevision(found.old) + 1n;
  const current =
    found.current === undefined
      ? undefined
      : annotated(deployment, withMinReady(found.current, spec.minReadySeconds), revision);
  const isRescaled = spec.paused === true || isScaled(deployment, found);
  const sizes = isRescaled ? scaleStep(deployment, found) : nextSizes(deployment, found, pods);
  const create =
    found.current === undefined && !isRescaled && mayCreate(deployment, found, sizes, pods)
      ? newSet(deployment, sizeOfNew(deployment, found), revision)
      : undefined;
  const update = updatesOf(deployment, { found, current, sizes, isRescaled });
  const revised = withRevision(deployment, create ?? current);
  const progressing = withProgress(revised, { found, create, now });
  const status = isRescaled ? countedStatus(progressing, found, now) : rolloutStatus(progressing, found, now);
  const mayClean = spec.paused === true || isComplete(deployment, deployment.status);
  return {
    create,
    update,
    remove: mayClean && sizes.size === 0 ? surplusSets(deployment, found) : [],
    ...statusChange(given, revised, status, now),
  };
}

const nothing = { create: undefined, update: [], remove: [] } as const;

function withMinReady(set: ReplicaSet, minReadySeconds = 0): ReplicaSet {
  if ((set.spec.minReadySeconds ?? 0) === minReadySeconds) return set;
  return { ...set, spec: { ...set.spec, minReadySeconds } };
}

/** The sizes of the next step of the strategy. */
function nextSizes(deployment: Deployment, sets: Sets, pods: () => readonly Pod[]): Sizes {
  if (deployment.spec.strategy.type === 'RollingUpdate') return rollingStep(deployment, sets);
  const shrunk = shrinkAll(sets);
  const { current } = sets;
  if (shrunk.size > 0 || current === undefined || hasOldPods(sets, pods())) return shrunk;
  const desired = desiredReplicas(deployment);
  return sizeOf(current) === desired ? shrunk : new Map([[current, desired]]);
}

/** With Recreate, the new ReplicaSet is created when no Pod of an old one is left. */
function mayCreate({ spec }: Deployment, sets: Sets, sizes: Sizes, pods: () => readonly Pod[]): boolean {
  return spec.strategy.type === 'RollingUpdate' || (sizes.size === 0 && !hasOldPods(sets, pods()));
}

function hasOldPods({ current, old }: Sets, pods: readonly Pod[]): boolean {
  if (total(old, ({ status }) => status.replicas) > 0) return true;
  return pods.some((pod) => controllerOf(pod)?.uid !== current?.metadata.uid && !isFinished(pod));
}

interface Step {
  readonly found: Sets;
  /** The new ReplicaSet with its annotations. */
  readonly current: ReplicaSet | undefined;
  readonly sizes: Sizes;
  readonly isRescaled: boolean;
}

function updatesOf(deployment: Deployment, { found, current, sizes, isRescaled }: Step): readonly SetUpdate[] {
  const all = found.current === undefined ? found.old : [...found.old, found.current];
  return all.flatMap((set) => {
    const base = set === found.current ? (current ?? set) : set;
    const to = sizes.get(set) ?? sizeOf(set);
    const isSized = sizes.has(set) || (isRescaled && sizeOf(set) > 0 && !hasSizeAnnotations(deployment, set));
    const next = isSized ? resized(deployment, base, to) : base;
    return isDeepStrictEqual(next, set) ? [] : [{ set: next, from: sizeOf(set), to }];
  });
}

/** The Deployment with the revision of its new ReplicaSet. */
function withRevision(deployment: Deployment, set: ReplicaSet | undefined): Deployment {
  const revision = set === undefined ? 0n : revisionOf(set);
  if (revision === 0n || revisionOf(deployment) === revision) return deployment;
  const annotations = { ...deployment.metadata.annotations, [revisionAnnotation]: String(revision) };
  return { ...deployment, metadata: { ...deployment.metadata, annotations } };
}

/** Reports that the new ReplicaSet was created, or found if the condition says nothing yet. */
function withProgress(
  deployment: Deployment,
  { found, create, now }: { readonly found: Sets; readonly create: ReplicaSet | undefined; readonly now: number },
): Deployment {
  if (!hasDeadline(deployment)) return deployment;
  const { conditions } = deployment.status;
  const report = (reason: string, message: string): Deployment => ({
    ...deployment,
    status: {
      ...deployment.status,
      conditions: withCondition(conditions, condition('Progressing', 'True', reason, message, now)),
    },
  });
  if (create !== undefined) return report(reasons.created, `Created new replica set "${create.metadata.name}"`);
  if (found.current === undefined || conditionOf(conditions, 'Progressing') !== undefined) return deployment;
  return report(reasons.found, `Found new replica set "${found.current.metadata.name}"`);
}

/** Old ReplicaSets without Pods above the limit, oldest revision first. */
function surplusSets({ spec }: Deployment, { old }: Sets): readonly ReplicaSet[] {
  const limit = spec.revisionHistoryLimit ?? 10;
  const kept = old.filter(({ metadata }) => metadata.deletionTimestamp === undefined);
  if (kept.length <= limit) return [];
  return kept
    .toSorted((left, right) => Number(revisionOf(left) - revisionOf(right)))
    .slice(0, kept.length - limit)
    .filter(
      (set) =>
        set.status.replicas === 0 &&
        sizeOf(set) === 0 &&
        (set.metadata.generation ?? 0) <= (set.status.observedGeneration ?? 0),
    );
}

function statusChange(
  given: Deployment,
  revised: Deployment,
  status: Deployment['status'],
  now: number,
): Pick<DeploymentPlan, 'deployment' | 'nextMs'> {
  const isSame = isDeepStrictEqual(status, given.status) && revised.metadata === given.metadata;
  return {
    deployment: isSame ? undefined : { ...revised, status },
    nextMs: untilTimeoutMs(revised, status, now),
  };
}
