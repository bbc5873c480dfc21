import { isJsonObject } from './json-object.ts';
import type { JsonObject } from './json-object.ts';

/** Whether two JSON values are equal; the order of keys does not count. */
export function equalJson(left: unknown, right: unknown): boolean {
  if (left === right) return true;
  if (typeof left !== 'object' || typeof right !== 'object' || left === null || right === null) return false;
  if (Array.isArray(left) || Array.isArray(right)) {
    return Array.isArray(left) && Array.isArray(right) && equalLists(left, right);
  }
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
