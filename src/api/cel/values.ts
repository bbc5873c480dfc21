// The values of CEL while an expression runs.

import type { TypeName } from './cel-type.ts';

/** An error of an expression that runs, such as a division by zero. */
export class CelError extends Error {}

/** The expression costs more than it may. */
export class CostLimitError extends Error {
  constructor() {
    super('operation cancelled: actual cost limit exceeded');
  }
}

export class Uint {
  readonly value: bigint;

  constructor(value: bigint) {
    if (value < 0n || value >= 2n ** 64n) throw new CelError('unsigned integer overflow');
    this.value = value;
  }
}

/** A list: items of objects are converted when they are read. */
export class CelList {
  readonly size: number;
  readonly at: (index: number) => Value;
  /** The key of an item of a list that is a set or has keys, whose order does not matter. */
  readonly keyOf: ((item: Value) => string) | undefined;

  constructor(size: number, at: (index: number) => Value, keyOf?: (item: Value) => string) {
    this.size = size;
    this.at = at;
    this.keyOf = keyOf;
  }

  static of(items: readonly Value[]): CelList {
    return new CelList(items.length, (index) => items[index] ?? null);
  }

  get items(): readonly Value[] {
    return Array.from({ length: this.size }, (_, index) => this.at(index));
  }
}

/** A map or an object. */
export abstract class CelMap {
  abstract readonly size: number;
  /** Objects have declared fields: they are compared as objects, and have no keys to iterate over. */
  abstract readonly isObject: boolean;
  abstract get(key: Value): Value | undefined;
  abstract keys(): readonly Value[];
}

/** A map that an expression made. */
export class MadeMap extends CelMap {
  readonly isObject = false;
  readonly #entries = new Map<string, readonly [Value, Value]>();

