// The functions and operators of the CEL specification.

import type { CelFunction } from '../functions.ts';
import { define } from '../functions.ts';
import { compilePattern, PatternError } from '../../structural/linear-pattern.ts';
import type { LinearPattern } from '../../structural/linear-pattern.ts';
import {
  CelError,
  CelList,
  compareNumbers,
  Duration,
  equals,
  isNumber,
  LibraryValue,
  Optional,
  sizeOfValue,
  Timestamp,
  typeNameOf,
  TypeValue,
  Uint,
} from '../values.ts';
import type { CelMap, Value } from '../values.ts';
import type { Run } from '../functions.ts';
import { parseDuration, parseTimestamp, printDuration, printTimestamp, timeFunctions } from './time.ts';

const minInt = -(2n ** 63n);
const maxInt = 2n ** 63n - 1n;

function checked(value: bigint): bigint {
  if (value < minInt || value > maxInt) throw new CelError('integer overflow');
  return value;
}

/** The cost of reading strings of these sizes. */
export const traversal = (size: number, factor = 1): number => Math.ceil(size * 0.1 * factor);

/** The cost of a match: as in Kubernetes, a guess from the lengths of text and pattern. */
export const matchCost = ([text = 0, pattern = 0]: readonly number[]): number =>
  Math.ceil((1 + text) * 0.1) * Math.ceil(pattern * 0.25);

// Most patterns are literals of rules, which run for every object. The oldest are dropped: a pattern can be a part of an object.
const patterns = new Map<string, LinearPattern>();
const kept = { patterns: 200, characters: 500 };

/** Throws the error of an invalid pattern. */
export function patternFrom(text: string): LinearPattern {
  const known = patterns.get(text);
  if (known !== undefined) return known;
  try {
    const compiled = compilePattern(text);
    if (text.length > kept.characters) return compiled;
    const [oldest] = patterns.keys();
    if (patterns.size >= kept.patterns && oldest !== undefined) patterns.delete(oldest);
    patterns.set(text, compiled);
    return compiled;
  } catch (error) {
    throw error instanceof PatternError ? new CelError(error.message) : error;
  }
}

const nonZero = (value: bigint, what: string): bigint => {
  if (value === 0n) throw new CelError(what);
  return value;
};

const unsigned = (left: Uint, right: Uint, combine: (a: bigint, b: bigint) => bigint): Uint =>
  new Uint(combine(left.value, right.value));

function concatenate(left: CelList, right: CelList): CelList {
  const { keyOf } = left;
  if (keyOf === undefined) {
    return new CelList(left.size + right.size, (index) =>
      index < left.size ? left.at(index) : right.at(index - left.size),
    );
  }
  // Sets are united; items with the keys of others replace them.
  const byKey = new Map(left.items.map((item) => [keyOf(item), item]));
  for (const item of right.items) byKey.set(keyOf(item), item);
  const items = [...byKey.values()];
  return new CelList(items.length, (index) => items[index] ?? null, keyOf);
}

const arithmetic: readonly CelFunction[] = [
  define('_+_(int, int): int', (a: bigint, b: bigint) => checked(a + b)),
  define('_+_(uint, uint): uint', (a: Uint, b: Uint) => unsigned(a, b, (x, y) => x + y)),
  define('_+_(double, double): double', (a: number, b: number) => a + b),
  define(
    '_+_(string, string): string',
    (a: string, b: string) => a + b,
    ([a = 0, b = 0]) => traversal(a + b),
  ),
  define(
    '_+_(bytes, bytes): bytes',
    (a: Uint8Array, b: Uint8Array) => Buffer.concat([a, b]),
    ([a = 0, b = 0]) => traversal(a + b),
  ),
  define('_+_(list<A>, list<A>): list<A>', concatenate, ([a = 0, b = 0]) => 1 + (a + b) * 0.1),
  define('_+_(duration, duration): duration', (a: Duration, b: Duration) => new Duration(a.nanos + b.nanos)),
  define('_+_(timestamp, duration): timestamp', (a: Timestamp, b: Duration) => new Timestamp(a.nanos + b.nanos)),
  define('_+_(duration, timestamp): timestamp', (a: Duration, b: Timestamp) => new Timestamp(a.nanos + b.nanos)),
  define('_-_(int, int): int', (a: bigint, b: bigint) => checked(a - b)),
  define('_-_(uint, uint): uint', (a: Uint, b: Uint) => unsigned(a, b, (x, y) => x - y)),
  define('_-_(double, double): double', (a: number, b: number) => a - b),
  define('_-_(duration, duration): duration', (a: Duration, b: Duration) => new Duration(a.nanos - b.nanos)),
  define('_-_(timestamp, duration): timestamp', (a: Timestamp, b: Duration) => new Timestamp(a.nanos - b.nanos)),
  define('_-_(timestamp, timestamp): duration', (a: Timestamp, b: Timestamp) => new Duration(a.nanos - b.nanos)),
  define('_*_(int, int): int', (a: bigint, b: bigint) => checked(a * b)),
  define('_*_(uint, uint): uint', (a: Uint, b: Uint) => unsigned(a, b, (x, y) => x * y)),
  define('_*_(double, double): double', (a: number, b: number) => a * b),
  define('_/_(int, int): int', (a: bigint, b: bigint) => checked(a / nonZero(b, 'division by zero'))),
  define('_/_(uint, uint): uint', (a: Uint, b: Uint) => unsigned(a, b, (x, y) => x / nonZero(y, 'division by zero'))),
  define('_/_(double, double): double', (a: number, b: number) => a / b),
  define('_%_(int, int): int', (a: bigint, b: bigint) => a % nonZero(b, 'modulus by zero')),
  define('_%_(uint, uint): uint', (a: Uint, b: Uint) => unsigned(a, b, (x, y) => x % nonZero(y, 'modulus by zero'))),
  define('-_(int): int', (a: bigint) => checked(-a)),
  define('-_(double): double', (a: number) => -a),
  define('!_(bool): bool', (a: boolean) => !a),
];

