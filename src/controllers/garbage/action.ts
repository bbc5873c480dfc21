import type { OwnerReference } from '../../api/metadata.ts';
import type { Identity, Node } from './node.ts';

/** What an object was when it was judged. The server refuses a write if either has changed; then plan again. */
export interface Preconditions {
  readonly uid: string;
  readonly resourceVersion: string;
}

/** What becomes of the dependents of what is deleted. */
export type Policy = 'Background' | 'Foreground' | 'Orphan';

/**
 * Deletes an object that has no owner left; `options` is the body of the request. The revision guards against an owner
 * that was added meanwhile. An object that changes all the time, but not its owners, may be deleted without it.
 */
export interface Delete {
  readonly type: 'delete';
  readonly target: Identity;
  readonly options: { readonly propagationPolicy: Policy; readonly preconditions: Preconditions };
}

/** Rewrites the owner references of an object; `body` is a JSON merge patch, which every kind understands. */
export interface PatchOwners {
  readonly type: 'patch-owners';
  readonly target: Identity;
  readonly body: { readonly metadata: Preconditions & { readonly ownerReferences: readonly OwnerReference[] } };
}

/** Takes off a finalizer of the collector's own, which ends the object if it was the last; `body` is a merge patch. */
export interface RemoveFinalizer {
  readonly type: 'remove-finalizer';
  readonly target: Identity;
  readonly body: { readonly metadata: Preconditions & { readonly finalizers: readonly string[] } };
}

/**
 * Looks an owner up at the server itself, since nothing is deleted because of what a cache has not seen. Not found, or
 * found with another UID: `confirmAbsent`. Found: plan again with its `modeOf` as the answer.
 */
export interface Ask {
  readonly type: 'ask';
  readonly target: Identity;
  readonly owner: Identity;
}

/** Tells people about an object that cannot be judged as its author meant. */
export interface Warn {
  readonly type: 'event';
  readonly target: Identity;
  readonly reason: 'OwnerRefInvalidNamespace';
  readonly message: string;
}

/**
 * Why there is nothing to do. All of them wait for an event, but two, which are to be planned again after a while:
 * `owner-unseen` (only a lookup knows the owner) and `unknown-owner-kind` (discovery may come to know it).
 */
export type Idle =
  | 'not-seen'
  | 'no-owners'
  | 'owned'
  | 'owner-unseen'
  | 'unknown-owner-kind'
  | 'unresolvable-owner'
  | 'terminating'
  | 'waiting-for-dependents'
  | 'orphaning-dependents';

/** Leaves an object as it is. */
export interface Nothing {
  readonly type: 'nothing';
  readonly because: Idle;
}

/** One thing the collector does for one object. */
export type Action = Delete | PatchOwners | RemoveFinalizer | Ask | Warn | Nothing;

const preconditionsOf = ({ identity, resourceVersion }: Node): Preconditions => ({
  uid: identity.uid,
  resourceVersion,
});

/** The action that deletes an object. */
export const deleteWith = (node: Node, propagationPolicy: Policy): Delete => ({
  type: 'delete',
  target: node.identity,
  options: { propagationPolicy, preconditions: preconditionsOf(node) },
});

/** The action that leaves an object with these owners. */
export const patchOwners = (node: Node, ownerReferences: readonly OwnerReference[]): PatchOwners => ({
  type: 'patch-owners',
  target: node.identity,
  body: { metadata: { ...preconditionsOf(node), ownerReferences } },
});

/** The action that takes a finalizer off. */
export const removeFinalizer = (node: Node, finalizer: string): RemoveFinalizer => ({
  type: 'remove-finalizer',
  target: node.identity,
  body: {
    metadata: { ...preconditionsOf(node), finalizers: node.finalizers.filter((other) => other !== finalizer) },
  },
});

/** The event about a reference to an owner that cannot be one from where the object is. */
export function warnOfNamespace({ identity }: Node, { apiVersion, kind, name, uid }: OwnerReference): Warn {
  const { namespace } = identity;
  const owner = `[${apiVersion}/${kind}, namespace: ${namespace}, name: ${name}, uid: ${uid}]`;
  const message = `ownerRef ${owner} does not exist in namespace ${JSON.stringify(namespace)}`;
  return { type: 'event', target: identity, reason: 'OwnerRefInvalidNamespace', message };
}

/** The action of leaving things alone. */
export const nothing = (because: Idle): Nothing => ({ type: 'nothing', because });
