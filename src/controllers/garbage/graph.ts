import type { ObjectMeta, OwnerReference } from '../../api/metadata.ts';
import type { Identity, Node } from './node.ts';
import { refersTo, mayOwn, modeOf, placeOf } from './node.ts';

type Entry = { -readonly [Field in keyof Omit<Node, 'dependents' | 'blocking' | 'absent'>]: Node[Field] } & {
  dependents: Set<Entry>;
  blocking: Set<Entry>;
  absent: Set<string>;
};

// Shared by all nodes without dependents, because most have none and empty sets would dominate the memory. Never modified.
const noEntries: Set<Entry> = new Set();
const noPlaces: Set<string> = new Set();

/**
 * The ownership graph by UID, updated from watch events. Every update returns the UIDs of the objects that have to be
 * planned again.
 *
 * ```
 *           referenced             observed
 *   (none) ────────────▶ virtual ────────────▶ observed ──▶ (none)     deleted without references to it
 *                          └──▶ (none)            │
 *                          last reference removed └───────▶ deleted    until the last reference is removed
 * ```
 *
 * The cost of an event is the number of its owner references, plus the direct dependents if the mode changes. No operation
 * walks the whole graph.
 */
export class OwnershipGraph {
  /** UID → node. */
  readonly #nodes = new Map<string, Entry>();

  /** The number of nodes, including virtual ones. */
  get size(): number {
    return this.#nodes.size;
  }

  /** The node of a UID. */
  node(uid: string): Node | undefined {
    return this.#nodes.get(uid);
  }

  /** Adds or updates an object. The type is an extra parameter because list items lack it. */
  observe(type: Pick<Identity, 'apiVersion' | 'kind'>, metadata: ObjectMeta): readonly string[] {
    const { uid = '', namespace = '', name = '', ownerReferences = [] } = metadata;
    const identity = { apiVersion: type.apiVersion, kind: type.kind, namespace, name, uid };
    const node = this.#nodes.get(uid) ?? this.#insert(identity);
    const affected = new Set<Entry>();
    const { presence, mode } = node;
    node.identity = identity;
    node.presence = 'observed';
    node.mode = modeOf(metadata);
    node.isTerminating = metadata.deletionTimestamp !== undefined;
    node.resourceVersion = metadata.resourceVersion ?? '';
    node.finalizers = metadata.finalizers ?? [];
    if (presence !== 'observed') unlinkForeignDependents(node, affected);
    if (this.#setOwners(node, ownerReferences, affected)) affected.add(node);
    if (node.mode !== mode) for (const entry of [node, ...node.dependents]) affected.add(entry);
    return uidsOf(affected);
  }

  /** Records the deletion of an object. */
  remove(uid: string): readonly string[] {
    const node = this.#nodes.get(uid);
    if (node === undefined) return [];
    const affected = new Set<Entry>();
    node.presence = 'deleted';
    node.mode = 'live';
    this.#setOwners(node, [], affected);
    this.#removeIfUnused(node);
    for (const dependent of node.dependents) affected.add(dependent);
    return uidsOf(affected);
  }

  /**
   * Records that a lookup did not find an owner. The result applies to all dependents and never expires, because UIDs are
   * not reused.
   */
  confirmAbsent(owner: Identity): readonly string[] {
    const node = this.#nodes.get(owner.uid);
    if (node === undefined) return [];
    if (node.absent === noPlaces) node.absent = new Set();
    node.absent.add(placeOf(owner));
    const isAffected = (dependent: Entry): boolean =>
      mayOwn(owner, dependent.identity) && dependent.owners.some((reference) => refersTo(reference, owner));
    return uidsOf([...node.dependents].filter(isAffected));
  }

  #insert(identity: Identity): Entry {
    const node: Entry = {
      identity,
      presence: 'virtual',
      mode: 'live',
      isTerminating: false,
      resourceVersion: '',
      finalizers: [],
      owners: [],
      dependents: noEntries,
      blocking: noEntries,
      absent: noPlaces,
    };
    this.#nodes.set(identity.uid, node);
    return node;
  }

  /** Replaces the owners of an object; returns whether a link changed. Owners that it blocked are affected. */
  #setOwners(node: Entry, owners: readonly OwnerReference[], affected: Set<Entry>): boolean {
    const previous = node.owners;
    node.owners = owners;
    if (haveSameLinks(previous, owners)) return false;
    for (const { uid } of previous) {
      this.#nodes.get(uid)?.dependents.delete(node);
      this.#nodes.get(uid)?.blocking.delete(node);
    }
    for (const reference of owners) this.#link(node, reference);
    for (const { uid } of previous) {
      const owner = this.#nodes.get(uid);
      if (owner === undefined) continue;
      if (isUnblocked(owner)) affected.add(owner);
      this.#removeIfUnused(owner);
    }
    return true;
  }

  #link(node: Entry, reference: OwnerReference): void {
    const { uid, apiVersion, kind, name } = reference;
    const { namespace } = node.identity;
    const owner = this.#nodes.get(uid) ?? this.#insert({ apiVersion, kind, namespace, name, uid });
    // The namespace of a virtual owner is a guess from its first reference.
    if (owner.presence !== 'virtual' && !mayOwn(owner.identity, node.identity)) return;
    if (owner.dependents === noEntries) owner.dependents = new Set();
    owner.dependents.add(node);
    if (reference.blockOwnerDeletion !== true) return;
    if (owner.blocking === noEntries) owner.blocking = new Set();
    owner.blocking.add(node);
  }

  #removeIfUnused(node: Entry): void {
    if (node.presence !== 'observed' && node.dependents.size === 0) this.#nodes.delete(node.identity.uid);
  }
}

/** Unlinks dependents in other namespaces when the namespace of an owner becomes known. */
function unlinkForeignDependents(owner: Entry, affected: Set<Entry>): void {
  for (const dependent of owner.dependents) {
    if (mayOwn(owner.identity, dependent.identity)) continue;
    owner.dependents.delete(dependent);
    owner.blocking.delete(dependent);
    affected.add(dependent);
  }
}

/** Whether the deletion of an object no longer waits for dependents. */
const isUnblocked = ({ presence, mode, dependents, blocking }: Node): boolean =>
  presence === 'observed' &&
  ((mode === 'waiting' && blocking.size === 0) || (mode === 'orphaning' && dependents.size === 0));

const haveSameLinks = (before: readonly OwnerReference[], after: readonly OwnerReference[]): boolean =>
  before.length === after.length &&
  before.every((reference, index) => {
    const other = after[index];
    return (
      other !== undefined && refersTo(reference, other) && reference.blockOwnerDeletion === other.blockOwnerDeletion
    );
  });

const uidsOf = (nodes: Iterable<Node>): readonly string[] => Array.from(nodes, ({ identity }) => identity.uid);
