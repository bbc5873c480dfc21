/** `object` with the value of `key` put through `edit`, if it has one. */
export function edited<T extends object, K extends keyof T>(
  object: T,
  key: K,
  edit: (value: NonNullable<T[K]>) => T[K],
): T {
  const value = object[key];
  return value === undefined || value === null ? object : { ...object, [key]: edit(value) };
}
