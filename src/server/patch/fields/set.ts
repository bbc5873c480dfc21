// Sets of field paths in their stored form (`fieldsV1`): a trie of plain objects. All operations share unchanged parts, so
// that a change of one field costs the length of its path.

/**
 * A set of paths. Keys are path elements (element.ts); a child without keys is a member, a child with the key `.` is a
 * member with members below it, any other child only leads to members. The root itself is never a member, and `{}` there
 * is the empty set. Since every key has a prefix, none equals an inherited property.
 */
export interface FieldSet {
  readonly [element: string]: FieldSet;
}

/** A set under construction. */
export type FieldSetBuilder = Record<string, FieldSet>;

/** A child that is a member without members below. */
export const leaf: FieldSet = Object.freeze({});

/** The set without members. */
export const emptySet: FieldSet = leaf;

/** Marks a member that has members below it. */
export const self = '.';

/** The set of the given paths of field names. */
export function fieldSetOf(...paths: readonly (readonly string[])[]): FieldSet {
  return paths.map((path) => pathSet(path)).reduce(union, emptySet);
}

const pathSet = (path: readonly string[]): FieldSet =>
  path.reduceRight<FieldSet>((below, name) => ({ [`f:${name}`]: below }), leaf);

/** Whether a set has no members. */
export function isEmptySet(set: FieldSet): boolean {
  for (const _ in set) return false;
  return true;
}

/** Whether a child is a member without members below. */
export const isLeaf: (node: FieldSet) => boolean = isEmptySet;

/** Whether a child is a member. */
export const isMember = (node: FieldSet): boolean => self in node || isLeaf(node);

/** The same child as a member. */
export const asMember = (node: FieldSet): FieldSet => (isMember(node) ? node : { [self]: leaf, ...node });

/** The paths in either set. */
export function union(left: FieldSet, right: FieldSet): FieldSet {
  if (left === right || isEmptySet(right)) return left;
  if (isEmptySet(left)) return right;
  const united: FieldSetBuilder = { ...left };
  for (const element in right) {
    const [mine, theirs] = [left[element], right[element]];
    if (theirs !== undefined && element !== self) united[element] = mine === undefined ? theirs : unite(mine, theirs);
  }
  return united;
}

/** The paths in any of the sets. Unites halves recursively, so that each path is copied O(log n) times. */
export function unionOf(sets: readonly FieldSet[]): FieldSet {
  const [first = emptySet, second] = sets;
  if (second === undefined) return first;
  const half = sets.length >> 1;
  return union(unionOf(sets.slice(0, half)), unionOf(sets.slice(half)));
}

function unite(left: FieldSet, right: FieldSet): FieldSet {
  if (isLeaf(right)) return asMember(left);
  if (isLeaf(left)) return asMember(right);
  const below = union(left, right);
  return self in right ? asMember(below) : below;
}

/** The paths of `left` that are not in `right`. */
export function difference(left: FieldSet, right: FieldSet): FieldSet {
  return keepChildren(left, right, subtract) ?? emptySet;
}

function subtract(left: FieldSet, right: FieldSet): FieldSet | undefined {
  const wasMember = isMember(left);
  const stays = wasMember && !isMember(right);
  const below = isLeaf(left) ? undefined : keepChildren(left, right, subtract);
  if (stays === wasMember && below === left) return left;
  if (below === undefined) return stays ? leaf : undefined;
  return stays ? asMember(below) : unmarked(below);
}

function unmarked(node: FieldSet): FieldSet {
  if (!(self in node)) return node;
  const { [self]: _, ...below } = node;
  return below;
}

/** The paths of `set` that are neither in `excluded` nor below a member of it. */
export function without(set: FieldSet, excluded: FieldSet): FieldSet {
  return keepChildren(set, excluded, nodeWithout) ?? emptySet;
}

/** The same for a child; undefined if nothing is left. */
export function nodeWithout(node: FieldSet, excluded: FieldSet): FieldSet | undefined {
  if (isMember(excluded)) return undefined;
  if (isLeaf(node)) return node;
  const below = keepChildren(node, excluded, nodeWithout);
  if (below === node) return node;
  if (below === undefined) return self in node ? leaf : undefined;
  return self in node ? asMember(below) : below;
}

/**
 * The children of `left`, each reduced by `keep` where `right` has it too: `left` itself when that changes nothing,
 * undefined when no child is left. A changed result has no mark of its own.
 */
function keepChildren(
  left: FieldSet,
  right: FieldSet,
  keep: (left: FieldSet, right: FieldSet) => FieldSet | undefined,
): FieldSet | undefined {
  const kept: FieldSetBuilder = {};
  let [any, changed] = [false, false];
  for (const element in left) {
    const child = left[element];
    if (element === self || child === undefined) continue;
    const other = right[element];
    const rest = other === undefined ? child : keep(child, other);
    changed ||= rest !== child;
    if (rest === undefined) continue;
    any = true;
    kept[element] = rest;
  }
  if (!changed) return any ? left : undefined;
  return any ? kept : undefined;
}

/** The paths in both sets. */
export function intersection(left: FieldSet, right: FieldSet): FieldSet {
  const common: FieldSetBuilder = {};
  for (const element in left) {
    const [mine, theirs] = [left[element], right[element]];
    if (mine === undefined || theirs === undefined || element === self) continue;
    const both = intersect(mine, theirs);
    if (both !== undefined) common[element] = both;
  }
  return common;
}

function intersect(left: FieldSet, right: FieldSet): FieldSet | undefined {
  const below = intersection(left, right);
  if (isMember(left) && isMember(right)) return asMember(below);
  return isEmptySet(below) ? undefined : below;
}
