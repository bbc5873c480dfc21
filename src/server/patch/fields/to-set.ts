import type { StructSchema } from '../../../api/schema/schema.ts';
import type { JsonObject } from '../json-value.ts';
import { isEmptyObject, isJsonObject } from '../../../api/schema/json-object.ts';
import { isList } from '../json-value.ts';
import { fieldElement } from './element.ts';
import { groupItems } from './items.ts';
import type { FieldSet, FieldSetBuilder } from './set.ts';
import { asMember, emptySet, isEmptySet, leaf } from './set.ts';
import type { ItemsShape, SetShape, Shape } from './shape.ts';
import { shapeAt, structShapeOf } from './shape.ts';

/**
 * The fields that an applied configuration claims: every leaf, list item and map key in it, and structs that are empty or
 * null. Not sorted.
 */
export function toFieldSet(value: JsonObject, schema: StructSchema): FieldSet {
  return childrenOf(value, structShapeOf(schema));
}

/** The node of a value; undefined if empty. `claimed` makes the path itself a member. */
function nodeOf(value: unknown, shape: Shape, claimed: boolean): FieldSet | undefined {
  if (isWhole(value, shape)) return leaf;
  const below = childrenOf(value, shape);
  if (isEmptySet(below)) return claimed ? leaf : undefined;
  return claimed ? asMember(below) : below;
}

function isWhole(value: unknown, shape: Shape): boolean {
  switch (shape.kind) {
    case 'leaf':
      return true;
    case 'undeclared':
    case 'struct':
    case 'map':
      return !isJsonObject(value) || isEmptyObject(value);
    case 'set':
    case 'items':
      return value === null;
  }
}

function childrenOf(value: unknown, shape: Shape): FieldSet {
  switch (shape.kind) {
    case 'leaf':
      return emptySet;
    case 'undeclared':
    case 'struct':
    case 'map':
      return isJsonObject(value) ? keysOf(value, shape) : emptySet;
    case 'set':
    case 'items':
      return isList(value) ? itemsOf(value, shape) : emptySet;
  }
}

function keysOf(object: JsonObject, shape: Shape): FieldSet {
  const set: FieldSetBuilder = {};
  for (const [key, value] of Object.entries(object)) {
    const isDeclared = shape.kind === 'struct' && shape.fields.has(key);
    const node = nodeOf(value, shapeAt(shape, key), !isDeclared);
    if (node !== undefined) set[fieldElement(key)] = node;
  }
  return set;
}

function itemsOf(list: readonly unknown[], shape: SetShape | ItemsShape): FieldSet {
  const set: FieldSetBuilder = {};
  for (const [element, items] of groupItems(list, shape)) {
    const isWholeItem = shape.kind === 'set' || items.length > 1;
    set[element] = isWholeItem ? leaf : (nodeOf(items[0], shape.items, true) ?? leaf);
  }
  return set;
}
