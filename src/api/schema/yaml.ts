import { constructFromEvents, EVENT_ID, parseEvents, YAMLException } from 'js-yaml';

import { truncate } from '../text.ts';
import { setField } from './json-object.ts';
import { maxJsonDepth } from './json-scan.ts';
import type { ParsedJson } from './json.ts';
import { JsonError, parseJson } from './json.ts';
import type { Path } from './path.ts';
import { duplicateField, maxProblems } from './path.ts';
import { maxValues, TooManyValuesError } from './value-budget.ts';
import { kubernetesYaml, YamlMap } from './yaml-tags.ts';

/** The text is not a single YAML document. */
export class YamlError extends Error {
  readonly code = 'YAML';
}

/** The limit on characters of all keys and strings of a document, with aliases expanded. */
const maxCharacters = 3 * 1024 * 1024;

/** Parses one YAML document to JSON values, as Kubernetes does. Throws a `YamlError` or a `TooManyValuesError`. */
export const parseYaml = (text: string): ParsedJson => parseYamlAsJson(text) ?? parseYamlDocument(text);

const startsAsJson = /^\s{0,100}\{/;

/** Most bodies with a YAML content type are JSON, which parses ten times faster. undefined if the text is not JSON. */
export function parseYamlAsJson(text: string): ParsedJson | undefined {
  if (!startsAsJson.test(text)) return undefined;
  try {
    return parseJson(text);
  } catch (error) {
    if (error instanceof JsonError) return undefined;
    throw error;
  }
}

/** As `parseYaml`, for text that is not JSON. */
export function parseYamlDocument(text: string): ParsedJson {
  const conversion = { text, valuesLeft: maxValues, charactersLeft: maxCharacters, duplicates: [] };
  const value = toJson(load(text), { path: undefined, depth: 0 }, conversion);
  return { value, duplicates: conversion.duplicates };
}

function load(text: string): unknown {
  try {
    const events = parseEvents(text, { maxDepth: maxJsonDepth });
    checkEvents(events);
    const [document = null] = constructFromEvents(events, { source: text, schema: kubernetesYaml, json: true });
    return document;
  } catch (error) {
    if (!(error instanceof YAMLException)) throw error;
    const line = error.mark === undefined ? '' : `line ${error.mark.line + 1}: `;
    throw new YamlError(`yaml: ${line}${truncate(error.reason)}`, { cause: error });
  }
}

/** Rejects several documents and too many values before objects are created. A field counts as key and value. */
function checkEvents(events: ReturnType<typeof parseEvents>): void {
  let documents = 0;
  let values = 0;
  for (const { type } of events) {
    if (type === EVENT_ID.DOCUMENT) documents++;
    else if (type !== EVENT_ID.POP) values++;
  }
  if (documents > 1) throw new YamlError('yaml: only one document is accepted');
  if (values > 2 * maxValues) throw new TooManyValuesError();
}

interface Conversion {
  readonly text: string;
  valuesLeft: number;
  charactersLeft: number;
  readonly duplicates: string[];
}

interface Place {
  readonly path: Path;
  readonly depth: number;
}

function toJson(node: unknown, { path: parent, depth }: Place, conversion: Conversion): unknown {
  // Every value that is not an alias has at least one character, so more values than characters means aliases.
  if (--conversion.valuesLeft < 0) throw conversion.text.length < maxValues ? aliasing() : new TooManyValuesError();
  if (depth > maxJsonDepth) throw new YamlError(`yaml: exceeded max depth of ${maxJsonDepth}`);
  if (typeof node === 'string') return countCharacters(node, conversion);
  const at = (step: string | number): Place => ({ path: { parent, step }, depth: depth + 1 });
  if (Array.isArray(node)) return node.map((item: unknown, index) => toJson(item, at(index), conversion));
  if (!(node instanceof YamlMap)) return node;
  const object: Record<string, unknown> = {};
  for (const [key, value] of node.entries) {
    const { duplicates } = conversion;
    const place = at(key);
    if (node.duplicates.has(key) && duplicates.length < maxProblems) duplicates.push(duplicateField(place.path));
    setField(object, countCharacters(key, conversion), toJson(value, place, conversion));
  }
  return object;
}

/** Returns the text with lone surrogates replaced. Limits the characters, since a short alias can expand to a long text. */
function countCharacters(text: string, conversion: Conversion): string {
  conversion.charactersLeft -= text.length;
  if (conversion.charactersLeft < 0) throw aliasing();
  return text.toWellFormed();
}

const aliasing = (): YamlError => new YamlError('yaml: document contains excessive aliasing');
