import type { Schema } from '../../api/schema/schema.ts';
import type { JsonObject } from './json-value.ts';
import { isList, isObject, own } from './json-value.ts';
import {
  listOfLists,
  mixedTypes,
  noItemMap,
  noMergeKey,
  noMergeKeyDeclared,
  orderMismatch,
  unknownPatchType,
} from './strategic-errors.ts';

/** Merges two objects by a schema; passed in, since objects and lists contain each other. */
export type MergeObjects = (original: JsonObject, patch: JsonObject, schema: Schema | undefined) => JsonObject;

/** The field by which the items of a list merge; undefined for scalars and for lists that do not merge. */
export const mergeKeyOf = (schema: Schema | undefined): string | undefined =>
  schema?.type === 'list' ? schema.patch?.key : undefined;

/** Merges a list of a patch into one of the object, or replaces it where the schema says no more. */
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
    const itemType = isObject(item) ? 'object' : isList(item) ? 'list' : item === null ? 'null' : typeof item;
    if (type === undefined && itemType === 'list') throw listOfLists();
    type ??= itemType;
    if (type !== itemType) throw mixedTypes(...lists);
  }
  return type === 'object';
}

function asItem(item: unknown): JsonObject {
  if (!isObject(item)) throw noItemMap(item);
  return item;
}

/** Follows the items that hold a `$patch`: `delete` takes items out, `replace` leaves only what the patch has. */
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
    // Into nothing, so that the directives inside a new item are followed as well.
    merged[place] = merge(merged[place] ?? {}, item);
  }
  return merged;
}

interface Order {
  /** The order wanted for what it names. */
  readonly order: readonly unknown[];
  /** The order in the object, by which the rest finds its place. */
  readonly server: readonly unknown[];
  readonly mergeKey: string | undefined;
}

/**
 * Sorts items as `order` has them. Those it does not name stay in the server's order, each before the first named item
 * that it preceded there.
 */
export function sortItems(items: readonly unknown[], { order, server, mergeKey }: Order): unknown[] {
  if (mergeKey === undefined && items.some(isObject)) return [...items];
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

/** Fails unless the items of a patch come in the order that it sets itself. */
export function checkOrder(patch: readonly unknown[], order: readonly unknown[], mergeKey: string | undefined): void {
  if (order.length === 0) return;
  const orderKeys = order.map((item) => keyOf(item, mergeKey));
  let place = 0;
  for (const item of patch) {
    if (isObject(item) && Object.hasOwn(item, '$patch')) continue;
    const found = orderKeys.indexOf(keyOf(item, mergeKey), place);
    if (found < 0) throw orderMismatch(patch, order);
    place = found + 1;
  }
}

/** A list of scalars without some of them. */
export function deleteScalars(list: readonly unknown[], deleted: readonly unknown[]): unknown[] {
  const identities = new Set(deleted.map(identityOf));
  return list.filter((item) => !identities.has(identityOf(item)));
}

/** Key → place of its first item. */
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
  if (!isObject(item)) throw noItemMap(item);
  if (!Object.hasOwn(item, mergeKey)) throw noMergeKey(item, mergeKey);
  return identityOf(item[mergeKey]);
}

/** Tells scalars apart by type and value: no JSON begins as a string does here. */
const identityOf = (value: unknown): string =>
  typeof value === 'string' ? `'${value}` : (JSON.stringify(value) ?? '');
