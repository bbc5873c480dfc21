// cel-go's extension for strings, and Kubernetes' for regular expressions.

import type { CelFunction } from '../functions.ts';
import { define } from '../functions.ts';
import { CelError, CelList, CelMap, printValue, Timestamp, Duration, TypeValue, Uint } from '../values.ts';
import type { Value } from '../values.ts';
import { printDuration, printTimestamp } from './time.ts';
import { matchCost, patternFrom, traversal } from './standard.ts';

const read = ([length = 0]: readonly number[]): number => traversal(length);
const rewrite = ([length = 0]: readonly number[]): number => traversal(length, 2);

/** Positions count code points; most texts have one unit for each. */
const charactersOf = (text: string): readonly string[] => Array.from(text);

function position(index: bigint, length: number): number {
  if (index < 0n || index > BigInt(length)) throw new CelError(`index out of range: ${index}`);
  return Number(index);
}

function indexOf(text: string, part: string, from = 0n): bigint {
  const characters = charactersOf(text);
  const start = position(from, characters.length);
  if (part === '') return BigInt(start);
  const found = characters.slice(start).join('').indexOf(part);
  if (found < 0) return -1n;
  return BigInt(start + charactersOf(characters.slice(start).join('').slice(0, found)).length);
}

function lastIndexOf(text: string, part: string, from?: bigint): bigint {
  const characters = charactersOf(text);
  const end = from === undefined ? undefined : position(from, characters.length);
  if (part === '') return BigInt(end ?? characters.length);
  const searched = end === undefined ? text : characters.slice(0, end + charactersOf(part).length).join('');
  const found = searched.lastIndexOf(part);
  return found < 0 ? -1n : BigInt(charactersOf(searched.slice(0, found)).length);
}

function substring(text: string, from: bigint, to?: bigint): string {
  const characters = charactersOf(text);
  const start = position(from, characters.length);
  const end = to === undefined ? characters.length : position(to, characters.length);
  if (start > end) throw new CelError(`invalid substring range. start: ${start}, end: ${end}`);
  return characters.slice(start, end).join('');
}

/** The limit on results that grow with their arguments. */
const maxResult = 10_000_000;

function replace(text: string, from: string, to: string, limit = -1n): string {
  const parts = from === '' ? ['', ...charactersOf(text), ''] : text.split(from);
  const count = limit < 0n ? parts.length - 1 : Math.min(Number(limit), parts.length - 1);
  if (text.length + count * to.length > maxResult) throw new CelError('replace result is too large');
  return (
    parts.slice(0, count + 1).join(to) + (count + 1 < parts.length ? from + parts.slice(count + 1).join(from) : '')
  );
}

function split(text: string, separator: string, limit = -1n): CelList {
  if (limit === 0n) return CelList.of([]);
  const parts = separator === '' ? [...charactersOf(text)] : text.split(separator);
  if (limit < 0n || parts.length <= Number(limit)) return CelList.of(parts);
  const kept = parts.slice(0, Number(limit) - 1);
  return CelList.of([...kept, parts.slice(Number(limit) - 1).join(separator)]);
}

function join(list: CelList, separator = ''): string {
  return list.items
    .map((item) => {
      if (typeof item !== 'string') throw new CelError('no such overload');
      return item;
    })
    .join(separator);
}

const joinCost = ([length = 0]: readonly number[]): number => 1 + length;

/** Formats a value for `%s`. */
function formatText(value: Value): string {
  if (value instanceof CelList) return `[${value.items.map(formatText).join(', ')}]`;
  if (value instanceof CelMap) {
    const entries = value.keys().map((key) => `${formatText(key)}: ${formatText(value.get(key) ?? null)}`);
    return `{${entries.sort().join(', ')}}`;
  }
  if (value instanceof Timestamp) return printTimestamp(value);
  if (value instanceof Duration) return printDuration(value);
  if (value instanceof Uint8Array) return Buffer.from(value).toString();
  if (value instanceof TypeValue) return value.name;
  return value === null ? 'null' : printValue(value);
}

