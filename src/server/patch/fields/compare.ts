import type { StructSchema } from '../../../api/schema/schema.ts';
import { isEmptyObject, isJsonObject } from '../../../api/schema/json-object.ts';
import type { JsonObject } from '../json-value.ts';
import { equalJson } from '../../../api/schema/equal-json.ts';
import { isList, own } from '../json-value.ts';
import { allOf } from './added.ts';
import { fieldElement } from './element.ts';
import { ordered } from './fields-v1.ts';
import { groupItems } from './items.ts';
import type { FieldSet, FieldSetBuilder } from './set.ts';
import { emptySet, isEmptySet, isLeaf, leaf, nodeWithout, union } from './set.ts';
import type { FieldShape, ItemsShape, SetShape, Shape, StructShape } from './shape.ts';
import { structShapeOf, undeclared } from './shape.ts';

/** The differences between two objects. */
export interface Comparison {
  readonly added: FieldSet;
  readonly modified: FieldSet;
  readonly removed: FieldSet;
}

/** The differences at one path: nodes of three sets, each undefined if empty. */
interface Change {
  added?: FieldSet;
  modified?: FieldSet;
  removed?: FieldSet;
}

/** Compares two objects of a kind, ignoring everything below the members of `skip`. */
export function compare(before: JsonObject, after: JsonObject, schema: StructSchema, skip = emptySet): Comparison {
  const change = compareStructs(before, after, structShapeOf(schema), skip);
  return {
    added: change?.added ?? emptySet,
    modified: change?.modified ?? emptySet,
    removed: change?.removed ?? emptySet,
  };
}

/** Compares the values at one path; returns undefined if they are equal. An undefined value is absent. */
function compareValues(before: unknown, after: unknown, shape: Shape): Change | undefined {
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

// Null counts as an empty container, which differs from another empty one like a leaf.
const nothing: JsonObject = Object.freeze({});
const asObject = (value: unknown): JsonObject => (isJsonObject(value) ? value : nothing);
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

/** Compares values, ignoring the fields in `skip`. */
function compareRest(before: unknown, after: unknown, shape: Shape, skip: FieldSet): Change | undefined {
  if (shape.kind === 'struct' && isJsonObject(before) && isJsonObject(after))
    return compareStructs(before, after, shape, skip);
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
  const [wasObject, isObjectNow] = [isJsonObject(before), isJsonObject(after)];
  if ((!wasObject && !isObjectNow) || areEmpty(before, after)) return compareLeaves(before, after);
  const change = compareMaps(asObject(before), asObject(after), undeclared);
  // If one value is an object and the other a scalar or list, the type of the path itself has changed too.
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

/** Duplicate items are treated as one unit: they are added, removed and changed together. */
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

/** Adds the change of a child under its element. */
function collect(change: Change | undefined, element: string, below: Change | undefined): Change | undefined {
  if (below === undefined) return change;
  const into: { added?: FieldSetBuilder; modified?: FieldSetBuilder; removed?: FieldSetBuilder } = change ?? {};
  if (below.added !== undefined) (into.added ??= {})[element] = below.added;
  if (below.modified !== undefined) (into.modified ??= {})[element] = below.modified;
  if (below.removed !== undefined) (into.removed ??= {})[element] = below.removed;
  return into;
}

/**
 * The fields that a new object sets, in the order of `fieldsV1` and without the leaves of `skip`. Equals a comparison with
 * an empty object, but in a single pass, since every create runs it.
 */
export function createdFields(object: JsonObject, shape: StructShape, skip: FieldSet): FieldSet {
  const set: FieldSetBuilder = {};
  for (const field of shape.ordered) {
    const value = object[field.name];
    if (value === undefined) continue;
    const skipped = skip[field.element];
    if (skipped !== undefined && isLeaf(skipped)) continue;
    const node = createdNode(value, field, skipped ?? emptySet);
    if (node !== undefined) set[field.element] = node;
  }
  return shape.open ? withUndeclared(set, object, shape) : set;
}

function createdNode(value: unknown, field: FieldShape, skip: FieldSet): FieldSet | undefined {
  if (field.zero === undefined) {
    const node = allOf(value, field.shape);
    return isEmptySet(skip) ? node : nodeWithout(node, skip);
  }
  if (field.shape.kind === 'struct' && isJsonObject(value)) {
    const below = createdFields(value, field.shape, skip);
    return isEmptySet(below) ? undefined : below;
  }
  const change = compareValues(field.zero, value, field.shape);
  if (change?.added === undefined) return change?.modified;
  return change.modified === undefined ? change.added : ordered(union(change.added, change.modified));
}

function withUndeclared(set: FieldSetBuilder, object: JsonObject, shape: StructShape): FieldSet {
  for (const key of Object.keys(object)) {
    if (!shape.fields.has(key)) set[fieldElement(key)] = allOf(object[key], undeclared);
  }
  return ordered(set);
}
