// How many Pods each ReplicaSet of a Deployment gets in the next step of a rollout or of scaling.
import type { Deployment } from '../../../api/kinds/apps/deployment/schema.ts';
import type { ReplicaSet } from '../../../api/kinds/apps/replicaset/kind.ts';
import type { Sets } from './sets.ts';
import {
  availableIn,
  byCreation,
  bySize,
  desiredAtScaling,
  desiredReplicas,
  limitsOf,
  maxAtScaling,
  sizeOf,
  total,
} from './sets.ts';

/** ReplicaSet → its next size. Sets that keep their size are not in it. */
export type Sizes = ReadonlyMap<ReplicaSet, number>;

const unchanged: Sizes = new Map();

const allOf = ({ current, old }: Sets): readonly ReplicaSet[] => (current === undefined ? old : [...old, current]);
const isUsed = (set: ReplicaSet): boolean => sizeOf(set) > 0;

/** Whether the Deployment was scaled since its ReplicaSets were. */
export const isScaled = (deployment: Deployment, sets: Sets): boolean =>
  allOf(sets).some((set) => {
    const desired = desiredAtScaling(set);
    return isUsed(set) && desired !== undefined && desired !== desiredReplicas(deployment);
  });

/** The size of the new ReplicaSet: as many as fit beside the old ones. */
export function sizeOfNew(deployment: Deployment, { current, old }: Sets): number {
  const desired = desiredReplicas(deployment);
  if (deployment.spec.strategy.type !== 'RollingUpdate') return desired;
  const size = current === undefined ? 0 : sizeOf(current);
  const free = desired + limitsOf(deployment).maxSurge - size - total(old, sizeOf);
  return free <= 0 ? size : size + Math.min(free, desired - size);
}

/** One step of a rolling update: the new set grows, or old sets shrink. */
export function rollingStep(deployment: Deployment, { current, old }: Sets): Sizes {
  if (current === undefined) return unchanged;
  const desired = desiredReplicas(deployment);
  if (sizeOf(current) > desired) return new Map([[current, desired]]);
  const grown = sizeOf(current) === desired ? desired : sizeOfNew(deployment, { current, old });
  if (grown !== sizeOf(current)) return new Map([[current, grown]]);
  return shrinkOld(deployment, { current, old });
}

/** Removes Pods of old sets that are not available first, then as many available ones as may be missing. */
function shrinkOld(deployment: Deployment, { current, old }: Required<Sets>): Sizes {
  if (current === undefined || total(old, sizeOf) === 0) return unchanged;
  const minAvailable = desiredReplicas(deployment) - limitsOf(deployment).maxUnavailable;
  const all = [...old, current];
  const newUnavailable = Math.max(0, sizeOf(current) - availableIn(current));
  const budget = total(all, sizeOf) - minAvailable - newUnavailable;
  if (budget <= 0) return unchanged;
  const sizes = new Map<ReplicaSet, number>();
  const left = (set: ReplicaSet): number => sizes.get(set) ?? sizeOf(set);
  let unhealthy = budget;
  const oldest = old.toSorted(byCreation);
  for (const set of oldest) {
    const count = Math.min(unhealthy, Math.max(0, sizeOf(set) - availableIn(set)));
    if (count === 0 || !isUsed(set)) continue;
    sizes.set(set, sizeOf(set) - count);
    unhealthy -= count;
  }
  // The status of a set that was just made smaller still counts Pods that are about to go.
  let spare = total(all, (set) => Math.min(availableIn(set), left(set))) - minAvailable;
  for (const set of oldest) {
    const count = Math.min(spare, left(set));
    if (count <= 0) continue;
    sizes.set(set, left(set) - count);
    spare -= count;
  }
  return sizes;
}

/** Recreate: no Pods of old templates. */
export const shrinkAll = ({ old }: Sets): Sizes => new Map(old.filter(isUsed).map((set) => [set, 0]));

/** Sizes after the Deployment was scaled, in proportion to the sizes of a rollout in progress. */
export function scaleStep(deployment: Deployment, sets: Sets): Sizes {
  const desired = desiredReplicas(deployment);
  const only = onlySet(sets);
  if (only !== undefined) return sizeOf(only) === desired ? unchanged : new Map([[only, desired]]);
  if (isSaturated(deployment, sets.current)) return shrinkAll(sets);
  if (deployment.spec.strategy.type !== 'RollingUpdate') return unchanged;
  const used = allOf(sets).filter(isUsed);
  const allowed = desired === 0 ? 0 : desired + limitsOf(deployment).maxSurge;
  const difference = allowed - total(used, sizeOf);
  if (difference === 0) return new Map(used.map((set) => [set, sizeOf(set)]));
  return proportionalSizes(deployment, used, difference);
}

/** The only set with Pods, or without any the new one, or else the last old one. */
function onlySet({ current, old }: Sets): ReplicaSet | undefined {
  const used = allOf({ current, old }).filter(isUsed);
  if (used.length > 1) return undefined;
  return used[0] ?? current ?? old.toSorted(byCreation).at(-1);
}

/** Whether the new set has all desired Pods and they are available. */
function isSaturated(deployment: Deployment, current: ReplicaSet | undefined): boolean {
  if (current === undefined) return false;
  const desired = desiredReplicas(deployment);
  return desiredAtScaling(current) === desired && sizeOf(current) === desired && availableIn(current) === desired;
}

function proportionalSizes(deployment: Deployment, used: readonly ReplicaSet[], difference: number): Sizes {
  const sorted = used.toSorted(bySize(difference > 0 ? 'newest first' : 'oldest first'));
  const sizes = new Map<ReplicaSet, number>();
  let added = 0;
  for (const set of sorted) {
    const share = shareOf(deployment, set);
    const left = difference - added;
    const part = difference > 0 ? Math.min(share, left) : Math.max(share, left);
    sizes.set(set, Math.max(0, sizeOf(set) + part));
    added += part;
  }
  const [largest] = sorted;
  if (largest !== undefined) sizes.set(largest, Math.max(0, (sizes.get(largest) ?? 0) + difference - added));
  return sizes;
}

/** By how much a set would grow so that its share of all Pods stays the same. */
function shareOf(deployment: Deployment, set: ReplicaSet): number {
  const desired = desiredReplicas(deployment);
  if (desired === 0) return -sizeOf(set);
  const before = maxAtScaling(set) ?? deployment.status.replicas ?? 0;
  if (before === 0) return 0;
  const size = (sizeOf(set) * (desired + limitsOf(deployment).maxSurge)) / before;
  return Math.round(size) - sizeOf(set);
}
