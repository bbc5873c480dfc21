import type { JsonObject } from '../schema/json-object.ts';
import { isJsonObject, setField } from '../schema/json-object.ts';
import type { JsonSchema } from './json-schema.ts';
import { anyPart, itemsOf, propertyOf, valuesOf } from './json-schema.ts';

/** Whether the schema declares a default, in itself or below. */
const hasDefaults = anyPart((schema) => schema.default !== undefined);

/** The value with the defaults of its schema. Values are shared where nothing is added. */
export function withDefaults(value: unknown, schema: JsonSchema | undefined): unknown {
  if (schema === undefined || !hasDefaults(schema)) return value;
  if (Array.isArray(value)) return listWithDefaults(value, itemsOf(schema));
  return isJsonObject(value) ? objectWithDefaults(value, schema) : value;
}

const isForbiddenNull = (value: unknown, schema: JsonSchema | undefined): boolean =>
  value === null && schema !== undefined && schema.nullable !== true;

/** The default in place of a null that is not allowed; the null itself if there is no default. */
const replaced = (value: unknown, schema: JsonSchema | undefined): unknown =>
  isForbiddenNull(value, schema) ? (schema?.default ?? null) : value;

function listWithDefaults(list: readonly unknown[], schema: JsonSchema | undefined): unknown {
  let isChanged = false;
  const next = list.map((item) => {
    const completed = withDefaults(replaced(item, schema), schema);
    isChanged ||= completed !== item;
    return completed;
  });
  return isChanged ? next : list;
}

function objectWithDefaults(object: JsonObject, schema: JsonSchema): JsonObject {
  const next: JsonObject = { ...object };
  let isChanged = false;
  for (const [name, property] of Object.entries(schema.properties ?? {})) {
    if (property.default === undefined) continue;
    const isAbsent = !Object.hasOwn(object, name) || object[name] === undefined;
    if (!isAbsent && !isForbiddenNull(object[name], property)) continue;
    setField(next, name, property.default);
    isChanged = true;
  }
  const values = valuesOf(schema);
  for (const name of Object.keys(next)) {
    const property = propertyOf(schema, name);
    const given = property === undefined ? replaced(next[name], values) : next[name];
    const completed = withDefaults(given, property ?? values);
    if (completed === next[name]) continue;
    setField(next, name, completed);
    isChanged = true;
  }
  return isChanged ? next : object;
}
