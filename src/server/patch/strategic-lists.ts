import type { StatusError } from '../../api/errors.ts';
import { failure } from '../../api/errors.ts';
import type { Schema } from '../../api/schema/schema.ts';
import { goTypeOf, printGo } from './go-text.ts';
import type { JsonObject } from './json-value.ts';
import { isJsonObject } from '../../api/schema/json-object.ts';
import { isList, own } from './json-value.ts';

/** Merges two objects by a schema; passed in, since objects and lists are mutually recursive. */
export type MergeObjects = (original: JsonObject, patch: JsonObject, schema: Schema | undefined) => JsonObject;

/** The field by which the items of a list merge; undefined for scalars and for lists that do not merge. */
export const mergeKeyOf = (schema: Schema | undefined): string | undefined =>
  schema?.type === 'list' ? schema.patch?.key : undefined;

/** Merges a list of a patch into one of the object, or replaces it if the schema has no patch strategy. */
export function mergeLists(
  original: readonly unknown[],
  patch: readonly unknown[],
  schema: Schema | undefined,
  mergeObjects: MergeObjects,
): readonly unknown[] {
  if (schema?.type !== 'list' || schema.patch === undefined) return patch;
  const mergeKey = schema.patch.key;
  if (!holdsObjects(original, patch)) {
    const items = [...new Set([...original, ...patch])];
    return sortItems(items, { order: patch, server: original, mergeKey: undefined });
  }
  if (mergeKey === undefined) throw noMergeKeyDeclared(schema.items.type);

  const { kept, wanted, isReplaced } = direct(original.map(asItem), patch.map(asItem), mergeKey);
  if (isReplaced) return wanted;
  const merged = mergeItems(kept, wanted, { mergeKey, merge: (item, by) => mergeObjects(item, by, schema.items) });
  return sortItems(merged, { order: wanted, server: kept, mergeKey });
}

/** Whether the items of two lists are objects; they must be all of one type, and not lists. */
function holdsObjects(...lists: readonly (readonly unknown[])[]): boolean {
  let type: string | undefined;
  for (const item of lists.flat()) {
    const itemType = isJsonObject(item) ? 'object' : isList(item) ? 'list' : item === null ? 'null' : typeof item;
    if (type === undefined && itemType === 'list') throw listOfLists();
    type ??= itemType;
    if (type !== itemType) throw mixedTypes(...lists);
  }
  return type === 'object';
}

function asItem(item: unknown): JsonObject {
  if (!isJsonObject(item)) throw noItemMap(item);
  return item;
}

/** Applies the items with `$patch`: `delete` removes items, `replace` keeps only those of the patch. */
function direct(
  original: readonly JsonObject[],
  patch: readonly JsonObject[],
  mergeKey: string,
): { readonly kept: readonly JsonObject[]; readonly wanted: readonly JsonObject[]; readonly isReplaced: boolean } {
  const wanted: JsonObject[] = [];
  const deleted = new Set<string>();
  let isReplaced = false;
  for (const item of patch) {
    if (!Object.hasOwn(item, '$patch')) wanted.push(item);
    else if (item['$patch'] === 'delete') deleted.add(keyOf(item, mergeKey));
    else if (item['$patch'] === 'replace') isReplaced = true;
    else throw unknownPatchType(item['$patch'], item);
  }
  const kept = deleted.size === 0 ? original : original.filter((item) => !deleted.has(identityOf(own(item, mergeKey))));
  return { kept, wanted, isReplaced };
}

interface ItemMerge {
  readonly mergeKey: string;
  readonly merge: (item: JsonObject, patch: JsonObject) => JsonObject;
}

/** Merges items into the first with the same key, and appends the others. */
function mergeItems(
  original: readonly JsonObject[],
  patch: readonly JsonObject[],
  { mergeKey, merge }: ItemMerge,
): JsonObject[] {
  const merged = [...original];
  const places = indexOf(merged, mergeKey);
  for (const item of patch) {
    const key = keyOf(item, mergeKey);
    const place = places.get(key) ?? merged.length;
    places.set(key, place);
    // New items are merged into an empty object, to apply the directives in them.
    merged[place] = merge(merged[place] ?? {}, item);
  }
  return merged;
}

interface Order {
  /** The requested order; it may omit items. */
  readonly order: readonly unknown[];
  /** The order in the object, which places the other items. */
  readonly server: readonly unknown[];
  readonly mergeKey: string | undefined;
}

