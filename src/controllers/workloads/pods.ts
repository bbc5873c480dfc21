// What controllers of workloads read of Pods: whether they are active, ready or available, and which are deleted first.
import type { Pod } from '../../api/kinds/core/pod/schema.ts';
import { compareText } from '../../api/order.ts';
import { conditionOf, isTrue } from './conditions.ts';

/** Whether a Pod runs or will run: it has neither finished nor is it being deleted. */
export const isActive = (pod: Pod): boolean => !isFinished(pod) && !isTerminating(pod);

/** Whether a Pod has finished and will not run again. */
export const isFinished = ({ status: { phase } }: Pod): boolean => phase === 'Succeeded' || phase === 'Failed';

export const isTerminating = ({ metadata }: Pod): boolean => metadata.deletionTimestamp !== undefined;

/** Whether a Pod is being deleted and has not finished. */
export const isStopping = (pod: Pod): boolean => isTerminating(pod) && !isFinished(pod);

export const isReady = ({ status }: Pod): boolean => isTrue(status.conditions, 'Ready');

/** Milliseconds until a Pod is available, if it stays ready; 0: it is; Infinity: it is not ready. */
export function untilAvailableMs(pod: Pod, minReadySeconds: number, now: number): number {
  if (!isReady(pod)) return Infinity;
  if (minReadySeconds === 0) return 0;
  const since = Date.parse(String(conditionOf(pod.status.conditions, 'Ready')?.lastTransitionTime));
  return Number.isNaN(since) ? Infinity : Math.max(0, since + minReadySeconds * 1000 - now);
}

/** The readiness of a set of Pods. */
export interface Readiness {
  readonly ready: number;
  readonly available: number;
  /** Milliseconds until the next ready Pod is available; undefined: there is none. */
  readonly nextMs: number | undefined;
}

/** Counts ready and available Pods. */
export function readinessOf(pods: readonly Pod[], minReadySeconds: number, now: number): Readiness {
  let [ready, available, nextMs] = [0, 0, Infinity];
  for (const pod of pods) {
    const leftMs = untilAvailableMs(pod, minReadySeconds, now);
    if (leftMs === Infinity) continue;
    ready++;
    if (leftMs === 0) available++;
    else nextMs = Math.min(nextMs, leftMs);
  }
  return { ready, available, nextMs: nextMs === Infinity ? undefined : nextMs };
}

/** The number of container restarts. */
const restartsOf = ({ status: { containerStatuses = [] } }: Pod): number =>
  containerStatuses.reduce((max, { restartCount }) => Math.max(max, restartCount), 0);

const phases = ['Pending', 'Unknown', 'Running'];

/** Sorts Pods by how little is lost with them, so that the first are deleted first. `related`: Pods by node, for balance. */
export function deletionOrder(pods: readonly Pod[], related: ReadonlyMap<string, number>, now: number): readonly Pod[] {
  const ranked = pods.map((pod) => ({ pod, rank: rankOf(pod, related, now) }));
  return ranked
    .toSorted((left, right) => {
      for (const [index, value] of left.rank.entries()) {
        const difference = value - (right.rank[index] ?? 0);
        if (difference !== 0) return difference;
      }
      return compareText(left.pod.metadata.uid, right.pod.metadata.uid);
    })
    .map(({ pod }) => pod);
}

/** Lower is deleted first. */
function rankOf(pod: Pod, related: ReadonlyMap<string, number>, now: number): readonly number[] {
  const { metadata, spec, status } = pod;
  const isOnNode = (spec.nodeName ?? '') !== '';
  const readySince = Date.parse(String(conditionOf(status.conditions, 'Ready')?.lastTransitionTime));
  return [
    isOnNode ? 1 : 0,
    phases.indexOf(status.phase ?? 'Pending'),
    isReady(pod) ? 1 : 0,
    deletionCost(pod),
    -(related.get(spec.nodeName ?? '') ?? 0),
    // Times differ by their magnitude only, so that small differences do not always hit the same Pods.
    isReady(pod) ? magnitude(now - readySince) : 0,
    -restartsOf(pod),
    magnitude(now - Date.parse(metadata.creationTimestamp ?? '')),
  ];
}

const magnitude = (ms: number): number => (Number.isNaN(ms) || ms <= 0 ? 0 : Math.floor(Math.log2(ms)) + 1);

function deletionCost({ metadata }: Pod): number {
  const cost = metadata.annotations?.['controller.kubernetes.io/pod-deletion-cost'] ?? '0';
  return /^-?\d+$/.test(cost) ? Number(cost) : 0;
}
