import { isJsonObject } from '../../../api/schema/json-object.ts';
import { normalElement, printElement, sortElements } from './element.ts';
import type { FieldSet, FieldSetBuilder } from './set.ts';
import { asMember, isLeaf, isMember, leaf, self, union } from './set.ts';

/** Parses `fieldsV1` of a request; undefined if it is invalid. Ignores elements of unknown kinds. */
export function parseFields(value: unknown): FieldSet | undefined {
  try {
    return ordered(parseChildren(value));
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

function parseChildren(value: unknown): FieldSet {
  if (!isJsonObject(value)) throw new SyntaxError('not an object');
  const set: FieldSetBuilder = {};
  for (const [key, below] of Object.entries(value)) {
    if (key === self) continue;
    const element = normalElement(key);
    if (element === undefined) continue;
    const children = parseChildren(below);
    const node = isJsonObject(below) && self in below ? asMember(children) : children;
    const twin = set[element];
    // The same key in two spellings.
    set[element] = twin === undefined ? node : (union({ [element]: twin }, { [element]: node })[element] ?? node);
  }
  return set;
}

/** The set with every level in the order of `fieldsV1`. Returns the set itself if it is sorted. */
export function ordered(set: FieldSet): FieldSet {
  const elements = Object.keys(set);
  const reordered = new Map<string, FieldSet>();
  for (const element of elements) {
    const child = set[element] ?? leaf;
    const orderedChild = isLeaf(child) ? child : ordered(child);
    if (orderedChild !== child) reordered.set(element, orderedChild);
  }
  const sorted = sortElements(elements);
  if (sorted === elements && reordered.size === 0) return set;
  const result: FieldSetBuilder = {};
  for (const element of sorted) result[element] = reordered.get(element) ?? set[element] ?? leaf;
  return result;
}

/** The paths of a set in messages, those of a level before those below it. */
export function printPaths(set: FieldSet, prefix = ''): string[] {
  const children = Object.entries(ordered(set))
    .filter(([element]) => element !== self)
    .map(([element, node]) => ({ path: prefix + printElement(element), node }));
  return [
    ...children.filter(({ node }) => isMember(node)).map(({ path }) => path),
    ...children.flatMap(({ path, node }) => printPaths(node, path)),
  ];
}
