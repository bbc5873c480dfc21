import { isJsonObject } from '../../api/schema/json-object.ts';

/** A JSON object. Read keys that come from users with `own`, since `__proto__` is a valid key. */
export interface JsonObject {
  readonly [key: string]: unknown;
}

/** Whether a JSON value is a list; unlike `Array.isArray` it narrows to unknown items. */
export const isList = (value: unknown): value is readonly unknown[] => Array.isArray(value);

/** The object's own property, never an inherited one. */
export const own = (object: JsonObject, key: string): unknown => (Object.hasOwn(object, key) ? object[key] : undefined);

/** Whether two JSON values are equal; the order of keys does not count. */
export function equalJson(left: unknown, right: unknown): boolean {
  if (left === right) return true;
  if (typeof left !== 'object' || typeof right !== 'object' || left === null || right === null) return false;
  if (isList(left) || isList(right)) return isList(left) && isList(right) && equalLists(left, right);
  return isJsonObject(left) && isJsonObject(right) && equalObjects(left, right);
}

function equalLists(left: readonly unknown[], right: readonly unknown[]): boolean {
  if (left.length !== right.length) return false;
  for (let index = 0; index < left.length; index++) if (!equalJson(left[index], right[index])) return false;
  return true;
}

function equalObjects(left: JsonObject, right: JsonObject): boolean {
  const keys = Object.keys(left);
  if (keys.length !== Object.keys(right).length) return false;
  for (const key of keys) if (!Object.hasOwn(right, key) || !equalJson(left[key], right[key])) return false;
  return true;
}