  constructor(entries: Iterable<readonly [Value, Value]>) {
    super();
    for (const [key, value] of entries) {
      const text = keyText(key);
      if (this.#entries.has(text)) throw new CelError(`insert failed: key ${printValue(key)} already exists`);
      this.#entries.set(text, [key, value]);
    }
  }

  get size(): number {
    return this.#entries.size;
  }

  get(key: Value): Value | undefined {
    return this.#entries.get(keyText(key))?.[1];
  }

  keys(): readonly Value[] {
    return Array.from(this.#entries.values(), ([key]) => key);
  }
}

/** An object that an expression constructed, with the name of its type. */
export class Constructed extends CelMap {
  readonly isObject = true;
  readonly typeName: string;
  readonly fields: ReadonlyMap<string, Value>;

  constructor(typeName: string, fields: ReadonlyMap<string, Value>) {
    super();
    this.typeName = typeName;
    this.fields = fields;
  }

  get size(): number {
    return this.fields.size;
  }

  get(key: Value): Value | undefined {
    return typeof key === 'string' ? this.fields.get(key) : undefined;
  }

  keys(): readonly Value[] {
    return [...this.fields.keys()];
  }
}

/** Numbers are the same key if they are equal. */
function keyText(key: Value): string {
  if (typeof key === 'bigint') return `n${key}`;
  if (key instanceof Uint) return `n${key.value}`;
  if (typeof key === 'number') return Number.isInteger(key) ? `n${BigInt(key)}` : `n${key}`;
  if (typeof key === 'boolean') return `b${key}`;
  if (typeof key === 'string') return `s${key}`;
  throw new CelError(`unsupported key type: ${typeNameOf(key)}`);
}

export class Optional {
  readonly value: Value | undefined;

  constructor(value: Value | undefined) {
    this.value = value;
  }
}

/** A moment, in nanoseconds since 1970. */
export class Timestamp {
  readonly nanos: bigint;

  constructor(nanos: bigint) {
    const seconds = nanos / 1_000_000_000n;
    if (seconds < -62135596800n || seconds > 253402300799n) throw new CelError('timestamp overflow');
    this.nanos = nanos;
  }
}

export class Duration {
  readonly nanos: bigint;

  constructor(nanos: bigint) {
    if (nanos >= 2n ** 63n || nanos < -(2n ** 63n)) throw new CelError('duration overflow');
    this.nanos = nanos;
  }
}

export class TypeValue {
  readonly name: string;

  constructor(name: string) {
    this.name = name;
  }
}

/** A value of a type of Kubernetes' libraries; two are equal if their keys are. */
export class LibraryValue<Data = unknown> {
  readonly type: TypeName;
  readonly key: string;
  readonly data: Data;

  constructor(type: TypeName, key: string, data: Data) {
    this.type = type;
    this.key = key;
    this.data = data;
  }
}

export type Value =
  | null
  | boolean
  | bigint
  | number
  | string
  | Uint
  | Uint8Array
  | CelList
  | CelMap
  | Optional
  | Timestamp
  | Duration
  | TypeValue
  | LibraryValue;

/** The type of a value, as it is matched with the parameters of functions. */
export function typeNameOf(value: Value): TypeName {
  if (value === null) return 'null_type';
  if (typeof value === 'boolean') return 'bool';
  if (typeof value === 'bigint') return 'int';
  if (typeof value === 'number') return 'double';
  if (typeof value === 'string') return 'string';
  if (value instanceof CelList) return 'list';
  if (value instanceof CelMap) return value.isObject ? 'object' : 'map';
  if (value instanceof Uint) return 'uint';
  if (value instanceof Uint8Array) return 'bytes';
  if (value instanceof Optional) return 'optional_type';
  if (value instanceof Timestamp) return 'timestamp';
  if (value instanceof Duration) return 'duration';
  if (value instanceof TypeValue) return 'type';
  return value.type;
}

/** The size that the cost of functions depends on. */
export function sizeOfValue(value: Value): number {
  if (typeof value === 'string') return value.length;
  if (value instanceof CelList || value instanceof CelMap) return value.size;
  if (value instanceof Uint8Array) return value.length;
  if (value instanceof Optional && value.value !== undefined) return sizeOfValue(value.value);
  return 1;
}

/** Whether two values are equal. `spend` is called for the parts that are compared. */
export function equals(left: Value, right: Value, spend: (cost: number) => void): boolean {
  if (left === right) return true;
  if (isNumber(left) && isNumber(right)) return compareNumbers(left, right) === 0;
  if (left instanceof CelList) return right instanceof CelList && equalLists(left, right, spend);
  if (left instanceof CelMap) return right instanceof CelMap && equalMaps(left, right, spend);
  if (left instanceof Uint8Array) return right instanceof Uint8Array && Buffer.compare(left, right) === 0;
  if (left instanceof Timestamp) return right instanceof Timestamp && left.nanos === right.nanos;
  if (left instanceof Duration) return right instanceof Duration && left.nanos === right.nanos;
  if (left instanceof TypeValue) return right instanceof TypeValue && left.name === right.name;
  if (left instanceof LibraryValue)
    return right instanceof LibraryValue && left.type === right.type && left.key === right.key;
  if (left instanceof Optional && right instanceof Optional) {
    if (left.value === undefined || right.value === undefined) return left.value === right.value;
    return equals(left.value, right.value, spend);
  }
  return false;
}

function equalLists(left: CelList, right: CelList, spend: (cost: number) => void): boolean {
  if (left.size !== right.size) return false;
  spend(left.size * 0.1);
  const { keyOf } = left;
  if (keyOf === undefined) {
    for (let index = 0; index < left.size; index++) if (!equals(left.at(index), right.at(index), spend)) return false;
    return true;
  }
  const others = new Map(right.items.map((item) => [keyOf(item), item]));
  return left.items.every((item) => {
    const other = others.get(keyOf(item));
    return other !== undefined && equals(item, other, spend);
  });
}

function equalMaps(left: CelMap, right: CelMap, spend: (cost: number) => void): boolean {
  const typeNames = [left, right].map((map) => (map instanceof Constructed ? map.typeName : ''));
  if (typeNames[0] !== typeNames[1]) return false;
  if (left.size !== right.size) return false;
  spend(left.size * 0.1);
  return left.keys().every((key) => {
    const [mine, theirs] = [left.get(key), right.get(key)];
    return mine !== undefined && theirs !== undefined && equals(mine, theirs, spend);
  });
}

export const isNumber = (value: Value): value is bigint | number | Uint =>
  typeof value === 'bigint' || typeof value === 'number' || value instanceof Uint;

/** Compares numbers of any types exactly; NaN if one of them is. */
export function compareNumbers(left: bigint | number | Uint, right: bigint | number | Uint): number {
  const [a, b] = [left instanceof Uint ? left.value : left, right instanceof Uint ? right.value : right];
  if (Number.isNaN(a) || Number.isNaN(b)) return NaN;
  return a < b ? -1 : a > b ? 1 : 0;
}

/** A value in messages. */
export function printValue(value: Value): string {
  if (typeof value === 'string') return value;
  if (value instanceof Uint) return String(value.value);
  if (value instanceof LibraryValue) return value.key;
  if (value instanceof TypeValue) return value.name;
  if (value === null || typeof value !== 'object') return String(value);
  return typeNameOf(value);
}
