// Finds the old value of a part of an object, for ratcheting and for CEL rules about transitions.

import { isJsonObject } from '../schema/json-object.ts';
import type { JsonSchema } from './json-schema.ts';
import { propertyOf, valuesOf } from './json-schema.ts';

/** An old value that corresponds to a new one. */
export interface Correlated {
  readonly value: unknown;
}

/** The old value of a field; undefined if it is new or undeclared. */
export function correlatedField(
  old: Correlated | undefined,
  object: Readonly<Record<string, unknown>>,
  name: string,
  schema: JsonSchema,
): Correlated | undefined {
  if (old === undefined || !isJsonObject(old.value)) return undefined;
  if (!Object.hasOwn(old.value, name) || !Object.hasOwn(object, name)) return undefined;
  if ((propertyOf(schema, name) ?? valuesOf(schema)) === undefined) return undefined;
  return { value: old.value[name] };
}

/** A function that returns the old value of an item. Only items of lists with keys have one. */
export function correlatedItems(
  old: Correlated | undefined,
  list: readonly unknown[],
  schema: JsonSchema,
): (item: unknown) => Correlated | undefined {
  const before: unknown = old?.value;
  if (!Array.isArray(before) || schema['x-kubernetes-list-type'] !== 'map' || list.length === 0) return () => undefined;
  const keys = schema['x-kubernetes-list-map-keys'] ?? [];
  const byKey = new Map<string, Correlated>();
  for (const item of before as readonly unknown[]) byKey.set(keyOf(item, keys), { value: item });
  return (item) => byKey.get(keyOf(item, keys));
}

/** The key of an item of a list with keys, as text. */
export const keyOf = (item: unknown, keys: readonly string[]): string =>
  JSON.stringify(isJsonObject(item) ? keys.map((key) => (Object.hasOwn(item, key) ? [item[key]] : [])) : item);
