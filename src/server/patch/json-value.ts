/** A JSON object. Read keys that come from users with `own`, since `__proto__` is a valid key. */
export interface JsonObject {
  readonly [key: string]: unknown;
}

/** Whether a JSON value is a list; unlike `Array.isArray` it narrows to unknown items. */
export const isList = (value: unknown): value is readonly unknown[] => Array.isArray(value);

/** The object's own property, never an inherited one. */
export const own = (object: JsonObject, key: string): unknown => (Object.hasOwn(object, key) ? object[key] : undefined);
