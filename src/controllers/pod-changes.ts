// Which Services a change of a Pod concerns.
import type { Pod } from '../api/kinds/core/pod/schema.ts';
import type { Key } from '../client/key.ts';
import type { Caches } from './caches.ts';
import { isReady, isTerminating } from './backend.ts';
import { sameMap } from './same-map.ts';

/** Tells of every Service whose endpoints a change of a Pod may change, until the returned function is called. */
export function onPodChange({ pods, selection }: Caches, changed: (service: Key) => void): () => void {
  const tell = (pod: Pod): void => {
    for (const key of selection.servicesOf(pod)) changed(key);
  };
  let isBeginning = true;
  const unsubscribe = pods.subscribe({
    added(pod) {
      // What was there before is read when its Service is.
      if (!isBeginning) tell(pod);
    },
    updated(pod, old) {
      const hasSameLabels = sameMap(pod.metadata.labels, old.metadata.labels);
      if (hasSameLabels && isSameBackend(pod, old)) return;
      tell(pod);
      if (!hasSameLabels) tell(old);
    },
    deleted: tell,
  });
  isBeginning = false;
  return unsubscribe;
}

/** Whether nothing that is published about a Pod differs. Its ports cannot change. */
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
