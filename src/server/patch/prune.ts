import type { StructSchema } from '../../api/schema/schema.ts';
import { removeFields, withNamedFields } from './fields/remove.ts';
import type { FieldSet } from './fields/set.ts';
import { difference, intersection, isEmptySet, union } from './fields/set.ts';
import { toFieldSet } from './fields/to-set.ts';
import type { JsonObject } from './json-value.ts';

/** What an applier claimed last time, and what anybody claims now, the applier included. */
export interface Claims {
  readonly before: FieldSet;
  readonly now: FieldSet;
}

/**
 * The merged object without what the applier gave up: fields and items that it applied last time, does not apply now,
 * and that nobody else owns. An item or map entry goes with all that is in it: to keep it, a manager must own the item
 * itself, as every applier of a part of it does. A struct stays for the sake of any field in it. Yields between steps.
 */
export function* prune(merged: JsonObject, { before, now }: Claims, schema: StructSchema): Generator<void, JsonObject> {
  // Nothing was given up, as in most applies.
  if (isEmptySet(difference(before, now))) return merged;
  const named = (set: FieldSet): FieldSet => withNamedFields(set, schema);
  const fieldsOf = (object: JsonObject): FieldSet => named(toFieldSet(object, schema));

  const present = fieldsOf(merged);
  yield;
  // First everything that was claimed goes, with all that hangs on it; then what anybody owns comes back.
  const left = fieldsOf(removeFields(merged, named(before), schema));
  yield;
  const owned = removeFields(merged, difference(present, union(left, named(now))), schema);
  yield;
  // Of what is gone by now, only what the applier itself had claimed stays away.
  return removeFields(merged, intersection(difference(present, fieldsOf(owned)), named(before)), schema);
}
