// What a DaemonSet does next: one Pod on every node that fits, replaced node by node when the template changes.
import type { DaemonSet } from '../../../api/kinds/apps/daemonset/kind.ts';
import { amountOf } from '../../../api/kinds/apps/workload.ts';
import type { Node } from '../../../api/kinds/core/node/schema.ts';
import type { Pod } from '../../../api/kinds/core/pod/schema.ts';
import { getOrCompute } from '../../../api/maps.ts';
import { compareText } from '../../../api/order.ts';
import { isFinished, isReady, isTerminating, untilAvailableMs } from '../pods.ts';
import { revisionLabel } from '../revisions.ts';
import { nodeOf, suitabilityOf } from './nodes.ts';

export interface Observed {
  readonly set: DaemonSet;
  readonly pods: readonly Pod[];
  readonly nodes: readonly Node[];
  /** The hash of the current template. */
  readonly hash: string;
  readonly now: number;
}

export interface DaemonSetPlan {
  /** Nodes that get a Pod. */
  readonly create: readonly string[];
  readonly remove: readonly Pod[];
  /** Those of `remove` that have finished, which Events report. */
  readonly finished: readonly Pod[];
  readonly status: DaemonSet['status'];
  /** Milliseconds until a ready Pod is available. */
  readonly nextMs: number | undefined;
}

/** The most Pods that one sync creates or deletes. */
const maxPerSync = 250;

/** Plans the next step. */
export function planDaemonSet(observed: Observed): DaemonSetPlan {
  const { set, pods, now } = observed;
  const places = placesOf(observed);
  const isEnding = set.metadata.deletionTimestamp !== undefined;
  const managed = isEnding ? nothing : manage(observed, places);
  const isManaged = managed.create.length + managed.remove.length > 0;
  const { create, remove } =
    isEnding || isManaged || set.spec.updateStrategy.type !== 'RollingUpdate' ? managed : replace(observed, places);
  const waits = pods
    .map((pod) => untilAvailableMs(pod, set.spec.minReadySeconds ?? 0, now))
    .filter((ms) => ms > 0 && ms < Infinity);
  return {
    create: create.slice(0, maxPerSync),
    remove: remove.slice(0, maxPerSync),
    finished: remove.filter(isFinished),
    status: statusOf(observed, places),
    nextMs: waits.length === 0 ? undefined : Math.min(...waits),
  };
}

interface Changes {
  readonly create: readonly string[];
  readonly remove: readonly Pod[];
}

const nothing: Changes = { create: [], remove: [] };

/** A node, or the name of one that is gone, with the Pods of the DaemonSet on it. */
interface Place {
  readonly name: string;
  readonly runs: boolean;
  readonly keeps: boolean;
  readonly pods: readonly Pod[];
}

function placesOf({ set, pods, nodes }: Observed): readonly Place[] {
  const byNode = new Map<string, Pod[]>();
  for (const pod of pods.toSorted(byAge)) getOrCompute(byNode, nodeOf(pod), () => []).push(pod);
  const known = nodes.map((node) => {
    const name = node.metadata.name ?? '';
    const own = byNode.get(name) ?? [];
    byNode.delete(name);
    return { name, ...suitabilityOf(set, node), pods: own };
  });
  // Pods of nodes that do not exist are deleted.
  return [...known, ...Array.from(byNode, ([name, own]) => ({ name, runs: false, keeps: false, pods: own }))].toSorted(
    (left, right) => compareText(left.name, right.name),
  );
}

const byAge = (left: Pod, right: Pod): number =>
  compareText(left.metadata.creationTimestamp, right.metadata.creationTimestamp) ||
  compareText(left.metadata.name, right.metadata.name);

const isCurrent = ({ metadata }: Pod, hash: string): boolean => metadata.labels?.[revisionLabel] === hash;

/** One Pod on each node that fits, none elsewhere. */
function manage({ set, hash, now }: Observed, places: readonly Place[]): Changes {
  const create: string[] = [];
  const remove: Pod[] = [];
  const { maxSurge } = limitsOf(set, desiredOf(places));
  for (const { name, runs, keeps, pods } of places) {
    const staying = pods.filter((pod) => !isTerminating(pod));
    if (runs && pods.length === 0) create.push(name);
    else if (!keeps) remove.push(...staying);
    else {
      const finished = staying.filter(isFinished);
      remove.push(...finished);
      const running = staying.filter((pod) => !isFinished(pod));
      remove.push(...(maxSurge === 0 ? running.slice(1) : surplusOf(running, { hash, set, now })));
    }
  }
  return { create, remove };
}

