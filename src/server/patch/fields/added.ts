import type { JsonObject } from '../json-value.ts';
import { isJsonObject } from '../../../api/schema/json-object.ts';
import { isList } from '../json-value.ts';
import { fieldElement, sortElements } from './element.ts';
import { groupItems, itemElement } from './items.ts';
import type { FieldSet, FieldSetBuilder } from './set.ts';
import { leaf, self } from './set.ts';
import type { ItemsShape, SetShape, Shape, StructShape } from './shape.ts';
import { undeclared } from './shape.ts';

/** All fields of a new value including itself, in the order of `fieldsV1`. */
export function allOf(value: unknown, shape: Shape): FieldSet {
  switch (shape.kind) {
    case 'leaf':
      return leaf;
    case 'struct':
      return isJsonObject(value) ? allOfStruct(value, shape) : leaf;
    case 'map':
      return isJsonObject(value) ? allOfMap(value, shape.values) : leaf;
    case 'undeclared':
      return isJsonObject(value) ? allOfMap(value, undeclared) : leaf;
    case 'set':
    case 'items':
      return isList(value) ? allOfList(value, shape) : leaf;
  }
}

function allOfStruct(object: JsonObject, shape: StructShape): FieldSet {
  if (shape.open) return allOfOpenStruct(object, shape);
  const set: FieldSetBuilder = { [self]: leaf };
  let isEmpty = true;
  for (const field of shape.ordered) {
    const value = object[field.name];
    if (value === undefined) continue;
    set[field.element] = allOf(value, field.shape);
    isEmpty = false;
  }
  return isEmpty ? leaf : set;
}

function allOfOpenStruct(object: JsonObject, shape: StructShape): FieldSet {
  const set: FieldSetBuilder = { [self]: leaf };
  const keys = Object.keys(object).toSorted();
  for (const key of keys) set[fieldElement(key)] = allOf(object[key], shape.fields.get(key)?.shape ?? undeclared);
  return keys.length === 0 ? leaf : set;
}

function allOfMap(object: JsonObject, values: Shape): FieldSet {
  const keys = Object.keys(object);
  if (keys.length === 0) return leaf;
  if (keys.length > 1) keys.sort();
  const set: FieldSetBuilder = { [self]: leaf };
  for (const key of keys) set[fieldElement(key)] = allOf(object[key], values);
  return set;
}

function allOfList(list: readonly unknown[], shape: SetShape | ItemsShape): FieldSet {
  const set: FieldSetBuilder = { [self]: leaf };
  // Fast path: a single item needs neither grouping nor sorting.
  if (list.length === 1) {
    set[itemElement(list[0], shape)] = shape.kind === 'set' ? leaf : allOf(list[0], shape.items);
    return set;
  }
  const groups = groupItems(list, shape);
  for (const element of sortElements([...groups.keys()])) {
    const items = groups.get(element) ?? [];
    set[element] = shape.kind === 'set' || items.length > 1 ? leaf : allOf(items[0], shape.items);
  }
  return groups.size === 0 ? leaf : set;
}
