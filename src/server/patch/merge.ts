import { badRequest } from '../../api/errors.ts';
import type { JsonObject } from './json-value.ts';
import { isObject } from './json-value.ts';

/** Applies a JSON merge patch (RFC 7386): null deletes, objects merge, everything else replaces. */
export function applyMergePatch(document: JsonObject, body: unknown): JsonObject {
  if (!isObject(body)) throw badRequest('Invalid JSON Patch');
  return mergeObject(document, body);
}

function mergeObject(document: JsonObject, patch: JsonObject): JsonObject {
  const merged = new Map(Object.entries(document));
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) merged.delete(key);
    else merged.set(key, mergeValue(merged.get(key), value));
  }
  // fromEntries defines properties, so that a key `__proto__` stays a key.
  return Object.fromEntries(merged);
}

function mergeValue(value: unknown, patch: unknown): unknown {
  if (!isObject(patch)) return patch;
  return mergeObject(isObject(value) ? value : {}, patch);
}
