// A JSON scanner for what JSON.parse does not report: the paths of duplicate keys, and the error messages of Go's
// encoding/json, which Kubernetes clients recognise. It is slow, and only runs if one of the two is needed.

import type { Path } from './path.ts';
import { duplicateField, maxProblems, unknownField } from './path.ts';
import type { Schema } from './schema.ts';

/** Text that is not JSON. */
export class JsonError extends Error {
  readonly code = 'JSON';
}

/** The limit on nested arrays and objects, so that code behind the parser can recurse. */
export const maxJsonDepth = 500;

export const tooDeep = (): JsonError => new JsonError(`exceeded max depth of ${maxJsonDepth}`);

/** The first 100 duplicate keys, as `duplicate field "spec.ports"`. Throws a `JsonError` where JSON.parse would throw. */
export const scanJson = (text: string): readonly string[] => scan(text, undefined);

/** Duplicate keys and fields that `schema` does not declare, the first 100 in document order. */
export const strictProblems = (text: string, schema: Schema): readonly string[] => scan(text, schema);

function scan(text: string, schema: Schema | undefined): readonly string[] {
  const scanner: Scanner = { text, at: 0, problems: [] };
  scanValue(scanner, { schema, path: undefined, depth: 0 });
  skipSpace(scanner);
  if (scanner.at < text.length) throw unexpected(scanner, 'after top-level value');
  return [...new Set(scanner.problems)];
}

interface Scanner {
  readonly text: string;
  at: number;
  readonly problems: string[];
}

/** The position of the value that is read next. */
interface Place {
  /** undefined: all fields are allowed. */
  readonly schema: Schema | undefined;
  readonly path: Path;
  readonly depth: number;
}

const isSpace = (code: number): boolean => code === 32 || code === 10 || code === 13 || code === 9;

function skipSpace(scanner: Scanner): void {
  while (isSpace(scanner.text.charCodeAt(scanner.at))) scanner.at++;
}

function quoted(character: string): string {
  if (character === "'") return String.raw`'\''`;
  if (character === '"') return `'"'`;
  return `'${JSON.stringify(character).slice(1, -1)}'`;
}

function unexpected({ text, at }: Scanner, context: string): JsonError {
  const code = text.codePointAt(at);
  if (code === undefined) return new JsonError('unexpected end of JSON input');
  return new JsonError(`invalid character ${quoted(String.fromCodePoint(code))} ${context}`);
}

function scanValue(scanner: Scanner, place: Place): void {
  skipSpace(scanner);
  const first = scanner.text[scanner.at];
  if (first === '{') scanObject(scanner, place);
  else if (first === '[') scanArray(scanner, place);
  else if (first === '"') scanString(scanner);
  else if (first === 't') scanWord(scanner, 'true');
  else if (first === 'f') scanWord(scanner, 'false');
  else if (first === 'n') scanWord(scanner, 'null');
  else scanNumber(scanner);
}

function scanObject(scanner: Scanner, { schema, path: parent, depth }: Place): void {
  if (depth >= maxJsonDepth) throw tooDeep();
  scanner.at++;
  skipSpace(scanner);
  if (scanner.text[scanner.at] === '}') {
    scanner.at++;
    return;
  }
  const seen = new Set<string>();
  const repeated = new Set<string>();
  for (;;) {
    skipSpace(scanner);
    if (scanner.text[scanner.at] !== '"') throw unexpected(scanner, 'looking for beginning of object key string');
    const key = scanKey(scanner);
    const path = { parent, step: key };
    if (!seen.has(key)) {
      seen.add(key);
      if (!isDeclared(schema, key)) note(scanner, unknownField, path);
    } else if (!repeated.has(key)) {
      repeated.add(key);
      note(scanner, duplicateField, path);
    }
    skipSpace(scanner);
    if (scanner.text[scanner.at] !== ':') throw unexpected(scanner, 'after object key');
    scanner.at++;
    scanValue(scanner, { schema: schemaOf(schema, key), path, depth: depth + 1 });
    if (endsAfter(scanner, '}', 'after object key:value pair')) return;
  }
}

