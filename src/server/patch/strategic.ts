import type { StatusError } from '../../api/errors.ts';
import { badRequest } from '../../api/errors.ts';
import { isJsonObject, setField } from '../../api/schema/json-object.ts';
import type { Schema, StructSchema } from '../../api/schema/schema.ts';
import type { JsonObject } from './json-value.ts';
import { isList, own } from './json-value.ts';
import { checkOrder, deleteScalars, mergeKeyOf, mergeLists, sortItems, unknownPatchType } from './strategic-lists.ts';

const patchDirective = '$patch';
const retainKeysDirective = '$retainKeys';
const orderDirective = '$setElementOrder';
const deleteDirective = '$deleteFromPrimitiveList';

/** Applies a strategic merge patch: a merge patch whose lists merge by the schema, and which may contain directives. */
export function applyStrategicMergePatch(document: JsonObject, body: unknown, schema: StructSchema): JsonObject {
  if (!isJsonObject(body)) {
    throw badRequest(
      `json: cannot unmarshal ${isList(body) ? 'array' : typeof body} into Go value of type map[string]interface {}`,
    );
  }
  return mergeObjects(document, body, schema);
}

/** Merges a patch into an object. Without a schema, lists are replaced. */
function mergeObjects(original: JsonObject, patch: JsonObject, schema: Schema | undefined): JsonObject {
  if (Object.hasOwn(patch, patchDirective)) return directedObject(patch);
  // Fast path for the many list items without directives.
  if (!Object.keys(patch).some((key) => key.startsWith('$')))
    return mergeFields(original, Object.entries(patch), schema);
  const merged = new Map(Object.entries(original));
  const rest = new Map(Object.entries(patch));
  retainKeys(merged, rest);
  orderLists(merged, rest, schema);
  deletePrimitives(merged, rest);
  return mergeFields(Object.fromEntries(merged), rest, schema);
}

function mergeFields(
  original: JsonObject,
  patch: Iterable<readonly [key: string, value: unknown]>,
  schema: Schema | undefined,
): JsonObject {
  const merged: Record<string, unknown> = { ...original };
  for (const [key, value] of patch) {
    const next = value === null ? undefined : mergeValues(own(merged, key), value, schemaAt(schema, key));
    if (next === undefined) delete merged[key];
    else setField(merged, key, next);
  }
  return merged;
}

function directedObject({ [patchDirective]: directive, ...patch }: JsonObject): JsonObject {
  if (directive === 'replace') return patch;
  if (directive === 'delete') return {};
  throw unknownPatchType(directive, { ...patch, [patchDirective]: directive });
}

function mergeValues(original: unknown, patch: unknown, schema: Schema | undefined): unknown {
  const isReplaced = schema?.type === 'struct' && schema.isReplaced === true;
  if (isJsonObject(original) && isJsonObject(patch) && !isReplaced) return mergeObjects(original, patch, schema);
  if (isList(original) && isList(patch)) return mergeLists(original, patch, schema, mergeObjects);
  return withoutDirectives(patch);
}

/** Applies `$retainKeys`, the list of all keys that are kept, for unions. */
function retainKeys(merged: Map<string, unknown>, patch: Map<string, unknown>): void {
  if (!patch.has(retainKeysDirective)) return;
  const retained = patch.get(retainKeysDirective);
  if (!isList(retained)) throw badRetainKeys();
  patch.delete(retainKeysDirective);
  const keys = new Set(retained);
  for (const [key, value] of patch) {
    const isDirective = key.startsWith(deleteDirective) || key.startsWith(orderDirective);
    if (value !== null && !isDirective && !keys.has(key)) throw badRetainKeys();
  }
  for (const key of merged.keys()) if (!keys.has(key)) merged.delete(key);
}

/** Applies `$setElementOrder/F`, the order of the items of F; F itself is merged first. */
function orderLists(merged: Map<string, unknown>, patch: Map<string, unknown>, schema: Schema | undefined): void {
  for (const [directive, order] of patch) {
    if (!directive.startsWith(orderDirective)) continue;
    const key = fieldNamedBy(directive, orderDirective);
    if (key === undefined || !isList(order)) throw badElementOrder();
    const [original = [], sent = []] = [merged.get(key), patch.get(key)];
    if (!isList(original) || !isList(sent)) throw badElementOrder();
    const listSchema = schemaAt(schema, key);
    const mergeKey = mergeKeyOf(listSchema);
    checkOrder(sent, order, mergeKey);

    const isKnown = merged.has(key);
    const isSent = patch.has(key);
    patch.delete(directive);
    patch.delete(key);
    if (!isKnown && !isSent) continue;
    const items = isSent ? mergeValues(isKnown ? original : undefined, sent, listSchema) : original;
    merged.set(key, isList(items) ? sortItems(items, { order, server: original, mergeKey }) : items);
  }
}

/** Applies `$deleteFromPrimitiveList/F`, the scalars to remove from F. */
function deletePrimitives(merged: Map<string, unknown>, patch: Map<string, unknown>): void {
  for (const [directive, values] of patch) {
    if (!directive.startsWith(deleteDirective)) continue;
    const key = fieldNamedBy(directive, deleteDirective);
    if (key === undefined || !isList(values)) throw badPrimitiveList();
    patch.delete(directive);
    const original = merged.get(key);
    if (isList(original)) merged.set(key, deleteScalars(original, values));
  }
}

const fieldNamedBy = (directive: string, prefix: string): string | undefined =>
  directive.startsWith(`${prefix}/`) ? directive.slice(prefix.length + 1) : undefined;

/** The value of a new field: without nulls and directives; undefined if it contains only directives. */
function withoutDirectives(value: unknown): unknown {
  if (isList(value)) return value.map(withoutDirectives).filter((item) => item !== undefined);
  if (!isJsonObject(value)) return value;
  if (Object.hasOwn(value, patchDirective)) return undefined;
  const kept = Object.entries(value)
    .filter(([key, below]) => below !== null && !isDirective(key))
    .map(([key, below]) => [key, withoutDirectives(below)] as const);
  return Object.fromEntries(kept.filter(([, below]) => below !== undefined));
}

const isDirective = (key: string): boolean =>
  key === retainKeysDirective || key.startsWith(`${orderDirective}/`) || key.startsWith(`${deleteDirective}/`);

function schemaAt(schema: Schema | undefined, key: string): Schema | undefined {
  if (schema?.type === 'map') return schema.values;
  if (schema?.type !== 'struct' || !Object.hasOwn(schema.fields, key)) return undefined;
  return schema.fields[key]?.schema;
}

const badPrimitiveList = (): StatusError => badRequest('invalid patch format of primitive list');
const badRetainKeys = (): StatusError => badRequest('invalid patch format of retainKeys');
const badElementOrder = (): StatusError => badRequest('invalid patch format of setElementOrder list');
