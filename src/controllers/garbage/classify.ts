import type { OwnerReference } from '../../api/metadata.ts';
import type { OwnershipGraph } from './graph.ts';
import type { Identity, Mode, Node } from './node.ts';
import { refersTo, mayOwn, placeOf } from './node.ts';

/** Information about owners that is not in the graph. */
export interface OwnerLookup {
  /** The scope of a kind; undefined if the server does not serve it. */
  scopeOf(apiVersion: string, kind: string): 'Namespaced' | 'Cluster' | undefined;
  /** The result of a lookup for this plan; undefined if there was none. */
  resultFor(owner: Identity): Mode | 'absent' | undefined;
}

/**
 * The state of an owner reference.
 * - `solid`: the owner exists; `not-observed`: it exists according to a lookup, but no watch has delivered it.
 * - `waiting`, `orphaning`: it exists and is being deleted after its dependents, or without them.
 * - `dangling`: it does not exist; `wrong-namespace`: it is in a namespace from which it cannot own the object.
 * - `unresolvable`: a cluster-scoped object refers to an owner of a namespaced kind, whose namespace is unknown.
 * - `unknown-kind`: the server does not serve the kind; `lookup`: a lookup has to decide.
 */
export type OwnerState =
  | 'solid'
  | 'not-observed'
  | 'waiting'
  | 'orphaning'
  | 'dangling'
  | 'wrong-namespace'
  | 'unresolvable'
  | 'unknown-kind'
  | 'lookup';

/** A reference with its state and the identity to look up. */
export interface ClassifiedReference {
  readonly reference: OwnerReference;
  readonly state: OwnerState;
  readonly owner: Identity;
}

/** Classifies one owner reference of an object. */
export function classify(
  graph: OwnershipGraph,
  { identity }: Node,
  reference: OwnerReference,
  lookup: OwnerLookup,
): ClassifiedReference {
  const { apiVersion, kind, name, uid } = reference;
  const owner = { apiVersion, kind, namespace: identity.namespace, name, uid };
  const node = graph.node(uid);
  const known = stateInGraph(node, identity, reference);
  if (known !== undefined) return { reference, state: known, owner };
  const scope = lookup.scopeOf(apiVersion, kind);
  const place = scope === 'Cluster' ? { ...owner, namespace: '' } : owner;
  const is = (state: OwnerState): ClassifiedReference => ({ reference, state, owner: place });
  if (identity.namespace === '' && scope === 'Namespaced') return is('unresolvable');
  // A watch delivered the deletion, so the kind need not be served any more.
  if (node?.presence === 'deleted' && (scope !== undefined || identity.namespace !== '')) return is('dangling');
  if (node?.presence === 'observed' && !mayOwn(node.identity, identity)) return is('wrong-namespace');
  if (scope === undefined) return is('unknown-kind');
  if (node?.absent.has(placeOf(place)) === true) return is('dangling');
  const result = lookup.resultFor(place);
  if (result === undefined) return is('lookup');
  if (result === 'absent') return is('dangling');
  if (result !== 'live') return is(result);
  // Observed with another API version, so its deletion will be observed too.
  return is(node?.presence === 'observed' ? 'solid' : 'not-observed');
}

/** The state according to the graph alone, which suffices in a steady cluster. */
function stateInGraph(node: Node | undefined, dependent: Identity, reference: OwnerReference): OwnerState | undefined {
  if (node?.presence !== 'observed' || !mayOwn(node.identity, dependent)) return undefined;
  // Even if the reference does not match exactly: orphaning keeps the object in any case.
  if (node.mode === 'orphaning') return 'orphaning';
  if (!refersTo(reference, node.identity)) return undefined;
  return node.mode === 'waiting' ? 'waiting' : 'solid';
}
