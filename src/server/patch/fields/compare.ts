import type { StructSchema } from '../../../api/schema/schema.ts';
import type { JsonObject } from '../json-value.ts';
import { equalJson, isEmptyObject, isList, isObject, own } from '../json-value.ts';
import { allOf } from './added.ts';
import { fieldElement } from './element.ts';
import { groupItems } from './items.ts';
import type { FieldSet, FieldSetBuilder } from './set.ts';
import { emptySet, isLeaf, leaf, nodeWithout } from './set.ts';
import type { ItemsShape, SetShape, Shape, StructShape } from './shape.ts';
import { structShapeOf, undeclared } from './shape.ts';

/** How two objects differ. */
export interface Comparison {
  readonly added: FieldSet;
  readonly modified: FieldSet;
  readonly removed: FieldSet;
}

/** How the values at one path differ: nodes of three sets, each undefined where nothing is in it. */
export interface Change {
  added?: FieldSet;
  modified?: FieldSet;
  removed?: FieldSet;
}

/** Compares two objects of a kind. Nothing below a member of `skip` is looked at. */
export function compare(before: JsonObject, after: JsonObject, schema: StructSchema, skip = emptySet): Comparison {
  const change = compareStructs(before, after, structShapeOf(schema), skip);
  return {
    added: change?.added ?? emptySet,
    modified: change?.modified ?? emptySet,
    removed: change?.removed ?? emptySet,
  };
}

/** Compares the values at one path; undefined where they are the same. An undefined value is an absent one. */
export function compareValues(before: unknown, after: unknown, shape: Shape): Change | undefined {
  if (before === after) return undefined;
  if (before === undefined) return { added: allOf(after, shape) };
  if (after === undefined) return { removed: allOf(before, shape) };
  switch (shape.kind) {
    case 'leaf':
      return compareLeaves(before, after);
    case 'struct':
      return areEmpty(before, after)
        ? compareLeaves(before, after)
        : compareStructs(asObject(before), asObject(after), shape, emptySet);
    case 'map':
      return areEmpty(before, after)
        ? compareLeaves(before, after)
        : compareMaps(asObject(before), asObject(after), shape.values);
    case 'undeclared':
      return compareUndeclared(before, after);
    case 'set':
    case 'items':
      return compareLists(before, after, shape);
  }
}

const compareLeaves = (before: unknown, after: unknown): Change | undefined =>
  equalJson(before, after) ? undefined : { modified: leaf };

// Null is an empty container, and differs from another empty one only as a leaf does.
const nothing: JsonObject = Object.freeze({});
const asObject = (value: unknown): JsonObject => (isObject(value) ? value : nothing);
const areEmpty = (before: unknown, after: unknown): boolean =>
  isEmptyObject(asObject(before)) && isEmptyObject(asObject(after));

function compareStructs(before: JsonObject, after: JsonObject, shape: StructShape, skip: FieldSet): Change | undefined {
  let change: Change | undefined;
  for (const { name, element, shape: fieldShape } of shape.ordered) {
    const [old, now] = [before[name], after[name]];
    if (old === now) continue;
    const skipped = skip[element];
    if (skipped !== undefined && isLeaf(skipped)) continue;
    const below =
      skipped === undefined ? compareValues(old, now, fieldShape) : compareRest(old, now, fieldShape, skipped);
    change = collect(change, element, below);
  }
  if (!shape.open) return change;
  for (const key of keysOfBoth(before, after)) {
    if (shape.fields.has(key)) continue;
    change = collect(change, fieldElement(key), compareValues(own(before, key), own(after, key), undeclared));
  }
  return change;
}

/** Compares values of which some parts are not to be looked at. */
function compareRest(before: unknown, after: unknown, shape: Shape, skip: FieldSet): Change | undefined {
  if (shape.kind === 'struct' && isObject(before) && isObject(after)) return compareStructs(before, after, shape, skip);
  const change = compareValues(before, after, shape);
  if (change === undefined) return undefined;
  const rest: Change = {};
  for (const part of ['added', 'modified', 'removed'] as const) {
    const node = change[part] === undefined ? undefined : nodeWithout(change[part], skip);
    if (node !== undefined) rest[part] = node;
  }
  return rest;
}

function compareMaps(before: JsonObject, after: JsonObject, values: Shape): Change | undefined {
  let change: Change | undefined;
  for (const key of keysOfBoth(before, after)) {
    change = collect(change, fieldElement(key), compareValues(own(before, key), own(after, key), values));
  }
  return change;
}

function keysOfBoth(before: JsonObject, after: JsonObject): string[] {
  const keys = Object.keys(before);
  for (const key of Object.keys(after)) if (!Object.hasOwn(before, key)) keys.push(key);
  return keys;
}

function compareUndeclared(before: unknown, after: unknown): Change | undefined {
  const [wasObject, isObjectNow] = [isObject(before), isObject(after)];
  if ((!wasObject && !isObjectNow) || areEmpty(before, after)) return compareLeaves(before, after);
  const change = compareMaps(asObject(before), asObject(after), undeclared);
  // Where only one of the two is an object and the other not null, the path itself has changed its type as well.
  const sameType = (wasObject || before === null) && (isObjectNow || after === null);
  return sameType ? change : { ...change, modified: leaf };
}

function compareLists(before: unknown, after: unknown, shape: SetShape | ItemsShape): Change | undefined {
  if (equalJson(before, after)) return undefined;
  const old = groupItems(isList(before) ? before : [], shape);
  const now = groupItems(isList(after) ? after : [], shape);
  if (old.size === 0 && now.size === 0) return { modified: leaf };
  let change: Change | undefined;
  for (const [element, items] of old) change = collect(change, element, compareItems(items, now.get(element), shape));
  for (const [element, items] of now) {
    if (!old.has(element)) change = collect(change, element, compareItems([], items, shape));
  }
  return change;
}

/** Duplicates are one unit: they come, go and change together. */
function compareItems(
  before: readonly unknown[],
  after: readonly unknown[] = [],
  shape: SetShape | ItemsShape,
): Change | undefined {
  const items = shape.kind === 'set' ? ({ kind: 'leaf' } as const) : shape.items;
  if (before.length < 2 && after.length < 2) return compareValues(before[0], after[0], items);
  if (before.length > 1 && after.length > 1) return compareLeaves(before, after);
  if (before.length > 1) return { ...compareValues(undefined, after[0], items), removed: leaf };
  return { ...compareValues(before[0], undefined, items), added: leaf };
}

/** Hangs the change of a child under its element. */
function collect(change: Change | undefined, element: string, below: Change | undefined): Change | undefined {
  if (below === undefined) return change;
  const into: { added?: FieldSetBuilder; modified?: FieldSetBuilder; removed?: FieldSetBuilder } = change ?? {};
  if (below.added !== undefined) (into.added ??= {})[element] = below.added;
  if (below.modified !== undefined) (into.modified ??= {})[element] = below.modified;
  if (below.removed !== undefined) (into.removed ??= {})[element] = below.removed;
  return into;
}
