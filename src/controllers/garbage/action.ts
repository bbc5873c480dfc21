import type { OwnerReference } from '../../api/metadata.ts';
import type { Identity, Node } from './node.ts';

/** The object that the plan saw. The server rejects a write if it has changed; then the object is planned again. */
export interface Preconditions {
  readonly uid: string;
  readonly resourceVersion: string;
}

export type Policy = 'Background' | 'Foreground' | 'Orphan';

/**
 * Deletes an object without remaining owners; `options` is the body of the request. The revision protects against an owner
 * that was added meanwhile.
 */
export interface Delete {
  readonly type: 'delete';
  readonly target: Identity;
  readonly options: { readonly propagationPolicy: Policy; readonly preconditions: Preconditions };
}

/** Replaces the owner references of an object; `body` is a JSON merge patch, which every kind supports. */
export interface PatchOwners {
  readonly type: 'patch-owners';
  readonly target: Identity;
  readonly body: { readonly metadata: Preconditions & { readonly ownerReferences: readonly OwnerReference[] } };
}

/** Removes a finalizer of the garbage collector; `body` is a merge patch. */
export interface RemoveFinalizer {
  readonly type: 'remove-finalizer';
  readonly target: Identity;
  readonly body: { readonly metadata: Preconditions & { readonly finalizers: readonly string[] } };
}

/**
 * Gets an owner from the server, because an object is never deleted because of a stale cache. If it does not exist or has
 * another UID, call `confirmAbsent`; otherwise plan again with its `modeOf` as the result.
 */
export interface Lookup {
  readonly type: 'lookup';
  readonly target: Identity;
  readonly owner: Identity;
}

/** Records an Event about an invalid owner reference. */
export interface Warn {
  readonly type: 'event';
  readonly target: Identity;
  readonly reason: 'OwnerRefInvalidNamespace';
  readonly message: string;
}

/**
 * Why there is nothing to do. All wait for an event except `owner-not-observed` and `unknown-owner-kind`, which are planned
 * again after a delay.
 */
export type IdleReason =
  | 'not-observed'
  | 'no-owners'
  | 'owned'
  | 'owner-not-observed'
  | 'unknown-owner-kind'
  | 'unresolvable-owner'
  | 'terminating'
  | 'waiting-for-dependents'
  | 'orphaning-dependents';

export interface Nothing {
  readonly type: 'nothing';
  readonly because: IdleReason;
}

/** One action for one object. */
export type Action = Delete | PatchOwners | RemoveFinalizer | Lookup | Warn | Nothing;

const preconditionsOf = ({ identity, resourceVersion }: Node): Preconditions => ({
  uid: identity.uid,
  resourceVersion,
});

export const deleteWith = (node: Node, propagationPolicy: Policy): Delete => ({
  type: 'delete',
  target: node.identity,
  options: { propagationPolicy, preconditions: preconditionsOf(node) },
});

export const patchOwners = (node: Node, ownerReferences: readonly OwnerReference[]): PatchOwners => ({
  type: 'patch-owners',
  target: node.identity,
  body: { metadata: { ...preconditionsOf(node), ownerReferences } },
});

export const removeFinalizer = (node: Node, finalizer: string): RemoveFinalizer => ({
  type: 'remove-finalizer',
  target: node.identity,
  body: {
    metadata: { ...preconditionsOf(node), finalizers: node.finalizers.filter((other) => other !== finalizer) },
  },
});

/** The Event about an owner in a namespace from which it cannot own the object; the message is that of Kubernetes. */
export function warnOfNamespace({ identity }: Node, { apiVersion, kind, name, uid }: OwnerReference): Warn {
  const { namespace } = identity;
  const owner = `[${apiVersion}/${kind}, namespace: ${namespace}, name: ${name}, uid: ${uid}]`;
  const message = `ownerRef ${owner} does not exist in namespace ${JSON.stringify(namespace)}`;
  return { type: 'event', target: identity, reason: 'OwnerRefInvalidNamespace', message };
}

export const nothing = (because: IdleReason): Nothing => ({ type: 'nothing', because });
