// The annotation in which `kubectl apply` without --server-side keeps what it sent. An apply by the manager `kubectl` takes
// over from it and keeps it up to date, so that users can change sides without conflicts.

import { parseJson } from '../../api/schema/json.ts';
import type { StructSchema } from '../../api/schema/schema.ts';
import { compare } from './fields/compare.ts';
import type { FieldSet } from './fields/set.ts';
import { difference, emptySet, union } from './fields/set.ts';
import { toFieldSet } from './fields/to-set.ts';
import { typeErrors } from './fields/typed.ts';
import type { JsonObject } from './json-value.ts';
import { isList, isObject, own } from './json-value.ts';

export const lastAppliedAnnotation = 'kubectl.kubernetes.io/last-applied-configuration';

/** The manager that kubectl uses for server-side apply. */
export const kubectl = 'kubectl';

const maxAnnotationBytes = 256 * 1024;

/** The fields that client-side apply still holds: last applied, and with the same value in the live object. */
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
    return isObject(value) ? value : undefined;
  } catch {
    // The annotation is anybody's to write; what is no JSON records nothing.
    return undefined;
  }
}

/** The object with the annotation, where it has one, set to the configuration just applied. */
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
  const hasAnnotations = isObject(config['metadata']) && isObject(config['metadata']['annotations']);
  return `${printSorted(hasAnnotations ? withAnnotations(config, others) : config)}\n`;
}

/** JSON as Go writes it: keys sorted, and markup escaped. */
function printSorted(value: unknown): string {
  return JSON.stringify(sorted(value)).replace(
    /[<>&\u2028\u2029]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

function sorted(value: unknown): unknown {
  if (isList(value)) return value.map(sorted);
  if (!isObject(value)) return value;
  const entries = Object.entries(value).map(([key, below]) => [key, sorted(below)] as const);
  return Object.fromEntries(entries.toSorted(([left], [right]) => (left < right ? -1 : 1)));
}

function annotationsOf(object: JsonObject): JsonObject {
  const metadata = object['metadata'];
  const annotations = isObject(metadata) ? metadata['annotations'] : undefined;
  return isObject(annotations) ? annotations : {};
}

function withAnnotations(object: JsonObject, annotations: JsonObject): JsonObject {
  const metadata = object['metadata'];
  return { ...object, metadata: { ...(isObject(metadata) ? metadata : {}), annotations } };
}

const bytesOf = (annotations: JsonObject): number =>
  Object.entries(annotations).reduce((sum, [key, value]) => sum + Buffer.byteLength(key + String(value)), 0);
