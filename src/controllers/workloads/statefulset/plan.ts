// What a StatefulSet does next: Pods by ordinal, one after another unless the policy is Parallel.
import type { StatefulSet } from '../../../api/kinds/apps/statefulset/schema.ts';
import type { Pod } from '../../../api/kinds/core/pod/schema.ts';
import { isFinished, isReady, isTerminating, untilAvailableMs } from '../pods.ts';
import { revisionLabel } from '../revisions.ts';
import type { Version } from './identity.ts';
import { identified, ordinalOf } from './identity.ts';

export interface Observed {
  readonly set: StatefulSet;
  readonly pods: readonly Pod[];
  /** The revision that is replaced. */
  readonly current: Version;
  /** The revision that replaces it. */
  readonly update: Version;
  readonly now: number;
}

export interface StatefulSetPlan {
  readonly create: readonly Pod[];
  readonly remove: readonly Pod[];
  readonly status: StatefulSet['status'];
  /** Milliseconds until a ready Pod is available. */
  readonly nextMs: number | undefined;
}

/** Plans the next step. */
export function planStatefulSet(observed: Observed): StatefulSetPlan {
  const { set, pods, now } = observed;
  const waits = pods
    .map((pod) => untilAvailableMs(pod, set.spec.minReadySeconds ?? 0, now))
    .filter((ms) => ms > 0 && ms < Infinity);
  const steps = set.metadata.deletionTimestamp === undefined ? stepsOf(observed) : { create: [], remove: [] };
  return {
    ...steps,
    status: statusOf(observed, steps),
    nextMs: waits.length === 0 ? undefined : Math.min(...waits),
  };
}

interface Steps {
  readonly create: readonly Pod[];
  readonly remove: readonly Pod[];
}

function stepsOf(observed: Observed): Steps {
  const { set, pods, now } = observed;
  const { replicas = 1, ordinals, podManagementPolicy, updateStrategy } = set.spec;
  const start = ordinals?.start ?? 0;
  const isOrdered = podManagementPolicy !== 'Parallel';
  const byOrdinal = new Map(pods.map((pod) => [ordinalOf(set, pod), pod]));
  const isAvailable = (pod: Pod): boolean => isHealthy(set, pod, now);
  const create: Pod[] = [];
  const remove: Pod[] = [];
  const wanted = Array.from({ length: replicas }, (_, index) => start + index);
  for (const ordinal of wanted) {
    const pod = byOrdinal.get(ordinal);
    if (pod === undefined) create.push(newPod(observed, ordinal));
    else if (isFinished(pod)) {
      // Its successor has the same name, so it must be gone first.
      if (!isTerminating(pod)) remove.push(pod);
    } else if (isAvailable(pod)) continue;
    if (isOrdered) return { create, remove };
  }
  const condemned = pods
    .filter((pod) => !isWanted(ordinalOf(set, pod), start, replicas))
    .toSorted((left, right) => ordinalOf(set, right) - ordinalOf(set, left));
  const [firstUnhealthy] = pods
    .filter((pod) => !isAvailable(pod))
    .toSorted((left, right) => ordinalOf(set, left) - ordinalOf(set, right));
  for (const pod of condemned) {
    if (!isTerminating(pod) && (!isOrdered || isAvailable(pod) || pod === firstUnhealthy)) remove.push(pod);
    if (isOrdered) return { create, remove };
  }
  if (create.length + remove.length > 0 || updateStrategy.type === 'OnDelete') return { create, remove };
  return { create, remove: outdated(observed, { byOrdinal, wanted, isAvailable }) };
}

const isWanted = (ordinal: number, start: number, replicas: number): boolean =>
  ordinal >= start && ordinal < start + replicas;

/** The Pod with the highest ordinal whose template is old, once all above it are available. */
function outdated(
  { set, update }: Observed,
  {
    byOrdinal,
    wanted,
    isAvailable,
  }: {
    readonly byOrdinal: ReadonlyMap<number, Pod>;
    readonly wanted: readonly number[];
    readonly isAvailable: (pod: Pod) => boolean;
  },
): readonly Pod[] {
  const partition = set.spec.updateStrategy.rollingUpdate?.partition ?? 0;
  for (const ordinal of wanted.slice(partition).toReversed()) {
    const pod = byOrdinal.get(ordinal);
    if (pod === undefined) return [];
    if (revisionOf(pod) !== update.revision && !isTerminating(pod)) return [pod];
    if (!isAvailable(pod)) return [];
  }
  return [];
}

const revisionOf = ({ metadata }: Pod): string | undefined => metadata.labels?.[revisionLabel];

/** Whether a Pod runs, is available and stays. */
const isHealthy = (set: StatefulSet, pod: Pod, now: number): boolean =>
  pod.status.phase === 'Running' &&
  !isTerminating(pod) &&
  untilAvailableMs(pod, set.spec.minReadySeconds ?? 0, now) === 0;

/** A Pod for an ordinal: those below the partition, or not updated yet without one, keep the current template. */
function newPod({ set, current, update }: Observed, ordinal: number): Pod {
  const { rollingUpdate, type } = set.spec.updateStrategy;
  const start = set.spec.ordinals?.start ?? 0;
  const below = rollingUpdate === undefined ? (set.status.currentReplicas ?? 0) : (rollingUpdate.partition ?? 0);
  const isOld = type === 'RollingUpdate' && ordinal < start + below;
  return identified(set, ordinal, isOld ? current : update);
}

/** The status: counters of the Pods that exist, with the effect of the steps on those that exist no longer. */
function statusOf({ set, pods, current, update, now }: Observed, { create, remove }: Steps): StatefulSet['status'] {
  const { generation } = set.metadata;
  const removed = new Set(remove);
  const created = [...pods.filter((pod) => pod.status.phase !== undefined && !removed.has(pod)), ...create];
  const ready = pods.filter((pod) => pod.status.phase === 'Running' && isReady(pod) && !removed.has(pod));
  const available = ready.filter((pod) => untilAvailableMs(pod, set.spec.minReadySeconds ?? 0, now) === 0).length;
  const withRevision = ({ revision }: Version): number =>
    created.filter((pod) => !isTerminating(pod) && revisionOf(pod) === revision).length;
  const [updated, replicas] = [withRevision(update), created.length];
  const isDone =
    set.spec.updateStrategy.type === 'RollingUpdate' &&
    [updated, ready.length, replicas].every((count) => count === (set.spec.replicas ?? 1)) &&
    create.length + remove.length === 0;
  const { collisionCount, conditions } = set.status;
  return {
    ...(generation === undefined ? {} : { observedGeneration: generation }),
    replicas,
    ...count('readyReplicas', ready.length),
    ...count('currentReplicas', isDone ? updated : withRevision(current)),
    ...count('updatedReplicas', updated),
    currentRevision: isDone ? update.revision : current.revision,
    updateRevision: update.revision,
    collisionCount: collisionCount ?? 0,
    ...(conditions === undefined ? {} : { conditions }),
    availableReplicas: available,
  };
}

const count = (name: 'readyReplicas' | 'currentReplicas' | 'updatedReplicas', value: number): object =>
  value === 0 ? {} : { [name]: value };
