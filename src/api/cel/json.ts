// Values of CEL as JSON, for patches that expressions make.

import { printDuration, printTimestamp } from './library/time.ts';
import type { Value } from './values.ts';
import {
  CelError,
  CelList,
  CelMap,
  Constructed,
  Duration,
  Optional,
  printValue,
  Timestamp,
  typeNameOf,
  Uint,
} from './values.ts';

/** A value as JSON. Throws a `CelError` for one that JSON cannot express. */
export function jsonOf(value: Value): unknown {
  if (value === null || typeof value === 'boolean' || typeof value === 'string') return value;
  if (typeof value === 'number') {
    if (Number.isFinite(value)) return value;
    throw new CelError(`unsupported number: ${value}`);
  }
  if (typeof value === 'bigint') return Number(value);
  if (value instanceof Uint) return Number(value.value);
  if (value instanceof CelList) return value.items.map(jsonOf);
  if (value instanceof CelMap) return objectOf(value);
  if (value instanceof Uint8Array) return Buffer.from(value).toString('base64');
  if (value instanceof Timestamp) return printTimestamp(value);
  if (value instanceof Duration) return printDuration(value);
  if (value instanceof Optional && value.value !== undefined) return jsonOf(value.value);
  throw new CelError(`unsupported type: ${typeNameOf(value)}`);
}

function objectOf(map: CelMap): Readonly<Record<string, unknown>> {
  return Object.fromEntries(
    map.keys().map((key) => {
      if (typeof key === 'string') return [key, jsonOf(map.get(key) ?? null)];
      throw new CelError(`map key "${printValue(key)}" is of type ${typeNameOf(key)}, not string`);
    }),
  );
}

/**
 * The differences between the names of constructed types and their places: the field `spec` of `Object` must be an
 * `Object.spec`. Kubernetes checks this when the expression has run.
 */
export function typeNameErrors(value: Value, path: readonly string[]): readonly string[] {
  if (value instanceof CelList) return value.items.flatMap((item) => typeNameErrors(item, path));
  if (!(value instanceof CelMap)) return [];
  if (!(value instanceof Constructed)) {
    return value.keys().flatMap((key) => typeNameErrors(value.get(key) ?? null, path));
  }
  const wanted = path.join('.');
  const why = `expected "${wanted}", which matches field name path from root Object type`;
  return [
    ...(value.typeName === wanted ? [] : [`unexpected type name "${value.typeName}", ${why}`]),
    ...Array.from(value.fields).flatMap(([name, field]) => typeNameErrors(field, [...path, name])),
  ];
}
