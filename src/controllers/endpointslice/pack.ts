// Distributes endpoints over slices. Every write of a slice is sent to every node, so the number of writes is minimized.
import type { Endpoint, EndpointSlice } from '../../api/kinds/discovery/endpointslice/schema.ts';
import { sameMap } from '../slices.ts';
import type { Backend } from './backends.ts';
import { endpointOf, isCurrent, isSameBackend } from './backends.ts';

/** A slice and its desired endpoints. */
export interface Draft {
  readonly slice: EndpointSlice;
  readonly endpoints: readonly Endpoint[];
  readonly state: 'new' | 'changed' | 'unchanged';
}

export interface Packed {
  readonly drafts: readonly Draft[];
  /** Slices without endpoints. */
  readonly emptied: readonly EndpointSlice[];
}

/**
 * Distributes backends over the slices of one list of ports, in three passes:
 *
 *     1  existing slices keep their current endpoints     emptied → deleted, changed → updated, otherwise unchanged
 *     2  new endpoints fill the changed slices            the fullest first
 *     3  the rest goes into one unchanged slice           the best fit; if there is none, into new slices
 *
 * Slices are never rebalanced or merged, to avoid writes.
 */
export function pack(
  existing: readonly EndpointSlice[],
  backends: ReadonlyMap<string, Backend>,
  { fresh, max }: { readonly fresh: EndpointSlice; readonly max: number },
): Packed {
  const { drafts, emptied, left } = keep(existing, backends, fresh);
  if (left.length === 0) return { drafts, emptied };
  const rest = fillChanged(drafts, left, max);
  for (let start = 0; start < rest.length; start += max) {
    const endpoints = rest.slice(start, start + max);
    const at = endpoints.length < max ? bestFit(drafts, endpoints.length, max) : -1;
    const draft = drafts[at];
    if (draft === undefined) drafts.push({ slice: fresh, endpoints, state: 'new' });
    else drafts[at] = { ...draft, endpoints: [...draft.endpoints, ...endpoints], state: 'changed' };
  }
  return { drafts, emptied };
}

/** Pass 1. `left` are the endpoints that are in no slice yet, sorted by Pod name. */
function keep(
  existing: readonly EndpointSlice[],
  backends: ReadonlyMap<string, Backend>,
  fresh: EndpointSlice,
): { drafts: Draft[]; emptied: EndpointSlice[]; left: Endpoint[] } {
  const drafts: Draft[] = [];
  const emptied: EndpointSlice[] = [];
  const placed = new Set<string>();
  for (const slice of existing) {
    const held = slice.endpoints ?? [];
    const endpoints = keptEndpoints(held, backends, placed);
    if (endpoints.length === 0 && held.length > 0) emptied.push(slice);
    else {
      const isSame = endpoints === held && sameMap(slice.metadata.labels, fresh.metadata.labels);
      drafts.push({ slice, endpoints, state: isSame ? 'unchanged' : 'changed' });
    }
  }
  if (placed.size === backends.size) return { drafts, emptied, left: [] };
  const names = [...backends.keys()].filter((name) => !placed.has(name)).sort();
  const left = names.flatMap((name) => {
    const backend = backends.get(name);
    return backend === undefined ? [] : [endpointOf(backend)];
  });
  return { drafts, emptied, left };
}

/** The updated endpoints that stay in a slice; the same array if nothing changed. */
function keptEndpoints(
  held: readonly Endpoint[],
  backends: ReadonlyMap<string, Backend>,
  placed: Set<string>,
): readonly Endpoint[] {
  let kept: Endpoint[] | undefined;
  for (let index = 0; index < held.length; index++) {
    const endpoint = held[index];
    if (endpoint === undefined) continue;
    const name = endpoint.targetRef?.name ?? '';
    const backend = backends.get(name);
    const stays = backend !== undefined && isSameBackend(endpoint, backend) && !placed.has(name);
    if (stays) placed.add(name);
    if (stays && isCurrent(endpoint, backend)) kept?.push(endpoint);
    else {
      kept ??= held.slice(0, index);
      if (stays) kept.push(endpointOf(backend, endpoint.hints));
    }
  }
  return kept ?? held;
}

/** Pass 2. Modifies `drafts` and returns the endpoints that did not fit. */
function fillChanged(drafts: Draft[], left: readonly Endpoint[], max: number): readonly Endpoint[] {
  const order = [...drafts.keys()]
    .filter((index) => drafts[index]?.state === 'changed')
    .sort((a, b) => (drafts[b]?.endpoints.length ?? 0) - (drafts[a]?.endpoints.length ?? 0));
  let rest = left;
  for (const index of order) {
    const draft = drafts[index];
    const room = max - (draft?.endpoints.length ?? max);
    if (draft === undefined || room <= 0 || rest.length === 0) continue;
    drafts[index] = { ...draft, endpoints: [...draft.endpoints, ...rest.slice(0, room)] };
    rest = rest.slice(room);
  }
  return rest;
}

/** Pass 3: the unchanged slice in which `count` endpoints leave the least room; -1 if they fit in none. */
function bestFit(drafts: readonly Draft[], count: number, max: number): number {
  let best = -1;
  let leastRoom = max;
  for (const [index, { state, endpoints }] of drafts.entries()) {
    const room = max - count - endpoints.length;
    if (state !== 'unchanged' || room < 0 || room >= leastRoom) continue;
    best = index;
    leastRoom = room;
  }
  return best;
}
