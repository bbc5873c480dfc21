import { serviceKeyOf } from '../api/kinds/discovery/endpointslice/facts.ts';
import { managedByLabel } from '../api/kinds/discovery/endpointslice/labels.ts';
import type { EndpointSlice } from '../api/kinds/discovery/endpointslice/schema.ts';
import type { Key } from '../client/key.ts';
import type { WorkQueue } from '../client/queue.ts';
import type { Caches } from './caches.ts';
import type { Expectations } from '../client/expectations.ts';

/** Who keeps slices, and what it does about changes of them. */
export interface SliceKeeper {
  /** The value of the label on slices that are its own. */
  readonly managedBy: string;
  readonly writes: Expectations;
  readonly queue: WorkQueue;
  /** How long after somebody else changed a slice it is set right: two who disagree must not race. */
  readonly repairDelayMs: number;
  /** Told of the slices that are there already; default: nothing is done about them. */
  readonly atFirst?: (service: Key) => void;
}

/** Has a keeper look after its slices until the returned function is called. */
export function onSliceChange({ slices }: Caches, keeper: SliceKeeper): () => void {
  const { managedBy, writes, queue, repairDelayMs, atFirst } = keeper;
  const isOwn = ({ metadata }: EndpointSlice): boolean => metadata.labels?.[managedByLabel] === managedBy;
  let isBeginning = true;
  const heard = (slice: EndpointSlice, isGone = false): void => {
    if (!isOwn(slice)) return;
    const key = serviceKeyOf(slice);
    if (key === undefined) return;
    if (isBeginning) return atFirst?.(key);
    const hearing = writes.observe(key, slice, isGone);
    if (hearing === 'caught-up') queue.add(key);
    if (hearing === 'foreign') queue.addAfter(key, repairDelayMs);
  };
  const stop = slices.subscribe({
    added: (slice) => heard(slice),
    updated(slice, old) {
      heard(slice);
      // Taken from its keeper, or given to another Service: it is missed where it was.
      if (!isOwn(slice) || serviceKeyOf(old) !== serviceKeyOf(slice)) heard(old, true);
    },
    deleted: (slice) => heard(slice, true),
  });
  isBeginning = false;
  return stop;
}
