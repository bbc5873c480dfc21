import { importKeysOf } from '../../api/kinds/discovery/endpointslice/facts.ts';
import type { Key } from '../../client/key.ts';
import { keyOf } from '../../client/key.ts';
import { overlapProblem } from '../guard/overlap.ts';
import { isOurSlice } from '../project/labels.ts';
import type { ClusterExport } from '../record.ts';
import type { Member } from './member.ts';

/** The services that a member exports or holds something of. */
export function keysIn({ caches }: Member): ReadonlySet<Key> {
  const objects = [
    ...caches.superclusterExports.list(),
    ...caches.serviceExports.list(),
    ...caches.importedServices.list(),
    ...caches.serviceImports.list(),
  ];
  const slices = caches.slices.list().filter(isOurSlice);
  return new Set([...objects.map(keyOf), ...slices.flatMap(importKeysOf)]);
}

/** The services for which a member holds objects from a source cluster. */
export function keysFrom(source: string, { caches }: Member): readonly Key[] {
  const imports = [...caches.importedServices.by('source', source), ...caches.serviceImports.by('source', source)];
  return [...imports.map(keyOf), ...caches.slices.by('source', source).flatMap(importKeysOf)];
}

/** Why the Pods of a member cannot be routed; undefined: they can. */
export function overlapIn(members: readonly Member[], id: string): string | undefined {
  const ranges = members.map(({ id: each, options: { policy, addressMode = 'pods' } }) => ({
    id: each,
    endpointRanges: policy?.endpointRanges ?? [],
    exportsPods: addressMode === 'pods',
  }));
  const own = ranges.find((each) => each.id === id);
  return own && overlapProblem(own, ranges);
}

/** Everything that a member exports. */
export function recordsIn(member: Member): readonly ClusterExport[] {
  const { superclusterExports, serviceExports } = member.caches;
  const keys = new Set([...superclusterExports.list(), ...serviceExports.list()].map(keyOf));
  return [...keys].flatMap((key) => member.record(key) ?? []);
}
