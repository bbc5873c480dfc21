import { badRequest } from '../../api/errors.ts';
import { isJsonObject, setField } from '../../api/schema/json-object.ts';
import type { JsonObject } from './json-value.ts';
import { own } from './json-value.ts';

/** Applies a JSON merge patch (RFC 7386): null deletes, objects merge, everything else replaces. */
export function applyMergePatch(document: JsonObject, body: unknown): JsonObject {
  if (!isJsonObject(body)) throw badRequest('Invalid JSON Patch');
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
  if (!isJsonObject(patch)) return patch;
  return mergeObject(isJsonObject(value) ? value : {}, patch);
}