const integer = (value: Value, verb: string): bigint => {
  if (typeof value === 'bigint') return value;
  if (value instanceof Uint) return value.value;
  throw new CelError(`error during formatting: ${verb} clause can only be used on integers`);
};

function formatOne(verb: string, precision: number, value: Value): string {
  switch (verb) {
    case 's':
      return formatText(value);
    case 'd':
      return typeof value === 'number' ? String(value) : String(integer(value, 'decimal'));
    case 'f':
      return Number(typeof value === 'number' ? value : integer(value, 'fixed-point')).toFixed(precision);
    case 'e':
      return Number(typeof value === 'number' ? value : integer(value, 'scientific'))
        .toExponential(precision)
        .replace(/e([+-])(\d)$/, 'e$10$2');
    case 'b':
      return typeof value === 'boolean' ? String(Number(value)) : integer(value, 'binary').toString(2);
    case 'o':
      return integer(value, 'octal').toString(8);
    case 'x':
    case 'X': {
      const text =
        typeof value === 'string' || value instanceof Uint8Array
          ? Buffer.from(value).toString('hex')
          : integer(value, 'hex').toString(16);
      return verb === 'X' ? text.toUpperCase() : text;
    }
    default:
      throw new CelError(`could not parse formatting clause: unrecognized formatting clause "${verb}"`);
  }
}

function format(text: string, args: CelList): string {
  let next = 0;
  const result = text.replaceAll(
    /%(?:%|(?:\.(\d{1,3}))?([a-zA-Z]))/g,
    (all, precision: string | undefined, verb: string | undefined) => {
      if (verb === undefined) return '%';
      if (next >= args.size) throw new CelError(`index ${next} out of range`);
      return formatOne(verb, Number(precision ?? 6), args.at(next++));
    },
  );
  if (next < args.size) throw new CelError('too many arguments supplied to string.format()');
  return result;
}

export const stringFunctions: readonly CelFunction[] = [
  define(
    'string.charAt(int): string',
    (text: string, index: bigint) => {
      const characters = charactersOf(text);
      return characters[position(index, characters.length)] ?? '';
    },
    read,
  ),
  define('string.indexOf(string): int', indexOf, read),
  define('string.indexOf(string, int): int', indexOf, read),
  define('string.lastIndexOf(string): int', (text: string, part: string) => lastIndexOf(text, part), read),
  define('string.lastIndexOf(string, int): int', lastIndexOf, read),
  define(
    'string.lowerAscii(): string',
    (text: string) => text.replaceAll(/[A-Z]/g, (letter) => letter.toLowerCase()),
    read,
  ),
  define(
    'string.upperAscii(): string',
    (text: string) => text.replaceAll(/[a-z]/g, (letter) => letter.toUpperCase()),
    read,
  ),
  define(
    'string.replace(string, string): string',
    (text: string, from: string, to: string) => replace(text, from, to),
    rewrite,
  ),
  define('string.replace(string, string, int): string', replace, rewrite),
  define('string.split(string): list<string>', (text: string, separator: string) => split(text, separator), rewrite),
  define('string.split(string, int): list<string>', split, rewrite),
  define('string.substring(int): string', (text: string, from: bigint) => substring(text, from), read),
  define('string.substring(int, int): string', substring, read),
  define('string.trim(): string', (text: string) => text.trim(), read),
  define('list<string>.join(): string', (list: CelList) => join(list), joinCost),
  define('list<string>.join(string): string', join, joinCost),
  define('string.format(list<A>): string', format, ([length = 0, count = 0]) => traversal(length) + count),
  define('::strings.quote(string): string', (text: string) => JSON.stringify(text), read),
  define(
    'string.find(string): string',
    (text: string, pattern: string) => patternFrom(pattern).findAll(text, 1)[0] ?? '',
    matchCost,
  ),
  define(
    'string.findAll(string): list<string>',
    (text: string, pattern: string) => CelList.of(patternFrom(pattern).findAll(text, Infinity)),
    matchCost,
  ),
  define(
    'string.findAll(string, int): list<string>',
    (text: string, pattern: string, limit: bigint) =>
      CelList.of(patternFrom(pattern).findAll(text, limit < 0n ? Infinity : Number(limit))),
    matchCost,
  ),
];
