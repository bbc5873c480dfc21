import type { StructSchema } from '../../../api/schema/schema.ts';
import type { JsonObject } from '../json-value.ts';
import { isJsonObject } from '../../../api/schema/json-object.ts';
import { isList } from '../json-value.ts';
import { fieldElement } from './element.ts';
import { itemElement } from './items.ts';
import type { FieldSet, FieldSetBuilder } from './set.ts';
import { asMember, isLeaf, isMember, self } from './set.ts';
import type { ItemsShape, SetShape, Shape } from './shape.ts';
import { shapeAt, structShapeOf, undeclared } from './shape.ts';

/** Removes the members of a set from an object. A container that becomes empty is null. */
export function removeFields(object: JsonObject, set: FieldSet, schema: StructSchema): JsonObject {
  return removeKeys(object, set, structShapeOf(schema)) ?? {};
}

function removeBelow(value: unknown, set: FieldSet, shape: Shape): unknown {
  switch (shape.kind) {
    case 'leaf':
      return value;
    case 'undeclared':
      return isJsonObject(value) ? removeKeys(value, set, shape) : value;
    case 'struct':
    case 'map':
      return isJsonObject(value) ? removeKeys(value, set, shape) : null;
    case 'set':
    case 'items':
      return isList(value) ? removeItems(value, set, shape) : null;
  }
}

function removeKeys(object: JsonObject, set: FieldSet, shape: Shape): JsonObject | null {
  const kept: [string, unknown][] = [];
  for (const [key, value] of Object.entries(object)) {
    const node = set[fieldElement(key)];
    if (node === undefined) kept.push([key, value]);
    else if (!isMember(node)) kept.push([key, removeBelow(value, node, shapeAt(shape, key))]);
  }
  return kept.length === 0 ? null : Object.fromEntries(kept);
}

function removeItems(list: readonly unknown[], set: FieldSet, shape: SetShape | ItemsShape): unknown[] | null {
  const kept: unknown[] = [];
  for (const item of list) {
    const node = set[itemElement(item, shape)];
    if (node === undefined) kept.push(item);
    else if (!isMember(node)) kept.push(shape.kind === 'set' ? item : removeBelow(item, node, shape.items));
  }
  return kept.length === 0 ? null : kept;
}

/** Adds every declared field that leads to a member as a member. */
export function withNamedFields(set: FieldSet, schema: StructSchema): FieldSet {
  return nameFields(set, structShapeOf(schema));
}

function nameFields(set: FieldSet, shape: Shape): FieldSet {
  const named: FieldSetBuilder = {};
  for (const [element, node] of Object.entries(set)) {
    const name = element.slice(2);
    const isDeclared = element[0] === 'f' && shape.kind === 'struct' && shape.fields.has(name);
    const below = element === self || isLeaf(node) ? node : nameFields(node, shapeOfElement(shape, element));
    named[element] = isDeclared ? asMember(below) : below;
  }
  return named;
}

function shapeOfElement(shape: Shape, element: string): Shape {
  if (element[0] === 'k' && shape.kind === 'items') return shape.items;
  return element[0] === 'f' ? shapeAt(shape, element.slice(2)) : undeclared;
}
