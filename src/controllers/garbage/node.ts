import type { ObjectMeta, OwnerReference } from '../../api/metadata.ts';

/** Kind, name and UID of an object. */
export interface Identity {
  readonly apiVersion: string;
  readonly kind: string;
  /** '' for a cluster-scoped object. */
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
}

/**
 * How the deletion of an object affects its dependents. `waiting`: foreground deletion, which waits for them. `orphaning`:
 * their owner references are removed first. `live`: everything else, including background deletion.
 */
export type Mode = 'live' | 'waiting' | 'orphaning';

/** An object of the ownership graph, or an owner that is only known from references. */
export interface Node {
  readonly identity: Identity;
  /** `virtual`: only known from references. `deleted`: dependents still refer to it. */
  readonly presence: 'virtual' | 'observed' | 'deleted';
  readonly mode: Mode;
  readonly isTerminating: boolean;
  readonly resourceVersion: string;
  readonly finalizers: readonly string[];
  readonly owners: readonly OwnerReference[];
  /** Objects with an owner reference to this one, except from other namespaces. */
  readonly dependents: ReadonlySet<Node>;
  /** Dependents that block a foreground deletion of this object. */
  readonly blocking: ReadonlySet<Node>;
  /** `placeOf` of the lookups that did not find this UID. */
  readonly absent: ReadonlySet<string>;
}

/** The finalizers of the garbage collector itself. */
export const orphanFinalizer = 'orphan';
export const foregroundFinalizer = 'foregroundDeletion';

/** The mode of an object with this metadata. */
export function modeOf({ deletionTimestamp, finalizers = [] }: ObjectMeta): Mode {
  if (deletionTimestamp === undefined) return 'live';
  // Both finalizers are only possible by hand. Orphaning deletes nothing, so it is the safe choice.
  if (finalizers.includes(orphanFinalizer)) return 'orphaning';
  return finalizers.includes(foregroundFinalizer) ? 'waiting' : 'live';
}

/** Kind and name as a key, without the UID. */
export const placeOf = ({ apiVersion, kind, namespace, name }: Identity): string =>
  [apiVersion, kind, namespace, name].join('\n');

/** Whether a reference matches the kind, name and UID of an owner. */
export const refersTo = (reference: OwnerReference, owner: Omit<Identity, 'namespace'>): boolean =>
  reference.uid === owner.uid &&
  reference.name === owner.name &&
  reference.kind === owner.kind &&
  reference.apiVersion === owner.apiVersion;

/** Whether an owner is cluster-scoped or in the namespace of the dependent. */
export const mayOwn = (owner: Identity, dependent: Identity): boolean =>
  owner.namespace === '' || owner.namespace === dependent.namespace;
