import type { FieldError } from '../field-errors.ts';
import { duplicate, invalidValue } from '../field-errors.ts';
import { isJsonObject } from '../schema/json-object.ts';
import { keyOf } from './correlate.ts';
import type { JsonSchema } from './json-schema.ts';
import { anyPart, itemsOf, propertyOf, valuesOf } from './json-schema.ts';

const hasUniqueLists = anyPart((schema) => ['set', 'map'].includes(schema['x-kubernetes-list-type'] ?? ''));

/** The errors of lists of the types `set` and `map` that contain an item or a key more than once. */
export function listTypeErrors(value: unknown, schema: JsonSchema | undefined, path = ''): FieldError[] {
  if (schema === undefined || !hasUniqueLists(schema)) return [];
  if (Array.isArray(value)) {
    const items = itemsOf(schema);
    return [
      ...uniqueErrors(value, schema, path),
      ...value.flatMap((item, index) => listTypeErrors(item, items, `${path}[${index}]`)),
    ];
  }
  if (!isJsonObject(value)) return [];
  return Object.keys(value).flatMap((name) => {
    const property = propertyOf(schema, name);
    const at = property === undefined ? `${path}[${name}]` : path === '' ? name : `${path}.${name}`;
    return listTypeErrors(value[name], property ?? valuesOf(schema), at);
  });
}

function uniqueErrors(list: readonly unknown[], schema: JsonSchema, path: string): FieldError[] {
  const type = schema['x-kubernetes-list-type'];
  if (type === 'set') return repeated(list.map(textOf)).map((index) => duplicate(`${path}[${index}]`, list[index]));
  if (type !== 'map') return [];
  const wrong = list.findIndex((item) => item !== null && !isJsonObject(item));
  if (wrong >= 0) {
    return [invalidValue(`${path}[${wrong}]`, list[wrong], 'must be an object for an array of list-type map')];
  }
  const keys = schema['x-kubernetes-list-map-keys'] ?? [];
  const keysIn = (item: unknown): object =>
    Object.fromEntries(
      isJsonObject(item) ? keys.flatMap((key) => (Object.hasOwn(item, key) ? [[key, item[key]]] : [])) : [],
    );
  return repeated(list.map((item) => keyOf(item ?? {}, keys))).map((index) =>
    duplicate(`${path}[${index}]`, keysIn(list[index])),
  );
}

const textOf = (value: unknown): string => JSON.stringify(isJsonObject(value) ? sorted(value) : value);

const sorted = (value: object): object =>
  Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)));

/** The index of the second occurrence of each text. */
function repeated(texts: readonly string[]): readonly number[] {
  const counts = new Map<string, number>();
  return texts.flatMap((text, index) => {
    const count = (counts.get(text) ?? 0) + 1;
    counts.set(text, count);
    return count === 2 ? [index] : [];
  });
}
