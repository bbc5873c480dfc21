// Validation that ConfigMaps and Secrets share: keys, total size, immutability.
import type { FieldError } from '../../../field-errors.ts';
import { forbiddenField, invalidAll } from '../../../field-errors.ts';

/** The limit on the total size of the values of a ConfigMap or Secret. */
export const maxDataBytes = 1024 * 1024;

const keyPattern = /^[-._a-zA-Z0-9]+$/;
const badKey =
  "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')";

/** Validation errors of a key, which must be a valid file name. */
export function dataKeyErrors(key: string): readonly string[] {
  const problems: string[] = [];
  if (key.length > 253) problems.push('must be no more than 253 characters');
  if (!keyPattern.test(key)) problems.push(badKey);
  if (key === '.' || key === '..') problems.push(`must not be '${key}'`);
  else if (key.startsWith('..')) problems.push("must not start with '..'");
  return problems;
}

/** Validation errors of the keys of the map at `path`. */
export const keyErrors = (path: string, data: Readonly<Record<string, string>>): readonly FieldError[] =>
  Object.keys(data).flatMap((key) => invalidAll(`${path}[${key}]`, key, dataKeyErrors(key)));

/** The total size of base64 values, decoded. */
export const decodedBytes = (data: Readonly<Record<string, string>>): number =>
  Object.values(data).reduce((sum, text) => sum + Buffer.byteLength(text, 'base64'), 0);

/** The total size of values in UTF-8. */
export const textBytes = (data: Readonly<Record<string, string>>): number =>
  Object.values(data).reduce((sum, text) => sum + Buffer.byteLength(text), 0);

interface Freezable {
  readonly immutable?: boolean;
}

/** Errors of an update of an immutable object; `maps` are the maps that must not change. */
export function immutabilityErrors<T extends Freezable>(
  object: T,
  old: T,
  maps: Readonly<Record<string, (object: T) => Readonly<Record<string, string>> | undefined>>,
): readonly FieldError[] {
  if (!old.immutable) return [];
  const changed = Object.entries(maps).filter(([, read]) => !sameData(read(object) ?? {}, read(old) ?? {}));
  return [...(object.immutable ? [] : ['immutable']), ...changed.map(([path]) => path)].map((path) =>
    forbiddenField(path, 'field is immutable when `immutable` is set'),
  );
}

function sameData(a: Readonly<Record<string, string>>, b: Readonly<Record<string, string>>): boolean {
  const keys = Object.keys(a);
  return keys.length === Object.keys(b).length && keys.every((key) => a[key] === b[key]);
}
