import type { JsonObject } from '../schema/json-object.ts';
import { isJsonObject, setField } from '../schema/json-object.ts';
import { decode } from '../schema/decode.ts';
import { DecodeError } from '../schema/problems.ts';
import { objectMeta } from '../metadata.ts';
import type { JsonSchema } from './json-schema.ts';
import { itemsOf, propertyOf, valuesOf } from './json-schema.ts';

/** The path below the pruned value. */
type Steps = readonly (string | number)[];

interface Pruning {
  /** The path of the part that is being pruned. */
  readonly path: (string | number)[];
  readonly dropped: (path: Steps) => void;
}

/** Fields of embedded resources that no schema has to declare. */
const metaFields: ReadonlySet<string> = new Set(['apiVersion', 'kind', 'metadata']);

/**
 * The value without undeclared fields, which are reported to `dropped`, and without nulls that the schema does not allow
 * and no default replaces. Values are shared where nothing is removed.
 */
export const prune = (value: unknown, schema: JsonSchema | undefined, dropped: Pruning['dropped']): unknown =>
  pruned(value, schema, { path: [], dropped });

/** Whether the schema keeps fields that it does not declare. */
const isOpen = (schema: JsonSchema): boolean => schema['x-kubernetes-preserve-unknown-fields'] === true;

function pruned(value: unknown, schema: JsonSchema | undefined, pruning: Pruning): unknown {
  if (Array.isArray(value)) return prunedList(value, schema, pruning);
  return isJsonObject(value) ? prunedObject(value, schema, pruning) : value;
}

function prunedList(list: readonly unknown[], schema: JsonSchema | undefined, pruning: Pruning): unknown {
  const item = schema === undefined ? undefined : itemsOf(schema);
  if (schema !== undefined && isOpen(schema) && item === undefined) return list;
  let next: unknown[] | undefined;
  for (let index = 0; index < list.length; index++) {
    const given = list[index];
    if (typeof given !== 'object' || given === null) continue;
    pruning.path.push(index);
    const kept = pruned(given, item, pruning);
    pruning.path.pop();
    if (kept === given) continue;
    next ??= [...list];
    next[index] = kept;
  }
  return next ?? list;
}

function prunedObject(object: JsonObject, schema: JsonSchema | undefined, pruning: Pruning): JsonObject {
  const changes = new Map<string, unknown>();
  for (const name of Object.keys(object)) {
    const given = object[name];
    pruning.path.push(name);
    const kept = prunedField(name, given, schema, pruning);
    pruning.path.pop();
    if (kept !== given) changes.set(name, kept);
  }
  return changes.size === 0 ? object : withChanges(object, changes);
}

/** The object with other values of some fields; undefined removes the field. */
function withChanges(object: JsonObject, changes: ReadonlyMap<string, unknown>): JsonObject {
  const next: JsonObject = {};
  for (const name of Object.keys(object)) {
    const value = changes.has(name) ? changes.get(name) : object[name];
    if (value !== undefined) setField(next, name, value);
  }
  return next;
}

/** The field without what is undeclared in it; undefined if it is undeclared itself. */
function prunedField(name: string, value: unknown, schema: JsonSchema | undefined, pruning: Pruning): unknown {
  const isEmbedded = schema?.['x-kubernetes-embedded-resource'] === true;
  if (isEmbedded && metaFields.has(name)) return name === 'metadata' ? readMetadata(value, pruning) : value;
  const declared = schema === undefined ? undefined : (propertyOf(schema, name) ?? valuesOf(schema));
  const isKept =
    declared !== undefined || schema?.additionalProperties === true || (schema !== undefined && isOpen(schema));
  if (!isKept) {
    pruning.dropped([...pruning.path]);
    return undefined;
  }
  if (value === null) return isDroppedNull(declared) ? undefined : null;
  if (declared !== undefined) return pruned(value, declared, pruning);
  return schema !== undefined && isOpen(schema) ? value : pruned(value, undefined, pruning);
}

/** A null that the schema does not allow; where there is a default, defaulting replaces it. */
const isDroppedNull = (schema: JsonSchema | undefined): boolean =>
  schema !== undefined && schema.nullable !== true && schema.default === undefined;

/** The metadata of an embedded resource; malformed metadata stays as it is and fails validation. */
function readMetadata(value: unknown, { path, dropped }: Pruning): unknown {
  if (!isJsonObject(value)) return value;
  for (const name of Object.keys(value)) if (!Object.hasOwn(objectMeta.fields, name)) dropped([...path, name]);
  try {
    return decode(objectMeta, value).object;
  } catch (error) {
    if (error instanceof DecodeError) return value;
    throw error;
  }
}
