import { parseQuantity, printQuantity } from '../quantity.ts';
import { rejected, wrongNumber, wrongType } from './mismatch.ts';
import type { ScalarType } from './schema.ts';
import { readMicroTime, readTime } from './times.ts';

/** Checks and normalises a value that is neither null nor undefined; throws a `Mismatch`. */
export type ReadScalar = (value: unknown) => unknown;

const maxInt32 = 2 ** 31 - 1;
/** Exclusive: 2^63 - 1 is not a JavaScript number. */
const maxInt64 = 2 ** 63;

export function readString(value: unknown): string {
  if (typeof value !== 'string') throw wrongType(value, 'string');
  return value;
}

function readBoolean(value: unknown): boolean {
  if (typeof value !== 'boolean') throw wrongType(value, 'bool');
  return value;
}

function readInt32(value: unknown): number {
  if (typeof value !== 'number') throw wrongType(value, 'int32');
  if (!Number.isInteger(value) || value > maxInt32 || value < -maxInt32 - 1) throw wrongNumber(value, 'int32');
  return value + 0; // -0 becomes 0
}

function readInt64(value: unknown): number {
  if (typeof value !== 'number') throw wrongType(value, 'int64');
  if (!Number.isInteger(value) || value >= maxInt64 || value < -maxInt64) throw wrongNumber(value, 'int64');
  return value + 0;
}

function readDouble(value: unknown): number {
  if (typeof value !== 'number') throw wrongType(value, 'float64');
  return value;
}

function readIntOrString(value: unknown): number | string {
  if (typeof value === 'string') return value;
  return readInt32(value);
}

// Digits with at most one decimal point, then a binary suffix, a decimal suffix or an exponent.
const quantityPattern = /^[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[KMGTPE]i|[numkMGTPE]|[eE][+-]?\d+)?$/;
/** A part of the canonical texts, and the most frequent ones: they need no conversion. */
const canonicalPattern = /^(?:0|[1-9]\d{0,2}[mkMGT]?)$/;
/** Kubernetes limits quantities to 2^63, so longer numbers have no meaning. */
const maxQuantityLength = 256;
const notQuantity = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";

export function readQuantity(value: unknown): string {
  const text = typeof value === 'number' ? String(value) : typeof value === 'string' ? value.trim() : '';
  if (text.length > maxQuantityLength || !quantityPattern.test(text)) throw rejected(notQuantity);
  return canonicalPattern.test(text) ? text : printQuantity(parseQuantity(text));
}

const isBase64Digit = (code: number): boolean =>
  (code >= 97 && code <= 122) || (code >= 65 && code <= 90) || (code >= 48 && code <= 57) || code === 43 || code === 47;

/** The offset of the first character that is not valid in standard, padded base64; -1 if there is none. */
function base64Problem(text: string): number {
  let end = text.length;
  while (end > 0 && end > text.length - 2 && text.charCodeAt(end - 1) === 61) end--;
  for (let index = 0; index < end; index++) if (!isBase64Digit(text.charCodeAt(index))) return index;
  return text.length % 4 === 0 ? -1 : text.length;
}

const lineBreaks = /[\r\n]/g;

function readBytes(value: unknown): string {
  if (typeof value !== 'string') throw wrongType(value, '[]uint8');
  const text = value.replace(lineBreaks, ''); // Go's decoder skips them
  const problem = base64Problem(text);
  if (problem >= 0) throw rejected(`illegal base64 data at input byte ${problem}`);
  return text;
}

/** The reader of each scalar type. */
export const scalarReaders: Readonly<Record<ScalarType, ReadScalar>> = {
  boolean: readBoolean,
  int32: readInt32,
  int64: readInt64,
  double: readDouble,
  bytes: readBytes,
  time: readTime,
  microTime: readMicroTime,
  quantity: readQuantity,
  intOrString: readIntOrString,
  json: (value) => value,
};

/** The JSON zero value of each scalar type. */
export const scalarZeros: Readonly<Record<ScalarType, unknown>> = {
  boolean: false,
  int32: 0,
  int64: 0,
  double: 0,
  bytes: '',
  time: null,
  microTime: null,
  quantity: '0',
  intOrString: 0,
  json: null,
};
