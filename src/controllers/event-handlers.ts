// Event handlers of Pods and slices that several controllers share.
import type { Pod } from '../api/kinds/core/pod/schema.ts';
import { isReady, isTerminating } from './backend.ts';
import { sameMap } from './slices.ts';
import { serviceKeyOf } from '../api/kinds/discovery/endpointslice/facts.ts';
import { managedByLabel } from '../api/kinds/discovery/endpointslice/labels.ts';
import type { EndpointSlice } from '../api/kinds/discovery/endpointslice/schema.ts';
import type { Key } from '../client/key.ts';
import type { WorkQueue } from '../client/queue.ts';
import type { Caches } from './caches.ts';
import type { Expectations } from '../client/expectations.ts';

/** Calls `changed` for every Service whose endpoints a change of a Pod may affect. Returns a function that unsubscribes. */
export function onPodChange({ pods, selection }: Caches, changed: (service: Key) => void): () => void {
  const notify = (pod: Pod): void => {
    for (const key of selection.servicesOf(pod)) changed(key);
  };
  let isInitial = true;
  const unsubscribe = pods.subscribe({
    added(pod) {
      // The initial Pods are read with their Services.
      if (!isInitial) notify(pod);
    },
    updated(pod, old) {
      const hasSameLabels = sameMap(pod.metadata.labels, old.metadata.labels);
      if (hasSameLabels && isSameBackend(pod, old)) return;
      notify(pod);
      if (!hasSameLabels) notify(old);
    },
    deleted: notify,
  });
  isInitial = false;
  return unsubscribe;
}

/** Whether all published fields of a Pod are equal. Its ports are immutable. */
const isSameBackend = (left: Pod, right: Pod): boolean =>
  isReady(left) === isReady(right) &&
  isTerminating(left) === isTerminating(right) &&
  left.status.phase === right.status.phase &&
  left.spec.nodeName === right.spec.nodeName &&
  left.spec.hostname === right.spec.hostname &&
  left.spec.subdomain === right.spec.subdomain &&
  left.status.podIP === right.status.podIP &&
  sameAddresses(left, right);

function sameAddresses({ status: { podIPs: left = [] } }: Pod, { status: { podIPs: right = [] } }: Pod): boolean {
  return left.length === right.length && left.every(({ ip }, index) => ip === right[index]?.ip);
}

/** The delay of repairs after foreign writes, so that two controllers that disagree do not race. */
export const repairDelayMs = 1000;

/** A controller that owns slices. */
export interface SliceOwner {
  /** The value of the managed-by label on its slices. */
  readonly managedBy: string;
  readonly writes: Expectations;
  readonly queue: WorkQueue;
  /** Changes are batched for this long; repairs after foreign writes wait at least as long. */
  readonly batchMs: number;
  /** Called for the slices that exist at the start. */
  readonly onInitial?: (service: Key) => void;
}

/** Enqueues the Services whose slices were changed by other clients. Returns a function that unsubscribes. */
export function onSliceChange({ slices }: Caches, owner: SliceOwner): () => void {
  const { managedBy, writes, queue, batchMs, onInitial } = owner;
  const isOwn = ({ metadata }: EndpointSlice): boolean => metadata.labels?.[managedByLabel] === managedBy;
  let isInitial = true;
  const onEvent = (slice: EndpointSlice, isGone = false): void => {
    if (!isOwn(slice)) return;
    const key = serviceKeyOf(slice);
    if (key === undefined) return;
    if (isInitial) return onInitial?.(key);
    const observation = writes.observe(key, slice, isGone);
    if (observation === 'caught-up') queue.add(key);
    if (observation === 'foreign') queue.addAfter(key, Math.max(repairDelayMs, batchMs));
  };
  const stop = slices.subscribe({
    added: (slice) => onEvent(slice),
    updated(slice, old) {
      onEvent(slice);
      // The slice was relabelled: its former Service has lost it.
      if (!isOwn(slice) || serviceKeyOf(old) !== serviceKeyOf(slice)) onEvent(old, true);
    },
    deleted: (slice) => onEvent(slice, true),
  });
  isInitial = false;
  return stop;
}
