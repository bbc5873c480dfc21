// What ConfigMaps and Secrets have in common: keys, their total size, and how they become immutable.
import type { FieldError } from '../../../field-errors.ts';
import { forbiddenField, invalidValue } from '../../../field-errors.ts';

/** The most that the values of one ConfigMap or Secret may take together. */
export const maxDataBytes = 1024 * 1024;

const keyPattern = /^[-._a-zA-Z0-9]+$/;
const badKey =
  "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')";

/** What is wrong with a key, which may become a file name. */
function dataKeyErrors(key: string): readonly string[] {
  const problems: string[] = [];
  if (key.length > 253) problems.push('must be no more than 253 characters');
  if (!keyPattern.test(key)) problems.push(badKey);
  if (key === '.' || key === '..') problems.push(`must not be '${key}'`);
  else if (key.startsWith('..')) problems.push("must not start with '..'");
  return problems;
}

/** What is wrong with the keys of the map at `path`. */
export const keyErrors = (path: string, data: Readonly<Record<string, string>>): readonly FieldError[] =>
  Object.keys(data).flatMap((key) =>
    dataKeyErrors(key).map((problem) => invalidValue(`${path}[${key}]`, key, problem)),
  );

/** How many bytes the values have when base64 is undone. */
export const decodedBytes = (data: Readonly<Record<string, string>>): number =>
  Object.values(data).reduce((sum, text) => sum + Buffer.byteLength(text, 'base64'), 0);

/** How many bytes the values have in UTF-8. */
export const textBytes = (data: Readonly<Record<string, string>>): number =>
  Object.values(data).reduce((sum, text) => sum + Buffer.byteLength(text), 0);

interface Freezable {
  readonly immutable?: boolean;
}

/** The errors of an update to an object that was marked immutable, where `maps` names the maps that must stay. */
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
