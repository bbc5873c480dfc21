/** A JSON object that is being built or has not been validated. */
export type JsonObject = Record<string, unknown>;

/** Whether the value is an object: neither an array nor null. */
export const isJsonObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Whether the object is `{}`. */
export const isEmptyObject = (value: object): boolean => {
  for (const _ in value) return false;
  return true;
};

/** Sets a field. An assignment to `__proto__` would set the prototype instead. */
export function setField(target: JsonObject, name: string, value: unknown): void {
  if (name === '__proto__') {
    Object.defineProperty(target, name, { value, enumerable: true, configurable: true, writable: true });
  } else {
    target[name] = value;
  }
}
