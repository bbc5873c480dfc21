import type { ObjectMeta, OwnerReference } from '../../api/metadata.ts';

/** Where an object is and which one of that name it is. */
export interface Identity {
  readonly apiVersion: string;
  readonly kind: string;
  /** '' for a cluster-scoped object. */
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
}

/**
 * What an object is to its dependents. `waiting`: it is being deleted in the foreground, after them. `orphaning`: it is
 * being deleted and lets go of them first. Everything else is `live`, a plain deletion included, until it is gone.
 */
export type Mode = 'live' | 'waiting' | 'orphaning';

/** One object of the ownership graph, or a name that others refer to as their owner. */
export interface Node {
  readonly identity: Identity;
  /** `unseen`: only known from references. `gone`: was deleted, and dependents are left that refer to it. */
  readonly sight: 'unseen' | 'seen' | 'gone';
  readonly mode: Mode;
  readonly isTerminating: boolean;
  readonly resourceVersion: string;
  readonly finalizers: readonly string[];
  readonly owners: readonly OwnerReference[];
  /** Objects that refer to this one as an owner, except from namespaces it cannot own anything in. */
  readonly dependents: ReadonlySet<Node>;
  /** Those dependents that a foreground deletion of this object waits for. */
  readonly blocking: ReadonlySet<Node>;
  /** Places where a live lookup did not find this UID: `placeOf` each. */
  readonly absent: ReadonlySet<string>;
}

/** The finalizers of the garbage collector itself. */
export const orphanFinalizer = 'orphan';
export const foregroundFinalizer = 'foregroundDeletion';

/** What an object with this metadata is to its dependents. */
export function modeOf({ deletionTimestamp, finalizers = [] }: ObjectMeta): Mode {
  if (deletionTimestamp === undefined) return 'live';
  // Both at once is only possible by hand. Letting go first is the choice that loses nothing.
  if (finalizers.includes(orphanFinalizer)) return 'orphaning';
  return finalizers.includes(foregroundFinalizer) ? 'waiting' : 'live';
}

/** An identity without its UID, as a key. */
export const placeOf = ({ apiVersion, kind, namespace, name }: Identity): string =>
  [apiVersion, kind, namespace, name].join('\n');

/** Whether a reference spells its owner as the owner is known. */
export const isSpelledAs = (reference: OwnerReference, owner: Omit<Identity, 'namespace'>): boolean =>
  reference.uid === owner.uid &&
  reference.name === owner.name &&
  reference.kind === owner.kind &&
  reference.apiVersion === owner.apiVersion;

/** Whether an object of one namespace may own one of another: cluster-scoped owners may own everything. */
export const mayOwn = (owner: Identity, dependent: Identity): boolean =>
  owner.namespace === '' || owner.namespace === dependent.namespace;