const spendOn = (run: Run) => (cost: number) => run.spend(cost);

function contains(item: Value, list: CelList, run: Run): boolean {
  for (let index = 0; index < list.size; index++) if (equals(item, list.at(index), spendOn(run))) return true;
  return false;
}

const equality: readonly CelFunction[] = [
  define(
    '_==_(A, A): bool',
    (a: Value, b: Value, run: Run) => equals(a, b, spendOn(run)),
    ([a = 1, b = 1]) => traversal(Math.min(a, b)),
  ),
  define(
    '_!=_(A, A): bool',
    (a: Value, b: Value, run: Run) => !equals(a, b, spendOn(run)),
    ([a = 1, b = 1]) => traversal(Math.min(a, b)),
  ),
  define('@in(A, list<A>): bool', contains, ([, size = 1]) => Math.max(size, 1)),
  define('@in(A, map<A,B>): bool', (key: Value, map: CelMap) => map.get(key) !== undefined),
];

const orders: readonly (readonly [operator: string, accepts: (order: number) => boolean])[] = [
  ['<', (order) => order < 0],
  ['<=', (order) => order <= 0],
  ['>', (order) => order > 0],
  ['>=', (order) => order >= 0],
];

type Ordered = bigint | number | string | boolean;
const order = (a: Ordered, b: Ordered): number => (a < b ? -1 : a > b ? 1 : 0);
const numbers = ['int', 'uint', 'double'];

const comparisons: readonly CelFunction[] = orders.flatMap(([operator, accepts]) => [
  ...numbers.flatMap((left) =>
    numbers.map((right) =>
      define(`_${operator}_(${left}, ${right}): bool`, (a: bigint, b: bigint) => accepts(compareNumbers(a, b))),
    ),
  ),
  define(
    `_${operator}_(string, string): bool`,
    (a: string, b: string) => accepts(order(a, b)),
    ([a = 0, b = 0]) => traversal(Math.min(a, b)),
  ),
  define(`_${operator}_(bool, bool): bool`, (a: boolean, b: boolean) => accepts(order(a, b))),
  define(
    `_${operator}_(bytes, bytes): bool`,
    (a: Uint8Array, b: Uint8Array) => accepts(Buffer.compare(a, b)),
    ([a = 0, b = 0]) => traversal(Math.min(a, b)),
  ),
  define(`_${operator}_(timestamp, timestamp): bool`, (a: Timestamp, b: Timestamp) => accepts(order(a.nanos, b.nanos))),
  define(`_${operator}_(duration, duration): bool`, (a: Duration, b: Duration) => accepts(order(a.nanos, b.nanos))),
]);

const size = (value: Value): bigint =>
  BigInt(typeof value === 'string' ? Array.from(value).length : sizeOfValue(value));

const sizes: readonly CelFunction[] = ['string', 'bytes', 'list<A>', 'map<A,B>'].flatMap((type) => [
  define(`size(${type}): int`, size),
  define(`${type}.size(): int`, size),
]);

const strings: readonly CelFunction[] = [
  define(
    'string.contains(string): bool',
    (text: string, part: string) => text.includes(part),
    ([a = 0, b = 0]) => traversal(a) * traversal(b),
  ),
  define(
    'string.startsWith(string): bool',
    (text: string, part: string) => text.startsWith(part),
    ([a = 0]) => traversal(a),
  ),
  define(
    'string.endsWith(string): bool',
    (text: string, part: string) => text.endsWith(part),
    ([a = 0]) => traversal(a),
  ),
  define(
    'string.matches(string): bool',
    (text: string, pattern: string) => patternFrom(pattern).matches(text),
    matchCost,
  ),
  define(
    'matches(string, string): bool',
    (text: string, pattern: string) => patternFrom(pattern).matches(text),
    matchCost,
  ),
];

function toInt(value: Value): bigint {
  if (typeof value === 'bigint') return value;
  if (value instanceof Uint) return checked(value.value);
  if (typeof value === 'number') {
    const whole = Math.trunc(value);
    if (Number.isNaN(whole) || whole <= -(2 ** 63) || whole >= 2 ** 63) throw new CelError('integer overflow');
    return BigInt(whole);
  }
  if (typeof value === 'string' && /^[+-]?\d{1,40}$/.test(value)) return checked(BigInt(value.replace('+', '')));
  if (value instanceof Timestamp) return value.nanos / 1_000_000_000n;
  if (value instanceof Duration) return value.nanos;
  throw conversionError(value, 'int');
}

