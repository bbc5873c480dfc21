// A JSON scanner for what JSON.parse does not tell: duplicate keys with their paths, and errors in the words of Go's
// encoding/json, which clients of Kubernetes know. Only runs when one of the two is needed.

/** Text that is not JSON. */
export class JsonError extends Error {
  readonly code = 'JSON';
}

/** The deepest nesting of arrays and objects that is accepted; everything downstream may recurse. */
export const maxJsonDepth = 500;

export const tooDeep = (): JsonError => new JsonError(`exceeded max depth of ${maxJsonDepth}`);

/** Duplicate keys as `duplicate field "spec.ports"`, in document order. Throws a `JsonError` where JSON.parse would. */
export function scanJson(text: string): readonly string[] {
  return [...scan(text, undefined).duplicates.keys()];
}

/** `problems` about fields of the text (unknown and duplicate ones) in the order in which a reader meets them. */
export function sortProblems(text: string, problems: readonly string[]): readonly string[] {
  const keys = new Map<string, number>();
  const { duplicates } = scan(text, keys);
  const placeOf = (problem: string): number => duplicates.get(problem) ?? keys.get(problem) ?? text.length;
  return problems.toSorted((left, right) => placeOf(left) - placeOf(right));
}

function scan(text: string, keys: Map<string, number> | undefined): Scanner {
  const scanner: Scanner = { text, at: 0, duplicates: new Map(), keys };
  scanValue(scanner, '', 0);
  skipSpace(scanner);
  if (scanner.at < text.length) throw unexpected(scanner, 'after top-level value');
  return scanner;
}

interface Scanner {
  readonly text: string;
  at: number;
  /** `duplicate field "spec.ports"` → where the second one stands */
  readonly duplicates: Map<string, number>;
  /** `unknown field "spec.port"`, should it be one → where it stands */
  readonly keys: Map<string, number> | undefined;
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

function scanValue(scanner: Scanner, path: string, depth: number): void {
  skipSpace(scanner);
  const first = scanner.text[scanner.at];
  if (first === '{') scanObject(scanner, path, depth + 1);
  else if (first === '[') scanArray(scanner, path, depth + 1);
  else if (first === '"') scanString(scanner);
  else if (first === 't') scanWord(scanner, 'true');
  else if (first === 'f') scanWord(scanner, 'false');
  else if (first === 'n') scanWord(scanner, 'null');
  else scanNumber(scanner);
}

function scanObject(scanner: Scanner, path: string, depth: number): void {
  if (depth > maxJsonDepth) throw tooDeep();
  const seen = new Set<string>();
  scanner.at++;
  skipSpace(scanner);
  if (scanner.text[scanner.at] === '}') {
    scanner.at++;
    return;
  }
  for (;;) {
    skipSpace(scanner);
    if (scanner.text[scanner.at] !== '"') throw unexpected(scanner, 'looking for beginning of object key string');
    const key = scanString(scanner);
    const keyPath = path === '' ? key : `${path}.${key}`;
    if (seen.has(key)) note(scanner.duplicates, `duplicate field ${JSON.stringify(keyPath)}`, scanner.at);
    if (scanner.keys !== undefined) note(scanner.keys, `unknown field ${JSON.stringify(keyPath)}`, scanner.at);
    seen.add(key);
    skipSpace(scanner);
    if (scanner.text[scanner.at] !== ':') throw unexpected(scanner, 'after object key');
    scanner.at++;
    scanValue(scanner, keyPath, depth);
    if (endsAfter(scanner, '}', 'after object key:value pair')) return;
  }
}

function note(places: Map<string, number>, problem: string, at: number): void {
  if (!places.has(problem)) places.set(problem, at);
}

function scanArray(scanner: Scanner, path: string, depth: number): void {
  if (depth > maxJsonDepth) throw tooDeep();
  scanner.at++;
  skipSpace(scanner);
  if (scanner.text[scanner.at] === ']') {
    scanner.at++;
    return;
  }
  for (let index = 0; ; index++) {
    scanValue(scanner, `${path}[${index}]`, depth);
    if (endsAfter(scanner, ']', 'after array element')) return;
  }
}

/** Steps over a comma (false) or the closing bracket (true). */
function endsAfter(scanner: Scanner, closing: string, context: string): boolean {
  skipSpace(scanner);
  const character = scanner.text[scanner.at];
  if (character !== ',' && character !== closing) throw unexpected(scanner, context);
  scanner.at++;
  return character === closing;
}

const hexDigit = /[0-9a-fA-F]/;

function scanString(scanner: Scanner): string {
  const start = scanner.at++;
  for (;;) {
    const code = scanner.text.charCodeAt(scanner.at);
    if (code === 34) break;
    if (Number.isNaN(code) || code < 32) throw unexpected(scanner, 'in string literal');
    scanner.at++;
    if (code === 92) scanEscape(scanner);
  }
  scanner.at++;
  return JSON.parse(scanner.text.slice(start, scanner.at)) as string;
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
