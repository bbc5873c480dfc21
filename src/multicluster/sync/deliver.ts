import type { Key } from '../../client/key.ts';
import { endpointSliceKind } from '../../api/kinds/discovery/endpointslice/kind.ts';
import type { EndpointSlice } from '../../api/kinds/discovery/endpointslice/schema.ts';
import { sourceClusterLabel } from '../../api/kinds/multicluster/labels.ts';
import type { Merged } from '../merge/merged.ts';
import type { Member } from '../member/member.ts';
import { deliveryOf } from '../project/delivery.ts';
import type { Actual, Desired, Write } from '../project/desired.ts';
import { diff } from '../project/diff.ts';
import type { Delivery } from '../project/export-conditions.ts';
import type { Memory } from '../project/memory.ts';
import { project } from '../project/project.ts';
import type { VipState } from '../vip/allocator.ts';

/** What one member holds of a service once everything is written. */
export interface Delivered {
  readonly delivery: Delivery;
  /** The clusters that take part in it, by precedence. */
  readonly clusters: readonly string[];
  readonly writes: number;
  /** Deletions were held back; this is how long to wait. */
  readonly waitMs: number;
}

/** For which service, into which member, and what is known of the others. */
export interface Projection {
  readonly key: Key;
  readonly merged: Merged;
  readonly member: Member;
  /** Members that have not been read: what came from them stays as it is. */
  readonly unknown: ReadonlySet<string>;
  /** Members that are lost: their slices are the reaper's. */
  readonly lost: ReadonlySet<string>;
  /** Members that do not answer, and may be lost. */
  readonly silent?: ReadonlySet<string>;
  readonly memory?: Memory;
}

export interface DeliveryInput extends Projection {
  /** 0: a write may be made; else how long a deletion has to wait. */
  readonly brake: (write: Write) => number;
  /** The time for conditions that change. */
  readonly now: () => string;
  readonly onWrite: (write: Write) => void;
}

/** Slices need imports, and these may need a derived Service: that many steps are enough. */
const mostSteps = 6;

/** Makes a member hold what it is to hold of a service. Throws what its server refuses; a new try starts from there. */
export async function deliver(input: DeliveryInput, signal: AbortSignal): Promise<Delivered> {
  const { member, merged, memory } = input;
  let writes = 0;
  for (let step = 0; step < mostSteps; step++) {
    const { desired, actual } = desiredIn(input);
    const difference = diff(desired, actual, { now: input.now(), ...(memory && { memory }) });
    let waitMs = 0;
    for (const write of difference.writes) {
      const wait = input.brake(write);
      if (wait === 0) {
        await member.apply(write, signal);
        input.onWrite(write);
        writes++;
      } else waitMs = Math.max(waitMs, wait);
    }
    if (difference.isPartial) continue;
    const delivery = deliveryOf(member.facts(), desired, { ...difference, writes: [] });
    return { delivery, clusters: merged.order, writes, waitMs };
  }
  throw new Error(`${input.key} does not come to rest in cluster ${member.id}: something else keeps changing it`);
}

/** How far a service has come in a member that somebody else writes to, by what it holds. */
export function judge(input: Projection): Delivered {
  const { member, merged, memory } = input;
  const { desired, actual } = desiredIn(input);
  const difference = diff(desired, actual, { now: '', ...(memory && { memory }) });
  const delivery = deliveryOf(member.facts(), desired, difference);
  return { delivery, clusters: merged.order, writes: 0, waitMs: 0 };
}

/** What a member is to hold now, and what it holds. */
export function desiredIn({ key, merged, member, unknown, lost, silent, memory }: Projection): {
  readonly desired: Desired;
  readonly actual: Actual;
} {
  const facts = member.facts();
  const actual = member.actual(key);
  const isWanted = facts.namespaces.has(merged.namespace);
  const shown = merged.views.current ?? merged.views.seed;
  const { vips, isReadOnly = false } = member.options;
  // Where somebody else writes, the address is the one that is there.
  const vip: VipState =
    vips === undefined || isReadOnly || !isWanted ? { state: 'unneeded' } : vips.addressesFor(key, shown, actual);
  const target = {
    member: facts,
    actual,
    vip,
    unknownClusters: unknown,
    lostClusters: lost,
    ...(silent && { silentClusters: silent }),
    ...(memory && { memory }),
  };
  const desired = project(merged, target);
  return { desired, actual: withNamed(actual, desired, member) };
}

/** Slices that are to be there and are, under labels by which they were not found. */
function withNamed(actual: Actual, { slices }: Desired, member: Member): Actual {
  if (slices === 'later') return actual;
  const found = new Set(actual.slices.map(({ metadata }) => metadata.name));
  const named = slices.flatMap(({ metadata: { namespace = '', name = '' } }): readonly EndpointSlice[] => {
    const slice = found.has(name) ? undefined : member.slice(namespace, name);
    return slice === undefined ? [] : [slice];
  });
  return named.length === 0 ? actual : { ...actual, slices: [...actual.slices, ...named] };
}

/** The source cluster of a slice that a write deletes; undefined: it deletes no slice. */
export const deletedSource = ({ verb, kind, object }: Write): string | undefined =>
  verb === 'delete' && kind === endpointSliceKind ? (object.metadata.labels?.[sourceClusterLabel] ?? '') : undefined;
