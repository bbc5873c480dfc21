import type { Action, Policy } from './action.ts';
import { deleteWith, nothing, patchOwners, removeFinalizer, warnOfNamespace } from './action.ts';
import type { OwnershipGraph } from './graph.ts';
import type { Node } from './node.ts';
import { foregroundFinalizer, orphanFinalizer } from './node.ts';
import type { ClassifiedReference, OwnerLookup, OwnerState } from './classify.ts';
import { classify } from './classify.ts';

/** States of owners that keep an object. */
const keepsAlive: readonly OwnerState[] = ['solid', 'not-observed'];
/** States of references that are removed when another owner keeps the object. */
const removable: readonly OwnerState[] = ['orphaning', 'waiting', 'dangling', 'wrong-namespace'];

/**
 * Plans the actions for one object from its own state and that of its owners. An owner that is being deleted only checks
 * whether it has dependents left; deleting or orphaning a dependent is part of the plan of the dependent.
 */
export function plan(graph: OwnershipGraph, uid: string, lookup: OwnerLookup): readonly Action[] {
  const node = graph.node(uid);
  if (node?.presence !== 'observed') return [nothing('not-observed')];
  const references = node.owners.map((reference) => classify(graph, node, reference, lookup));
  // First, and without lookups: the deletion of the owner waits until the reference is removed.
  if (references.some(({ state }) => state === 'orphaning')) return [removeReferences(node, references)];
  if (node.isTerminating) return [planDeletion(graph, node)];
  if (references.length === 0) return [nothing('no-owners')];
  const warnings = references
    .filter(({ state }) => state === 'wrong-namespace' || state === 'unresolvable')
    .map(({ reference }) => warnOfNamespace(node, reference));
  return [...warnings, ...planOwned(node, references)];
}

/** Plans an object that is being deleted. */
function planDeletion(graph: OwnershipGraph, node: Node): Action {
  if (node.mode === 'live') return nothing('terminating');
  if (node.mode === 'orphaning') {
    return node.dependents.size > 0 ? nothing('orphaning-dependents') : removeFinalizer(node, orphanFinalizer);
  }
  if (node.blocking.size === 0) return removeFinalizer(node, foregroundFinalizer);
  return isInDeletionCycle(graph, node) ? unblockOwners(node) : nothing('waiting-for-dependents');
}

/** Plans an object with owners. */
function planOwned(node: Node, references: readonly ClassifiedReference[]): readonly Action[] {
  const has = (standing: OwnerState): boolean => references.some((one) => one.state === standing);
  if (has('unresolvable')) return [nothing('unresolvable-owner')];
  if (has('unknown-kind')) return [nothing('unknown-owner-kind')];
  const lookups = references.filter(({ state }) => state === 'lookup');
  if (lookups.length > 0) return lookups.map(({ owner }) => ({ type: 'lookup', target: node.identity, owner }));
  if (references.some(({ state }) => keepsAlive.includes(state))) {
    // Includes references to waiting owners, which would otherwise wait forever for this object.
    if (references.some(({ state }) => removable.includes(state))) return [removeReferences(node, references)];
    return [nothing(has('not-observed') ? 'owner-not-observed' : 'owned')];
  }
  if (has('waiting') && node.dependents.size > 0) return [deleteWith(node, 'Foreground')];
  return [deleteWith(node, policyOf(node))];
}

/** Respects a deletion policy that was set on the object as a finalizer. */
function policyOf({ finalizers }: Node): Policy {
  if (finalizers.includes(orphanFinalizer)) return 'Orphan';
  return finalizers.includes(foregroundFinalizer) ? 'Foreground' : 'Background';
}

const removeReferences = (node: Node, references: readonly ClassifiedReference[]): Action =>
  patchOwners(
    node,
    references.filter(({ state }) => !removable.includes(state)).map(({ reference }) => reference),
  );

const unblockOwners = (node: Node): Action =>
  patchOwners(
    node,
    node.owners.map((owner) => (owner.blockOwnerDeletion === true ? { ...owner, blockOwnerDeletion: false } : owner)),
  );

/**
 * Whether foreground deletions wait for each other in a cycle through this object. Follows owners, of which an object has
 * few, and not dependents.
 */
function isInDeletionCycle(graph: OwnershipGraph, start: Node): boolean {
  const ancestors = new Set([start]);
  for (const node of ancestors) {
    for (const { uid } of node.owners) {
      const owner = graph.node(uid);
      if (owner?.mode !== 'waiting' || !owner.blocking.has(node)) continue;
      if (owner === start) return true;
      ancestors.add(owner);
    }
  }
  return false;
}