const isDeclared = (schema: Schema | undefined, key: string): boolean =>
  schema?.type !== 'struct' || schema.open || Object.hasOwn(schema.fields, key);

function schemaOf(schema: Schema | undefined, key: string): Schema | undefined {
  if (schema?.type === 'map') return schema.values;
  return schema?.type === 'struct' && Object.hasOwn(schema.fields, key) ? schema.fields[key]?.schema : undefined;
}

function note({ problems }: Scanner, print: (path: Path) => string, path: Path): void {
  if (problems.length < maxProblems) problems.push(print(path));
}

function scanArray(scanner: Scanner, { schema, path: parent, depth }: Place): void {
  if (depth >= maxJsonDepth) throw tooDeep();
  scanner.at++;
  skipSpace(scanner);
  if (scanner.text[scanner.at] === ']') {
    scanner.at++;
    return;
  }
  const items = schema?.type === 'list' ? schema.items : undefined;
  for (let step = 0; ; step++) {
    scanValue(scanner, { schema: items, path: { parent, step }, depth: depth + 1 });
    if (endsAfter(scanner, ']', 'after array element')) return;
  }
}

/** Consumes a comma (returns false) or the closing bracket (returns true). */
function endsAfter(scanner: Scanner, closing: string, context: string): boolean {
  skipSpace(scanner);
  const character = scanner.text[scanner.at];
  if (character !== ',' && character !== closing) throw unexpected(scanner, context);
  scanner.at++;
  return character === closing;
}

const hexDigit = /[0-9a-fA-F]/;

function scanKey(scanner: Scanner): string {
  const start = scanner.at;
  scanString(scanner);
  const quotedKey = scanner.text.slice(start, scanner.at);
  return quotedKey.includes('\\') ? (JSON.parse(quotedKey) as string) : quotedKey.slice(1, -1);
}

function scanString(scanner: Scanner): void {
  scanner.at++;
  for (;;) {
    const code = scanner.text.charCodeAt(scanner.at);
    if (code === 34) break;
    if (Number.isNaN(code) || code < 32) throw unexpected(scanner, 'in string literal');
    scanner.at++;
    if (code === 92) scanEscape(scanner);
  }
  scanner.at++;
}

function scanEscape(scanner: Scanner): void {
  const character = scanner.text[scanner.at];
  if (character === undefined || !'"\\/bfnrtu'.includes(character)) throw unexpected(scanner, 'in string escape code');
  scanner.at++;
  if (character !== 'u') return;
  for (let digits = 0; digits < 4; digits++, scanner.at++) {
    if (!hexDigit.test(scanner.text[scanner.at] ?? ''))
      throw unexpected(scanner, 'in \\u hexadecimal character escape');
  }
}

function scanWord(scanner: Scanner, word: string): void {
  for (const character of word) {
    if (scanner.text[scanner.at] !== character) {
      throw unexpected(scanner, `in literal ${word} (expecting '${character}')`);
    }
    scanner.at++;
  }
}

const isDigit = (code: number): boolean => code >= 48 && code <= 57;

function scanDigits(scanner: Scanner, context: string): void {
  if (!isDigit(scanner.text.charCodeAt(scanner.at))) throw unexpected(scanner, context);
  while (isDigit(scanner.text.charCodeAt(scanner.at))) scanner.at++;
}

function scanNumber(scanner: Scanner): void {
  const { text } = scanner;
  const isNegative = text[scanner.at] === '-';
  if (isNegative) scanner.at++;
  if (text[scanner.at] === '0') scanner.at++;
  else scanDigits(scanner, isNegative ? 'in numeric literal' : 'looking for beginning of value');
  if (text[scanner.at] === '.') {
    scanner.at++;
    scanDigits(scanner, 'after decimal point in numeric literal');
  }
  if (text[scanner.at] === 'e' || text[scanner.at] === 'E') {
    scanner.at++;
    if (text[scanner.at] === '+' || text[scanner.at] === '-') scanner.at++;
    scanDigits(scanner, 'in exponent of numeric literal');
  }
}
