import { badRequest } from '../../api/errors.ts';
import { setField } from '../../api/schema/json-object.ts';
import type { JsonObject } from './json-value.ts';
import { isObject, own } from './json-value.ts';

/** Applies a JSON merge patch (RFC 7386): null deletes, objects merge, everything else replaces. */
export function applyMergePatch(document: JsonObject, body: unknown): JsonObject {
  if (!isObject(body)) throw badRequest('Invalid JSON Patch');
  return mergeObject(document, body);
}

function mergeObject(document: JsonObject, patch: JsonObject): JsonObject {
  const merged: Record<string, unknown> = { ...document };
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) delete merged[key];
    else setField(merged, key, mergeValue(own(merged, key), value));
  }
  return merged;
}

function mergeValue(value: unknown, patch: unknown): unknown {
  if (!isObject(patch)) return patch;
  return mergeObject(isObject(value) ? value : {}, patch);
}
