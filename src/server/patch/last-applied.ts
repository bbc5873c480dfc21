// The annotation in which `kubectl apply` without --server-side stores the configuration. A server-side apply by the
// manager `kubectl` reads and updates it, so that users can migrate in both directions without conflicts.

import { isJsonObject } from '../../api/schema/json-object.ts';
import { parseJson } from '../../api/schema/json.ts';
import type { StructSchema } from '../../api/schema/schema.ts';
import { byKey } from '../../api/order.ts';
import { compare } from './fields/compare.ts';
import type { FieldSet } from './fields/set.ts';
import { difference, emptySet, union } from './fields/set.ts';
import { toFieldSet } from './fields/to-set.ts';
import { typeErrors } from './fields/typed.ts';
import type { JsonObject } from './json-value.ts';
import { isList, own } from './json-value.ts';

export const lastAppliedAnnotation = 'kubectl.kubernetes.io/last-applied-configuration';

/** The manager that kubectl uses for server-side apply. */
export const kubectl = 'kubectl';

const maxAnnotationBytes = 256 * 1024;

/** The fields that client-side apply owns: last applied, and with the same value in the live object. */
export function fieldsFromLastApplied(live: JsonObject, schema: StructSchema, apiVersion: string): FieldSet {
  const lastApplied = parse(own(annotationsOf(live), lastAppliedAnnotation));
  if (lastApplied === undefined || lastApplied['apiVersion'] !== apiVersion) return emptySet;
  if (typeErrors(lastApplied, schema).length > 0) return emptySet;
  const { added, modified, removed } = compare(lastApplied, live, schema);
  return difference(toFieldSet(lastApplied, schema), union(union(added, modified), removed));
}

function parse(text: unknown): JsonObject | undefined {
  if (typeof text !== 'string' || text === '') return undefined;
  try {
    const { value } = parseJson(text);
    return isJsonObject(value) ? value : undefined;
  } catch {
    // Any client can write the annotation; invalid JSON is ignored.
    return undefined;
  }
}

/** Sets the annotation, if the object has it, to the applied configuration. */
export function refreshLastApplied(object: JsonObject, config: JsonObject): JsonObject {
  const annotations = annotationsOf(object);
  const present = own(annotations, lastAppliedAnnotation);
  if (typeof present !== 'string' || present === '') return object;
  const { [lastAppliedAnnotation]: _, ...others } = annotations;
  const refreshed = { ...annotations, [lastAppliedAnnotation]: printConfiguration(config) };
  return withAnnotations(object, bytesOf(refreshed) > maxAnnotationBytes ? others : refreshed);
}

function printConfiguration(config: JsonObject): string {
  const { [lastAppliedAnnotation]: _, ...others } = annotationsOf(config);
  const hasAnnotations = isJsonObject(config['metadata']) && isJsonObject(config['metadata']['annotations']);
  return `${printSorted(hasAnnotations ? withAnnotations(config, others) : config)}\n`;
}

/** JSON as Go prints it: with sorted keys and escaped markup. */
function printSorted(value: unknown): string {
  return JSON.stringify(sorted(value)).replace(
    /[<>&\u2028\u2029]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

function sorted(value: unknown): unknown {
  if (isList(value)) return value.map(sorted);
  if (!isJsonObject(value)) return value;
  const entries = Object.entries(value).map(([key, below]) => [key, sorted(below)] as const);
  return Object.fromEntries(entries.toSorted(byKey));
}

function annotationsOf(object: JsonObject): JsonObject {
  const metadata = object['metadata'];
  const annotations = isJsonObject(metadata) ? metadata['annotations'] : undefined;
  return isJsonObject(annotations) ? annotations : {};
}

function withAnnotations(object: JsonObject, annotations: JsonObject): JsonObject {
  const metadata = object['metadata'];
  return { ...object, metadata: { ...(isJsonObject(metadata) ? metadata : {}), annotations } };
}

const bytesOf = (annotations: JsonObject): number =>
  Object.entries(annotations).reduce((sum, [key, value]) => sum + Buffer.byteLength(key + String(value)), 0);
