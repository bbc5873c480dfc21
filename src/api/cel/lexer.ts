import type { Literal } from './syntax.ts';
import { CelSyntaxError } from './syntax.ts';

export type Token =
  | { readonly is: 'literal'; readonly value: Literal; readonly at: number }
  | { readonly is: 'name' | 'symbol' | 'end'; readonly text: string; readonly at: number };

const symbols = [
  '&&',
  '||',
  '==',
  '!=',
  '<=',
  '>=',
  '(',
  ')',
  '[',
  ']',
  '{',
  '}',
  '.',
  ',',
  '?',
  ':',
  '+',
  '-',
  '*',
  '/',
  '%',
  '!',
  '<',
  '>',
];

/** Splits an expression into tokens. Throws a `CelSyntaxError`. */
export function tokensOf(text: string): readonly Token[] {
  const tokens: Token[] = [];
  let at = 0;
  while (at < text.length) {
    const character = text[at] ?? '';
    if (' \t\n\r\f'.includes(character)) at++;
    else if (text.startsWith('//', at)) {
      const end = text.indexOf('\n', at);
      at = end < 0 ? text.length : end;
    } else {
      const [token, end] = readToken(text, at);
      tokens.push(token);
      at = end;
    }
  }
  tokens.push({ is: 'end', text: '<EOF>', at: text.length });
  return tokens;
}

const name = /[_a-zA-Z][_a-zA-Z0-9]*/y;
const number = /0x[0-9a-fA-F]+u?|0X[0-9a-fA-F]+u?|(?:\d+\.\d+|\.\d+|\d+)(?:[eE][+-]?\d+)?[uU]?/y;

// The first character selects the expression, so that each token is read once.
function readToken(text: string, at: number): readonly [Token, number] {
  const prefix = stringPrefix(text, at);
  if (prefix !== undefined) return readString(text, at, prefix);
  if (isDigit(text[at]) || (text[at] === '.' && isDigit(text[at + 1]))) {
    number.lastIndex = at;
    const [digits = ''] = number.exec(text) ?? [];
    return [{ is: 'literal', value: numberOf(digits, at), at }, at + digits.length];
  }
  if (isLetter(text[at])) {
    name.lastIndex = at;
    const [word = ''] = name.exec(text) ?? [];
    return [wordToken(word, at), at + word.length];
  }
  const symbol = symbols.find((each) => text.startsWith(each, at));
  if (symbol === undefined) {
    throw new CelSyntaxError(`Syntax error: token recognition error at: '${text[at] ?? ''}'`, at);
  }
  return [{ is: 'symbol', text: symbol, at }, at + symbol.length];
}

const isDigit = (character = ''): boolean => character >= '0' && character <= '9';
const isLetter = (character = ''): boolean =>
  (character >= 'a' && character <= 'z') || (character >= 'A' && character <= 'Z') || character === '_';

/** The start of a string with its quote, such as `r"`; undefined if there is none. */
function stringPrefix(text: string, start: number): string | undefined {
  let at = start;
  while (at < start + 2 && ['r', 'R', 'b', 'B'].includes(text[at] ?? '')) at++;
  return text[at] === '"' || text[at] === "'" ? text.slice(start, at + 1) : undefined;
}

function wordToken(word: string, at: number): Token {
  if (word === 'true' || word === 'false') return { is: 'literal', value: word === 'true', at };
  if (word === 'null') return { is: 'literal', value: null, at };
  if (word === 'in') return { is: 'symbol', text: word, at };
  return { is: 'name', text: word, at };
}

const maxInt = 2n ** 63n - 1n;

function numberOf(digits: string, at: number): Literal {
  const isUint = /u$/i.test(digits);
  const plain = isUint ? digits.slice(0, -1) : digits;
  const isHex = /^0x/i.test(plain);
  if (!isHex && /[.eE]/.test(plain)) return Number(plain);
  const value = BigInt(plain);
  if (isUint) {
    if (value > 2n * maxInt + 1n) throw new CelSyntaxError('invalid uint literal', at);
    return { uint: value };
  }
  // The smallest integer is the negation of a literal that is one too large.
  if (value > maxInt + 1n) throw new CelSyntaxError('invalid int literal', at);
  return value;
}

function readString(text: string, start: number, prefix: string): readonly [Token, number] {
  const quote = prefix.at(-1) ?? '"';
  const flags = prefix.slice(0, -1).toLowerCase();
  const isRaw = flags.includes('r');
  const isBytes = flags.includes('b');
  let at = start + prefix.length - 1;
  const delimiter = text.startsWith(quote.repeat(3), at) ? quote.repeat(3) : quote;
  at += delimiter.length;
  let value = '';
  while (!text.startsWith(delimiter, at)) {
    const character = text[at];
    if (character === undefined || (delimiter.length === 1 && (character === '\n' || character === '\r'))) {
      throw new CelSyntaxError('Syntax error: token recognition error at: unterminated string', start);
    }
    if (character === '\\' && !isRaw) {
      const [escaped, end] = readEscape(text, at, isBytes);
      value += escaped;
      at = end;
    } else {
      value += character;
      at++;
      if (character === '\\' && isRaw && text[at] !== undefined) value += text[at++];
    }
  }
  const end = at + delimiter.length;
  const read = isBytes ? bytesOf(value) : value;
  return [{ is: 'literal', value: read, at: start }, end];
}

/** Escapes of bytes are read as characters of U+E000 to U+E0FF, which stand for one byte each. */
const byteBase = 0xe000;

const bytesOf = (text: string): Uint8Array =>
  Buffer.concat(
    Array.from(text, (character) => {
      const code = character.codePointAt(0) ?? 0;
      return code >= byteBase && code < byteBase + 256 ? Buffer.of(code - byteBase) : Buffer.from(character);
    }),
  );

const simpleEscapes: Readonly<Record<string, string>> = {
  a: '\u0007',
  b: '\b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
  v: '\v',
  '\\': '\\',
  '?': '?',
  '"': '"',
  "'": "'",
  '`': '`',
};

const numericEscape = /[xX]([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|([0-3][0-7]{2})/y;

function readEscape(text: string, at: number, isBytes: boolean): readonly [string, number] {
  const simple = simpleEscapes[text[at + 1] ?? ''];
  if (simple !== undefined) return [simple, at + 2];
  numericEscape.lastIndex = at + 1;
  const match = numericEscape.exec(text);
  if (match === null) throw new CelSyntaxError('Syntax error: token recognition error at: invalid escape', at);
  const [all, hex, short, long, octal] = match;
  const code = octal === undefined ? parseInt(hex ?? short ?? long ?? '', 16) : parseInt(octal, 8);
  if (code > 0x10ffff || (code >= 0xd800 && code < 0xe000)) throw new CelSyntaxError('invalid unicode code point', at);
  const isByte = isBytes && short === undefined && long === undefined;
  return [isByte ? String.fromCharCode(byteBase + code) : String.fromCodePoint(code), at + 1 + all.length];
}
