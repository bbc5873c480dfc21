// An immutable sorted map: `set` and `delete` return a new tree that shares all but one path with the old one, so a
// snapshot of the store is a pointer. It is a B+ tree, since copying one short array is faster than many small nodes.

/** An item with its key. */
export interface Keyed {
  readonly key: string;
}

/** A leaf has items; a branch has children and the lower bound of the keys of each. */
interface Node<T> {
  /** The number of items in the subtree. */
  readonly size: number;
  readonly items: readonly T[];
  readonly children: readonly Node<T>[];
  readonly bounds: readonly string[];
}

/** The number of items that a walk reads at once. */
const walkLength = 64;
const maxWidth = 32;
const minWidth = 8;
const none: readonly never[] = [];

/** An immutable map ordered by key, as strings compare (by bytes, for ASCII). */
export class Tree<T extends Keyed> {
  readonly #root: Node<T>;

  private constructor(root: Node<T>) {
    this.#root = root;
  }

  static empty<T extends Keyed>(): Tree<T> {
    return new Tree<T>(leaf(none));
  }

  get size(): number {
    return this.#root.size;
  }

  get(key: string): T | undefined {
    let node = this.#root;
    while (node.children.length > 0) node = at(node.children, childFor(node.bounds, key));
    const item = node.items[lowerBound(node.items, key)];
    return item !== undefined && item.key === key ? item : undefined;
  }

