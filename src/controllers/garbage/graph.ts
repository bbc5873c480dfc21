import type { ObjectMeta, OwnerReference } from '../../api/metadata.ts';
import type { Identity, Node } from './node.ts';
import { isSpelledAs, mayOwn, modeOf, placeOf } from './node.ts';

type Entry = { -readonly [Field in keyof Omit<Node, 'dependents' | 'blocking' | 'absent'>]: Node[Field] } & {
  dependents: Set<Entry>;
  blocking: Set<Entry>;
  absent: Set<string>;
};

// Most objects own nothing, and three sets for each would be most of what the graph takes. Never added to.
const noEntries: Set<Entry> = new Set();
const nowhere: Set<string> = new Set();

/**
 * Who owns whom, by UID, kept up to date from watch events. Each change returns the UIDs of the objects for which there
 * may now be something to do: the caller plans those again, and no others.
 *
 * ```
 *            a reference to it            it appears
 *   (nothing) ───────────────▶ unseen ───────────────▶ seen ──▶ (nothing)   deleted, and nobody refers to it
 *                                ▲ └──▶ (nothing)       │
 *                                      last reference   └─────▶ gone        deleted, until the last reference goes
 * ```
 *
 * An event costs its own references, and the object's direct dependents when what it is to them changes. Nothing ever
 * walks the whole graph.
 */
export class OwnershipGraph {
  /** UID → node. */
  readonly #nodes = new Map<string, Entry>();

  /** How many objects and unseen owners the graph holds. */
  get size(): number {
    return this.#nodes.size;
  }

  /** What is known of a UID. */
  node(uid: string): Node | undefined {
    return this.#nodes.get(uid);
  }

  /** Takes in an object that was added or changed. Its type is given apart, since items of a list do not carry it. */
  observe(type: Pick<Identity, 'apiVersion' | 'kind'>, metadata: ObjectMeta): readonly string[] {
    const { uid = '', namespace = '', name = '', ownerReferences = [] } = metadata;
    const identity = { apiVersion: type.apiVersion, kind: type.kind, namespace, name, uid };
    const node = this.#nodes.get(uid) ?? this.#insert(identity);
    const affected = new Set<Entry>();
    const { sight, mode } = node;
    node.identity = identity;
    node.sight = 'seen';
    node.mode = modeOf(metadata);
    node.isTerminating = metadata.deletionTimestamp !== undefined;
    node.resourceVersion = metadata.resourceVersion ?? '';
    node.finalizers = metadata.finalizers ?? [];
    if (sight !== 'seen') refuseForeigners(node, affected);
    if (this.#reown(node, ownerReferences, affected)) affected.add(node);
    if (node.mode !== mode) for (const entry of [node, ...node.dependents]) affected.add(entry);
    return uidsOf(affected);
  }

  /** Takes in that an object was deleted. */
  remove(uid: string): readonly string[] {
    const node = this.#nodes.get(uid);
    if (node === undefined) return [];
    const affected = new Set<Entry>();
    node.sight = 'gone';
    node.mode = 'live';
    this.#reown(node, [], affected);
    this.#forget(node);
    for (const dependent of node.dependents) affected.add(dependent);
    return uidsOf(affected);
  }

  /**
   * Takes in that a live lookup at the place an `ask` named found nothing, or another UID. It is asked once for all
   * dependents, and holds for ever: a UID does not come back.
   */
  confirmAbsent(owner: Identity): readonly string[] {
    const node = this.#nodes.get(owner.uid);
    if (node === undefined) return [];
    if (node.absent === nowhere) node.absent = new Set();
    node.absent.add(placeOf(owner));
    const looked = (dependent: Entry): boolean =>
      mayOwn(owner, dependent.identity) && dependent.owners.some((reference) => isSpelledAs(reference, owner));
    return uidsOf([...node.dependents].filter(looked));
  }

  #insert(identity: Identity): Entry {
    const node: Entry = {
      identity,
      sight: 'unseen',
      mode: 'live',
      isTerminating: false,
      resourceVersion: '',
      finalizers: [],
      owners: [],
      dependents: noEntries,
      blocking: noEntries,
      absent: nowhere,
    };
    this.#nodes.set(identity.uid, node);
    return node;
  }

  /** Gives an object other owners; true if that changed a link. Owners that it held up are affected. */
  #reown(node: Entry, owners: readonly OwnerReference[], affected: Set<Entry>): boolean {
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
      if (isFree(owner)) affected.add(owner);
      this.#forget(owner);
    }
    return true;
  }

  #link(node: Entry, reference: OwnerReference): void {
    const { uid, apiVersion, kind, name } = reference;
    const { namespace } = node.identity;
    const owner = this.#nodes.get(uid) ?? this.#insert({ apiVersion, kind, namespace, name, uid });
    // Where an unseen owner is, is a guess from the first reference to it.
    if (owner.sight !== 'unseen' && !mayOwn(owner.identity, node.identity)) return;
    if (owner.dependents === noEntries) owner.dependents = new Set();
    owner.dependents.add(node);
    if (reference.blockOwnerDeletion !== true) return;
    if (owner.blocking === noEntries) owner.blocking = new Set();
    owner.blocking.add(node);
  }

  #forget(node: Entry): void {
    if (node.sight !== 'seen' && node.dependents.size === 0) this.#nodes.delete(node.identity.uid);
  }
}

/** Now that an owner's namespace is known, those who refer to it from another one are not its dependents. */
function refuseForeigners(owner: Entry, affected: Set<Entry>): void {
  for (const dependent of owner.dependents) {
    if (mayOwn(owner.identity, dependent.identity)) continue;
    owner.dependents.delete(dependent);
    owner.blocking.delete(dependent);
    affected.add(dependent);
  }
}

/** Whether nothing holds up the end of an object that waited for its dependents. */
const isFree = ({ sight, mode, dependents, blocking }: Node): boolean =>
  sight === 'seen' && ((mode === 'waiting' && blocking.size === 0) || (mode === 'orphaning' && dependents.size === 0));

const haveSameLinks = (before: readonly OwnerReference[], after: readonly OwnerReference[]): boolean =>
  before.length === after.length &&
  before.every((reference, index) => {
    const other = after[index];
    return (
      other !== undefined && isSpelledAs(reference, other) && reference.blockOwnerDeletion === other.blockOwnerDeletion
    );
  });

const uidsOf = (nodes: Iterable<Node>): readonly string[] => Array.from(nodes, ({ identity }) => identity.uid);