/** During a surge a node has at most one old and one new Pod, and the old one until the new one is available. */
function surplusOf(
  running: readonly Pod[],
  { hash, set, now }: { readonly hash: string; readonly set: DaemonSet; readonly now: number },
): readonly Pod[] {
  const [fresh, ...freshRest] = running.filter((pod) => isCurrent(pod, hash));
  const [old, ...oldRest] = running.filter((pod) => !isCurrent(pod, hash));
  const isReplaced = fresh !== undefined && isAvailable(set, fresh, now);
  return [...freshRest, ...oldRest, ...(old !== undefined && isReplaced ? [old] : [])];
}

const isAvailable = (set: DaemonSet, pod: Pod, now: number): boolean =>
  !isTerminating(pod) && untilAvailableMs(pod, set.spec.minReadySeconds ?? 0, now) === 0;

const desiredOf = (places: readonly Place[]): number => places.filter(({ runs }) => runs).length;

/** How many nodes may be without an available Pod, or with two. Percentages are rounded up. */
function limitsOf(
  { spec }: DaemonSet,
  desired: number,
): { readonly maxSurge: number; readonly maxUnavailable: number } {
  const { maxUnavailable = 1, maxSurge = 0 } = spec.updateStrategy.rollingUpdate ?? {};
  if (spec.updateStrategy.type !== 'RollingUpdate') return { maxSurge: 0, maxUnavailable: 0 };
  const share = (amount: number | string): number =>
    typeof amount === 'number' ? amount : Math.ceil((amountOf(amount) * desired) / 100);
  const [surge, unavailable] = [share(maxSurge), share(maxUnavailable)];
  return { maxSurge: surge, maxUnavailable: surge === 0 && unavailable === 0 ? 1 : unavailable };
}

/** Replaces old Pods: those that are not available always, others as far as the limits allow. */
function replace({ set, hash, now }: Observed, places: readonly Place[]): Changes {
  const { maxSurge, maxUnavailable } = limitsOf(set, desiredOf(places));
  const limit = maxSurge > 0 ? maxSurge : maxUnavailable;
  const needed: { readonly name: string; readonly old: Pod }[] = [];
  const possible: { readonly name: string; readonly old: Pod }[] = [];
  let used = 0;
  for (const { name, keeps, pods } of places) {
    if (!keeps) continue;
    const running = pods.filter((pod) => !isFinished(pod));
    const fresh = running.find((pod) => isCurrent(pod, hash));
    const old = running.find((pod) => !isCurrent(pod, hash));
    if (old !== undefined && fresh === undefined && !isTerminating(old)) {
      if (isAvailable(set, old, now)) possible.push({ name, old });
      else {
        needed.push({ name, old });
        if (maxSurge === 0) used++;
      }
    } else if (maxSurge > 0 ? old !== undefined : fresh === undefined || !isAvailable(set, fresh, now)) used++;
  }
  const chosen = [...needed, ...possible.slice(0, Math.max(0, limit - used))];
  return maxSurge > 0
    ? { create: chosen.map(({ name }) => name), remove: [] }
    : { create: [], remove: chosen.map(({ old }) => old) };
}

function statusOf({ set, hash, now }: Observed, places: readonly Place[]): DaemonSet['status'] {
  let [current, misscheduled, ready, updated, available] = [0, 0, 0, 0, 0];
  for (const { runs, pods } of places) {
    const [oldest] = pods;
    if (oldest === undefined) continue;
    if (!runs) {
      misscheduled++;
      continue;
    }
    current++;
    // During a surge the readiness of either Pod counts.
    if (pods.some((pod) => isReady(pod) && !isTerminating(pod))) ready++;
    if (pods.some((pod) => isAvailable(set, pod, now))) available++;
    if (pods.some((pod) => isCurrent(pod, hash) && !isTerminating(pod))) updated++;
  }
  const desired = desiredOf(places);
  const { generation } = set.metadata;
  const { collisionCount, conditions } = set.status;
  return {
    currentNumberScheduled: current,
    numberMisscheduled: misscheduled,
    desiredNumberScheduled: desired,
    numberReady: ready,
    ...(generation === undefined ? {} : { observedGeneration: generation }),
    ...count('updatedNumberScheduled', updated),
    ...count('numberAvailable', available),
    ...count('numberUnavailable', Math.max(0, desired - available)),
    ...(collisionCount === undefined ? {} : { collisionCount }),
    ...(conditions === undefined ? {} : { conditions }),
  };
}

const count = (name: 'updatedNumberScheduled' | 'numberAvailable' | 'numberUnavailable', value: number): object =>
  value === 0 ? {} : { [name]: value };