  /** Returns the tree with `item` under its key. */
  set(item: T): Tree<T> {
    const root = withItem(this.#root, item);
    if (width(root) <= maxWidth) return new Tree(root);
    const [left, right] = split(root);
    return new Tree(branch(root.size, [left, right], ['', firstKey(right)]));
  }

  /** Returns the tree without `key`; the same tree if it has no such key. */
  delete(key: string): Tree<T> {
    let root = withoutKey(this.#root, key);
    if (root === this.#root) return this;
    while (root.children.length === 1) root = at(root.children, 0);
    return new Tree(root);
  }

  /** The number of keys less than `key`, in logarithmic time. */
  countBelow(key: string): number {
    let node = this.#root;
    let count = 0;
    while (node.children.length > 0) {
      const index = childFor(node.bounds, key);
      for (let i = 0; i < index; i++) count += at(node.children, i).size;
      node = at(node.children, index);
    }
    return count + lowerBound(node.items, key);
  }

  /** The first `limit` items with `from` <= key < `below` (undefined: to the end). */
  range(from: string, below: string | undefined, limit: number): T[] {
    const found: T[] = [];
    collect(this.#root, { from, below, limit }, found);
    return found;
  }

  /** Iterates over the items with `from` <= key < `below` without an array of all of them. */
  *walk(from: string, below: string | undefined): Generator<T, void> {
    for (let next: string | undefined = from; next !== undefined;) {
      const items = this.range(next, below, walkLength);
      yield* items;
      const last = items.at(-1);
      next = last === undefined || items.length < walkLength ? undefined : `${last.key}\0`;
    }
  }
}

interface Bounds {
  readonly from: string;
  readonly below: string | undefined;
  readonly limit: number;
}

/** Returns whether the walk continues after this node. */
function collect<T extends Keyed>(node: Node<T>, range: Bounds, found: T[]): boolean {
  if (node.children.length > 0) {
    for (let i = childFor(node.bounds, range.from); i < node.children.length; i++) {
      if (!collect(at(node.children, i), range, found)) return false;
    }
    return true;
  }
  for (let i = lowerBound(node.items, range.from); i < node.items.length; i++) {
    const item = at(node.items, i);
    if (found.length >= range.limit || (range.below !== undefined && item.key >= range.below)) return false;
    found.push(item);
  }
  return true;
}

const leaf = <T>(items: readonly T[]): Node<T> => ({ size: items.length, items, children: none, bounds: none });

const branch = <T>(size: number, children: readonly Node<T>[], bounds: readonly string[]): Node<T> => ({
  size,
  items: none,
  children,
  bounds,
});

const width = <T>(node: Node<T>): number => node.items.length + node.children.length;

/** Adds or replaces an item. The caller splits a node that is too wide. */
function withItem<T extends Keyed>(node: Node<T>, item: T): Node<T> {
  if (node.children.length === 0) {
    const index = lowerBound(node.items, item.key);
    const isThere = node.items[index]?.key === item.key;
    return leaf(isThere ? replaced(node.items, index, item) : inserted(node.items, index, item));
  }
  const index = childFor(node.bounds, item.key);
  const before = at(node.children, index);
  const child = withItem(before, item);
  const size = node.size + child.size - before.size;
  if (width(child) <= maxWidth) return branch(size, replaced(node.children, index, child), node.bounds);
  const [left, right] = split(child);
  const children = inserted(replaced(node.children, index, left), index + 1, right);
  return branch(size, children, inserted(node.bounds, index + 1, firstKey(right)));
}

/** Removes a key; returns the same node if it has no such key. */
function withoutKey<T extends Keyed>(node: Node<T>, key: string): Node<T> {
  if (node.children.length === 0) {
    const index = lowerBound(node.items, key);
    return node.items[index]?.key === key ? leaf(removed(node.items, index)) : node;
  }
  const index = childFor(node.bounds, key);
  const before = at(node.children, index);
  const child = withoutKey(before, key);
  if (child === before) return node;
  const size = node.size - 1;
  if (width(child) === 0) return branch(size, removed(node.children, index), removed(node.bounds, index));
  if (width(child) >= minWidth) return branch(size, replaced(node.children, index, child), node.bounds);
  return merged(node, index, child);
}

/** Merges the narrow child `index` with a neighbour, if both fit in one node. */
function merged<T>(node: Node<T>, index: number, child: Node<T>): Node<T> {
  const children = replaced(node.children, index, child);
  const left = index > 0 ? index - 1 : index;
  const [one, other] = [children[left], children[left + 1]];
  if (one === undefined || other === undefined || width(one) + width(other) > maxWidth) {
    return branch(node.size - 1, children, node.bounds);
  }
  const joined: Node<T> = {
    size: one.size + other.size,
    items: [...one.items, ...other.items],
    children: [...one.children, ...other.children],
    // The first bound of a node stands for the smallest key; inside a wider node it must be the real bound.
    bounds: other.bounds.length > 0 ? [...one.bounds, at(node.bounds, left + 1), ...other.bounds.slice(1)] : none,
  };
  const fewer = removed(replaced(children, left, joined), left + 1);
  return branch(node.size - 1, fewer, removed(node.bounds, left + 1));
}

function split<T>(node: Node<T>): readonly [Node<T>, Node<T>] {
  const middle = width(node) >> 1;
  if (node.children.length === 0) return [leaf(node.items.slice(0, middle)), leaf(node.items.slice(middle))];
  return [
    branchOf(node.children.slice(0, middle), node.bounds.slice(0, middle)),
    branchOf(node.children.slice(middle), node.bounds.slice(middle)),
  ];
}

const branchOf = <T>(children: readonly Node<T>[], bounds: readonly string[]): Node<T> =>
  branch(
    children.reduce((sum, child) => sum + child.size, 0),
    children,
    bounds,
  );

const firstKey = <T extends Keyed>(node: Node<T>): string =>
  node.children.length > 0 ? at(node.bounds, 0) : at(node.items, 0).key;

/** The index of the first item whose key is not less than `key`. */
function lowerBound(items: readonly Keyed[], key: string): number {
  let low = 0;
  let high = items.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (at(items, middle).key < key) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** The index of the child that `key` belongs to: the last whose bound is not greater, else the first. */
function childFor(bounds: readonly string[], key: string): number {
  let low = 1;
  let high = bounds.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (at(bounds, middle) <= key) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

function replaced<T>(list: readonly T[], index: number, item: T): T[] {
  const copy = list.slice();
  copy[index] = item;
  return copy;
}

function inserted<T>(list: readonly T[], index: number, item: T): T[] {
  const copy = list.slice();
  copy.splice(index, 0, item);
  return copy;
}

function removed<T>(list: readonly T[], index: number): T[] {
  const copy = list.slice();
  copy.splice(index, 1);
  return copy;
}

function at<T>(list: readonly T[], index: number): T {
  const item = list[index];
  if (item === undefined) throw new Error(`bug: tree index ${index} of ${list.length}`);
  return item;
}
