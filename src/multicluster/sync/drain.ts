// How far the traffic of a draining cluster has moved to others, read from what the members hold.
import { importKeysOf, isReady } from '../../api/kinds/discovery/endpointslice/facts.ts';
import { sourceClusterLabel } from '../../api/kinds/multicluster/labels.ts';
import type { Key } from '../../client/key.ts';
import type { Member } from '../member/member.ts';
import type { Desired } from '../project/desired.ts';
import type { DrainProgress } from '../project/drain.ts';
import { isOurSlice } from '../project/labels.ts';

/** Whether no endpoint of a cluster should be ready in a member. */
export const isReplaced = (id: string, { slices }: Desired): boolean =>
  slices === 'later' ||
  !slices.some(
    ({ metadata, endpoints }) => metadata.labels?.[sourceClusterLabel] === id && (endpoints ?? []).some(isReady),
  );

/** `isReplacedIn`: whether no endpoint of the draining cluster should be ready in a member. */
export function drainProgress(
  id: string,
  members: readonly Member[],
  isReplacedIn: (key: Key, member: Member) => boolean,
): DrainProgress {
  const [kept, pending] = [new Set<Key>(), new Set<Key>()];
  for (const member of members) {
    if (member.id === id || member.options.isLeaving === true) continue;
    for (const slice of member.caches.slices.by('source', id)) {
      if (!isOurSlice(slice) || slice.metadata.labels?.[sourceClusterLabel] !== id) continue;
      if (!(slice.endpoints ?? []).some(isReady)) continue;
      for (const key of importKeysOf(slice)) (isReplacedIn(key, member) ? pending : kept).add(key);
    }
  }
  return { kept: [...kept].toSorted(), pending: [...pending.difference(kept)].toSorted() };
}
