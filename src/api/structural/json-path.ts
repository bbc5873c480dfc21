// The subset of kubectl's JSONPath that CustomResourceDefinitions use: fields, indexes, slices, wildcards and filters.

import { isJsonObject } from '../schema/json-object.ts';

/** A parsed path: returns the values that it selects. */
export type JsonPath = (value: unknown) => readonly unknown[];

type Step = (value: unknown) => readonly unknown[];

/** A filter or wildcard on a large object selects at most this many values. */
const maxResults = 1000;

/** Parses a path such as `.status.conditions[?(@.type=="Ready")].status`; undefined if it is malformed. */
export function parseJsonPath(text: string): JsonPath | undefined {
  const parser: Parser = { text, at: 0 };
  const steps: Step[] = [];
  while (parser.at < text.length) {
    const step = parseStep(parser);
    if (step === undefined) return undefined;
    steps.push(step);
  }
  return (value) => follow(steps, value);
}

function follow(steps: readonly Step[], value: unknown): readonly unknown[] {
  let values: readonly unknown[] = [value];
  for (const step of steps) values = values.flatMap(step).slice(0, maxResults);
  return values;
}

interface Parser {
  readonly text: string;
  at: number;
}

function parseStep(parser: Parser): Step | undefined {
  const { text } = parser;
  if (text[parser.at] === '[') return parseBrackets(parser);
  if (text[parser.at] !== '.') return undefined;
  parser.at++;
  if (parser.at === text.length || text[parser.at] === '[') return (value) => [value]; // `.` alone is the object
  if (text[parser.at] === '*') {
    parser.at++;
    return children;
  }
  const name = parseName(parser);
  return name === '' ? undefined : (value) => fieldOf(value, name);
}

/** A name up to the next dot or bracket; a backslash escapes one character. */
function parseName(parser: Parser): string {
  let name = '';
  for (; parser.at < parser.text.length; parser.at++) {
    const character = parser.text[parser.at] ?? '';
    if (character === '.' || character === '[') break;
    if (character === '\\') parser.at++;
    name += parser.text[parser.at] ?? '';
  }
  return name;
}

const fieldOf = (value: unknown, name: string): readonly unknown[] =>
  isJsonObject(value) && Object.hasOwn(value, name) ? [value[name]] : [];

const children: Step = (value) =>
  Array.isArray(value) ? (value as readonly unknown[]) : isJsonObject(value) ? Object.values(value) : [];

function parseBrackets(parser: Parser): Step | undefined {
  const end = closingBracket(parser);
  if (end < 0) return undefined;
  const inside = parser.text.slice(parser.at + 1, end).trim();
  parser.at = end + 1;
  if (inside === '*') return children;
  const filter = /^\?\((.*)\)$/s.exec(inside)?.[1];
  if (filter !== undefined) return parseFilter(filter);
  const quoted = unquoted(inside);
  if (quoted !== undefined) return (value) => fieldOf(value, quoted);
  const numbers = /^(-?\d*)(:(-?\d*))?$/.exec(inside);
  if (numbers === null || inside === '') return undefined;
  const [, from = '', isSlice, to = ''] = numbers;
  if (isSlice === undefined) return (value) => itemAt(value, Number(from));
  return (value) =>
    Array.isArray(value) ? value.slice(from === '' ? 0 : Number(from), to === '' ? undefined : Number(to)) : [];
}

const itemAt = (value: unknown, index: number): readonly unknown[] => {
  const item: unknown = Array.isArray(value) ? value.at(index) : undefined;
  return item === undefined ? [] : [item];
};

function closingBracket({ text, at }: Parser): number {
  let quote = '';
  let depth = 0;
  for (let index = at; index < text.length; index++) {
    const character = text[index] ?? '';
    if (quote !== '') {
      if (character === '\\') index++;
      else if (character === quote) quote = '';
    } else if (character === '"' || character === "'") quote = character;
    else if (character === '[') depth++;
    else if (character === ']' && --depth === 0) return index;
  }
  return -1;
}

function unquoted(text: string): string | undefined {
  const quote = text[0];
  if ((quote !== '"' && quote !== "'") || text.length < 2 || !text.endsWith(quote)) return undefined;
  return text.slice(1, -1).replaceAll(/\\(.)/g, '$1');
}

/** The operand is a path that starts with `@`, or a literal. */
type Operand = (item: unknown) => unknown;

function parseFilter(text: string): Step | undefined {
  const operator = /==|!=|<=|>=|<|>/.exec(text);
  const left = parseOperand((operator === null ? text : text.slice(0, operator.index)).trim());
  if (left === undefined) return undefined;
  if (operator === null) return (value) => children(value).filter((item) => left(item) !== undefined);
  const right = parseOperand(text.slice(operator.index + operator[0].length).trim());
  if (right === undefined) return undefined;
  const compare = comparisons.get(operator[0]) ?? (() => false);
  return (value) => children(value).filter((item) => compare(left(item), right(item)));
}

function parseOperand(text: string): Operand | undefined {
  if (text.startsWith('@')) {
    const path = parseJsonPath(text.slice(1));
    return path && ((item) => path(item)[0]);
  }
  const literal = unquoted(text) ?? literalOf(text);
  return literal === undefined ? undefined : () => literal;
}

function literalOf(text: string): unknown {
  if (text === 'true' || text === 'false') return text === 'true';
  return /^-?\d+(?:\.\d+)?$/.test(text) ? Number(text) : undefined;
}

const isOrdered = (left: unknown, right: unknown): boolean => typeof left === typeof right && left !== undefined;

const comparisons: ReadonlyMap<string, (left: unknown, right: unknown) => boolean> = new Map([
  ['==', (left, right) => left === right],
  ['!=', (left, right) => left !== right],
  ['<', (left, right) => isOrdered(left, right) && Number(left) < Number(right)],
  ['<=', (left, right) => isOrdered(left, right) && Number(left) <= Number(right)],
  ['>', (left, right) => isOrdered(left, right) && Number(left) > Number(right)],
  ['>=', (left, right) => isOrdered(left, right) && Number(left) >= Number(right)],
]);
