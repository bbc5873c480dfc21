import { importKeysOf, isReady } from '../../api/kinds/discovery/endpointslice/facts.ts';
import type { Key } from '../../client/key.ts';
import { keyOf } from '../../client/key.ts';
import { overlapProblem } from '../guard/overlap.ts';
import { isOurSlice } from '../project/labels.ts';
import type { ClusterExport } from '../record.ts';
import type { Member } from './member.ts';

/** A reason in CamelCase, and a sentence. */
export interface GatewayProblem {
  readonly reason: string;
  readonly message: string;
}

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

/** Why other clusters cannot use the gateway of a member, by which they reach its Services; undefined: they can. */
export function gatewayProblemOf(members: readonly Member[], id: string): GatewayProblem | undefined {
  const member = members.find((each) => each.id === id);
  if (member?.options.addressMode !== 'gateway' || !member.caches.isSynced) return undefined;
  const { gateway } = member;
  if (gateway === undefined)
    return {
      reason: 'NoGateway',
      message: 'it has no gateway, by which other clusters reach its Services: run `fairlead gateway` in it',
    };
  if (!gateway.replicas.some(({ endpoint }) => isReady(endpoint)))
    return {
      reason: 'NotReady',
      message: 'no replica of its gateway is ready: read the logs of `fairlead gateway` in it',
    };
  const reasons = members.flatMap((each) => {
    const reason = each.gatewayProblems.get(id);
    return reason === undefined ? [] : [`from ${each.id}: ${reason}`];
  });
  return reasons.length === 0 ? undefined : { reason: 'PeersFailed', message: reasons.join('; ') };
}

/** Everything that a member exports. */
export function recordsIn(member: Member): readonly ClusterExport[] {
  const { superclusterExports, serviceExports } = member.caches;
  const keys = new Set([...superclusterExports.list(), ...serviceExports.list()].map(keyOf));
  return [...keys].flatMap((key) => member.record(key) ?? []);
}