/**
 * Sorts items by `order`. Items that are not in it keep the server's order, each before the first ordered item that it
 * preceded there.
 */
export function sortItems(items: readonly unknown[], { order, server, mergeKey }: Order): unknown[] {
  if (mergeKey === undefined && items.some(isJsonObject)) return [...items];
  const wanted = indexOf(order, mergeKey);
  const known = indexOf(server, mergeKey);
  const placed = items.map((item) => {
    const key = keyOf(item, mergeKey);
    return { item, wanted: wanted.get(key) ?? Infinity, known: known.get(key) ?? Infinity };
  });
  const named = placed.filter((each) => each.wanted !== Infinity).sort((left, right) => left.wanted - right.wanted);
  const others = placed
    .filter((each) => each.wanted === Infinity)
    .sort((left, right) => compareNumbers(left.known, right.known));

  const sorted: unknown[] = [];
  let next = 0;
  for (const { item, known: place } of named) {
    const before = place === Infinity ? -1 : place;
    for (let other = others[next]; other !== undefined && other.known < before; other = others[++next]) {
      sorted.push(other.item);
    }
    sorted.push(item);
  }
  return [...sorted, ...others.slice(next).map(({ item }) => item)];
}

const compareNumbers = (left: number, right: number): number => (left === right ? 0 : left - right);

/** Throws a 422 unless the items of a patch are in the order that the patch itself sets. */
export function checkOrder(patch: readonly unknown[], order: readonly unknown[], mergeKey: string | undefined): void {
  if (order.length === 0) return;
  const orderKeys = order.map((item) => keyOf(item, mergeKey));
  let place = 0;
  for (const item of patch) {
    if (isJsonObject(item) && Object.hasOwn(item, '$patch')) continue;
    const found = orderKeys.indexOf(keyOf(item, mergeKey), place);
    if (found < 0) throw orderMismatch(patch, order);
    place = found + 1;
  }
}

/** Removes scalars from a list. */
export function deleteScalars(list: readonly unknown[], deleted: readonly unknown[]): unknown[] {
  const identities = new Set(deleted.map(identityOf));
  return list.filter((item) => !identities.has(identityOf(item)));
}

/** key → index of its first item */
function indexOf(items: readonly unknown[], mergeKey: string | undefined): Map<string, number> {
  const places = new Map<string, number>();
  for (const [place, item] of items.entries()) {
    const key = keyOf(item, mergeKey);
    if (!places.has(key)) places.set(key, place);
  }
  return places;
}

function keyOf(item: unknown, mergeKey: string | undefined): string {
  if (mergeKey === undefined) return identityOf(item);
  if (!isJsonObject(item)) throw noItemMap(item);
  if (!Object.hasOwn(item, mergeKey)) throw noMergeKey(item, mergeKey);
  return identityOf(item[mergeKey]);
}

/** Identifies scalars by type and value: the prefix of strings does not occur in JSON. */
const identityOf = (value: unknown): string =>
  typeof value === 'string' ? `'${value}` : (JSON.stringify(value) ?? '');

/** Kubernetes does not report the reason. */
const listOfLists = (): StatusError => invalidPatch('the server rejected our request due to an error in our request');

// The following errors are a 500 in Kubernetes, although the client is at fault; the messages are the same.

const noMergeKey = (item: unknown, key: string): StatusError =>
  invalidPatch(`map: ${printGo(item)} does not contain declared merge key: ${key}`);

const noItemMap = (item: unknown): StatusError =>
  invalidPatch(`expected a map[string]interface {}, but received a ${goTypeOf(item)}`);

export const unknownPatchType = (type: unknown, patch: JsonObject): StatusError =>
  invalidPatch(`unknown patch type: ${printGo(type)} in map: ${printGo(patch)}`);

const mixedTypes = (...lists: readonly (readonly unknown[])[]): StatusError =>
  invalidPatch(`list element types are not identical: ${printGo(lists)}`);

const noMergeKeyDeclared = (name: string): StatusError =>
  invalidPatch(`cannot merge lists without merge key for ${name}`);

const orderMismatch = (patch: readonly unknown[], order: readonly unknown[]): StatusError =>
  invalidPatch(
    `The order in patch list:\n${printGo(patch)}\n doesn't match $setElementOrder list:\n${printGo(order)}\n`,
  );

const invalidPatch = (message: string): StatusError => failure({ code: 422, reason: 'Invalid', message, details: {} });
