import type { Action, Policy } from './action.ts';
import { deleteWith, nothing, patchOwners, removeFinalizer, warnOfNamespace } from './action.ts';
import type { OwnershipGraph } from './graph.ts';
import type { Node } from './node.ts';
import { foregroundFinalizer, orphanFinalizer } from './node.ts';
import type { Judged, Knowledge, Standing } from './standing.ts';
import { judge } from './standing.ts';

/** Standings that keep an object alive. */
const holding: readonly Standing[] = ['solid', 'unseen'];
/** Standings that a reference is taken off for, once it is certain that the object lives on. */
const spent: readonly Standing[] = ['orphaning', 'waiting', 'dangling', 'refused'];

/**
 * What to do for one object, by what it and its owners are now. Each object is judged alone: an owner that waits for its
 * dependents or lets go of them only ever looks at whether any is left, and its dependents do the rest for themselves.
 */
export function plan(graph: OwnershipGraph, uid: string, knowledge: Knowledge): readonly Action[] {
  const node = graph.node(uid);
  if (node?.sight !== 'seen') return [nothing('not-seen')];
  const judged = node.owners.map((reference) => judge(graph, node, reference, knowledge));
  // Before all else, and whatever else there is to learn: what an owner lets go of lives on, and the owner waits for it.
  if (judged.some(({ standing }) => standing === 'orphaning')) return [stripSpent(node, judged)];
  if (node.isTerminating) return [planEnding(graph, node)];
  if (judged.length === 0) return [nothing('no-owners')];
  const warnings = judged
    .filter(({ standing }) => standing === 'refused' || standing === 'unresolvable')
    .map(({ reference }) => warnOfNamespace(node, reference));
  return [...warnings, ...planOwned(node, judged)];
}

/** What an object that is being deleted needs from the collector. */
function planEnding(graph: OwnershipGraph, node: Node): Action {
  if (node.mode === 'live') return nothing('terminating');
  if (node.mode === 'orphaning') {
    return node.dependents.size > 0 ? nothing('orphaning-dependents') : removeFinalizer(node, orphanFinalizer);
  }
  if (node.blocking.size === 0) return removeFinalizer(node, foregroundFinalizer);
  return waitsForItself(graph, node) ? unblockOwners(node) : nothing('waiting-for-dependents');
}

/** What becomes of an object that has owners. */
function planOwned(node: Node, judged: readonly Judged[]): readonly Action[] {
  const has = (standing: Standing): boolean => judged.some((one) => one.standing === standing);
  if (has('unresolvable')) return [nothing('unresolvable-owner')];
  if (has('unknown-kind')) return [nothing('unknown-owner-kind')];
  const questions = judged.filter(({ standing }) => standing === 'ask');
  if (questions.length > 0) return questions.map(({ owner }) => ({ type: 'ask', target: node.identity, owner }));
  if (judged.some(({ standing }) => holding.includes(standing))) {
    // References to waiting owners go too: the owner would wait for ever for an object that lives on.
    if (judged.some(({ standing }) => spent.includes(standing))) return [stripSpent(node, judged)];
    return [nothing(has('unseen') ? 'owner-unseen' : 'owned')];
  }
  if (has('waiting') && node.dependents.size > 0) return [deleteWith(node, 'Foreground')];
  return [deleteWith(node, policyOf(node))];
}

/** A policy that was put on the object before anybody deleted it is honoured. */
function policyOf({ finalizers }: Node): Policy {
  if (finalizers.includes(orphanFinalizer)) return 'Orphan';
  return finalizers.includes(foregroundFinalizer) ? 'Foreground' : 'Background';
}

const stripSpent = (node: Node, judged: readonly Judged[]): Action =>
  patchOwners(
    node,
    judged.filter(({ standing }) => !spent.includes(standing)).map(({ reference }) => reference),
  );

const unblockOwners = (node: Node): Action =>
  patchOwners(
    node,
    node.owners.map((owner) => (owner.blockOwnerDeletion === true ? { ...owner, blockOwnerDeletion: false } : owner)),
  );

/**
 * Whether an object that waits for its dependents is, through owners that wait too, one of those it waits for. It looks
 * upwards only, where there are few: an object has a handful of owners, but may have any number of dependents.
 */
function waitsForItself(graph: OwnershipGraph, start: Node): boolean {
  const above = new Set([start]);
  for (const node of above) {
    for (const { uid } of node.owners) {
      const owner = graph.node(uid);
      if (owner?.mode !== 'waiting' || !owner.blocking.has(node)) continue;
      if (owner === start) return true;
      above.add(owner);
    }
  }
  return false;
}
