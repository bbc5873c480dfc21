// Some of Kubernetes' messages show values as Go prints them.

import { isList, isObject } from './json-value.ts';

/** A JSON value as Go's %v prints it. */
export function printGo(value: unknown): string {
  if (isList(value)) return `[${value.map(printGo).join(' ')}]`;
  if (isObject(value)) {
    const fields = Object.entries(value).toSorted(([left], [right]) => (left < right ? -1 : 1));
    return `map[${fields.map(([key, below]) => `${key}:${printGo(below)}`).join(' ')}]`;
  }
  if (typeof value === 'string') return value;
  return value === null ? '<nil>' : JSON.stringify(value);
}

/** The Go type that holds a JSON value. */
export function goTypeOf(value: unknown): string {
  if (value === null) return '<nil>';
  if (isList(value)) return '[]interface {}';
  if (isObject(value)) return 'map[string]interface {}';
  if (typeof value === 'number') return Number.isInteger(value) ? 'int64' : 'float64';
  return typeof value === 'boolean' ? 'bool' : 'string';
}
