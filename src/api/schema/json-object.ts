/** A JSON object while it is being built or has not been checked. */
export type JsonObject = Record<string, unknown>;

/** True of objects, not of arrays and null. */
export const isJsonObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** True of `{}`. */
export const isEmptyObject = (value: object): boolean => {
  for (const _ in value) return false;
  return true;
};

/** Sets a field, also one named `__proto__`, which an assignment would take for the prototype. */
export function setField(target: JsonObject, name: string, value: unknown): void {
  if (name === '__proto__') {
    Object.defineProperty(target, name, { value, enumerable: true, configurable: true, writable: true });
  } else {
    target[name] = value;
  }
}
