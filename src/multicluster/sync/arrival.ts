// Whether what a cluster has of a service has been read: the watch of its exports may be ahead of that of its slices.
import { endpointSliceKind } from '../../api/kinds/discovery/endpointslice/kind.ts';
import { serviceNameLabel } from '../../api/kinds/discovery/endpointslice/labels.ts';
import type { EndpointSlice } from '../../api/kinds/discovery/endpointslice/schema.ts';
import type { ApiObject } from '../../api/metadata.ts';
import type { Key } from '../../client/key.ts';
import { nameFor } from '../../client/key.ts';
import { isOurSlice } from '../project/marks.ts';
import type { Member } from '../member/member.ts';

/** Asks a source for the slices of a service: true when each is known as it is there, or as it was later. */
export async function hasArrived(member: Member, key: Key, signal: AbortSignal): Promise<boolean> {
  const { namespace, name } = nameFor(key);
  const labelSelector = `${serviceNameLabel}=${name}`;
  const { items } = await member.ask(signal, (deadline) =>
    member.client.list(endpointSliceKind, { namespace, labelSelector, signal: deadline }),
  );
  return areKnown(items, member.caches.slices.by('service', key));
}

/** Whether each of the slices that are there is known, in that revision or a later one. */
function areKnown(there: readonly EndpointSlice[], known: readonly EndpointSlice[]): boolean {
  const revisions = new Map(known.map((slice) => [slice.metadata.uid, revisionOf(slice)]));
  return there
    .filter((slice) => !isOurSlice(slice))
    .every((slice) => {
      const revision = revisions.get(slice.metadata.uid);
      return revision !== undefined && revision >= revisionOf(slice);
    });
}

/** Revisions are compared within one object of one server only. */
const revisionOf = ({ metadata }: ApiObject): number => Number(metadata.resourceVersion ?? 0);