function toUint(value: Value): Uint {
  if (value instanceof Uint) return value;
  if (typeof value === 'bigint') return new Uint(value);
  if (typeof value === 'number' && value >= 0 && value < 2 ** 64) return new Uint(BigInt(Math.trunc(value)));
  if (typeof value === 'string' && /^\d{1,40}$/.test(value)) return new Uint(BigInt(value));
  throw conversionError(value, 'uint');
}

function toDouble(value: Value): number {
  if (isNumber(value)) return Number(value instanceof Uint ? value.value : value);
  if (typeof value === 'string' && value.length < 400 && /^[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?$/.test(value))
    return Number(value);
  throw conversionError(value, 'double');
}

function toText(value: Value): string {
  if (typeof value === 'string') return value;
  if (typeof value === 'boolean' || typeof value === 'bigint' || typeof value === 'number') return String(value);
  if (value instanceof Uint) return String(value.value);
  if (value instanceof Uint8Array) return new TextDecoder('utf-8', { fatal: true }).decode(value);
  if (value instanceof Timestamp) return printTimestamp(value);
  if (value instanceof Duration) return printDuration(value);
  if (value instanceof LibraryValue) return value.key;
  throw conversionError(value, 'string');
}

function toBool(value: Value): boolean {
  if (typeof value === 'boolean') return value;
  if (typeof value === 'string' && ['1', 't', 'T', 'true', 'TRUE', 'True'].includes(value)) return true;
  if (typeof value === 'string' && ['0', 'f', 'F', 'false', 'FALSE', 'False'].includes(value)) return false;
  throw conversionError(value, 'bool');
}

const conversionError = (value: Value, to: string): CelError =>
  new CelError(`type conversion error from '${typeNameOf(value)}' to '${to}'`);

const typeOfValue = (value: Value): TypeValue => {
  const name = typeNameOf(value);
  const qualified: Readonly<Record<string, string>> = {
    timestamp: 'google.protobuf.Timestamp',
    duration: 'google.protobuf.Duration',
    object: 'map',
  };
  return new TypeValue(qualified[name] ?? name);
};

const from = (types: readonly string[], to: string, convert: (value: Value) => Value): readonly CelFunction[] =>
  types.map((type) =>
    // Numbers and times are short texts; longer ones are rejected unread.
    define(`${to}(${type}): ${to}`, convert, ([length = 1]) =>
      to === 'bytes' || type === 'bytes' ? traversal(length) : 1,
    ),
  );

const conversions: readonly CelFunction[] = [
  ...from(['int', 'uint', 'double', 'string', 'timestamp', 'duration'], 'int', toInt),
  ...from(['int', 'uint', 'double', 'string'], 'uint', toUint),
  ...from(['int', 'uint', 'double', 'string'], 'double', toDouble),
  ...from(['bool', 'string'], 'bool', toBool),
  ...from(
    ['string', 'bytes', 'bool', 'int', 'uint', 'double', 'timestamp', 'duration', 'ip', 'cidr'],
    'string',
    toText,
  ),
  ...from(['string', 'bytes'], 'bytes', (value) => (typeof value === 'string' ? Buffer.from(value) : value)),
  ...from(['string', 'timestamp', 'int'], 'timestamp', parseTimestamp),
  ...from(['string', 'duration', 'int'], 'duration', parseDuration),
  define('dyn(A): dyn', (value: Value) => value),
  define('type(A): type', typeOfValue),
];

const isZero = (value: Value): boolean =>
  value === null ||
  value === false ||
  value === 0 ||
  value === 0n ||
  value === '' ||
  ((value instanceof CelList || typeof value === 'object') && value !== null && 'size' in value && value.size === 0);

const optionals: readonly CelFunction[] = [
  define('::optional.of(A): optional_type<A>', (value: Value) => new Optional(value)),
  define(
    '::optional.ofNonZeroValue(A): optional_type<A>',
    (value: Value) => new Optional(isZero(value) ? undefined : value),
  ),
  define('::optional.none(): optional_type<A>', () => new Optional(undefined)),
  define('optional_type<A>.hasValue(): bool', (value: Optional) => value.value !== undefined),
  define('optional_type<A>.value(): A', (value: Optional) => {
    if (value.value === undefined) throw new CelError('optional.none() dereference');
    return value.value;
  }),
  define('optional_type<A>.orValue(A): A', (value: Optional, other: Value) => value.value ?? other),
  define('optional_type<A>.or(optional_type<A>): optional_type<A>', (value: Optional, other: Optional) =>
    value.value === undefined ? other : value,
  ),
];

export const standardFunctions: readonly CelFunction[] = [
  ...arithmetic,
  ...equality,
  ...comparisons,
  ...sizes,
  ...strings,
  ...conversions,
  ...optionals,
  ...timeFunctions,
];
