import type { JsonObject } from '../json-value.ts';
import { isObject } from '../json-value.ts';
import { allOf } from './added.ts';
import { compareValues } from './compare.ts';
import { fieldElement } from './element.ts';
import { ordered } from './fields-v1.ts';
import type { FieldSet, FieldSetBuilder } from './set.ts';
import { emptySet, isEmptySet, isLeaf, nodeWithout, union } from './set.ts';
import type { FieldShape, StructShape } from './shape.ts';
import { undeclared } from './shape.ts';

/**
 * What a new object adds to one to which nothing was sent, in the order of `fieldsV1` and without the leaves of `skip`.
 * The same as comparing the two, but in a single pass, since every create runs it.
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
  if (field.shape.kind === 'struct' && isObject(value)) {
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
