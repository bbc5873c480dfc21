import { badRequest } from '../errors.ts';
import { labelValueErrors, qualifiedNameErrors } from '../names.ts';

/** One condition of a label selector. */
export interface Requirement {
  readonly key: string;
  readonly operator: 'in' | 'notin' | 'exists' | 'absent' | 'gt' | 'lt';
  readonly values: ReadonlySet<string>;
}

/** All requirements must hold; an empty selector matches everything. */
export type LabelSelector = readonly Requirement[];

type Labels = Readonly<Record<string, string>> | undefined;

/** Whether `labels` meet every requirement. `notin` also matches if the label is absent, as in Kubernetes. */
export function matchesLabels(selector: LabelSelector, labels: Labels): boolean {
  return selector.every((requirement) => meets(requirement, valueOf(labels, requirement.key)));
}

/** Keys of labels come from clients: `constructor` is an ordinary key. */
const valueOf = (labels: Labels, key: string): string | undefined =>
  labels !== undefined && Object.hasOwn(labels, key) ? labels[key] : undefined;

function meets({ operator, values }: Requirement, value: string | undefined): boolean {
  switch (operator) {
    case 'in':
      return value !== undefined && values.has(value);
    case 'notin':
      return value === undefined || !values.has(value);
    case 'exists':
      return value !== undefined;
    case 'absent':
      return value === undefined;
    case 'gt':
      return compare(value, values) > 0;
    case 'lt':
      return compare(value, values) < 0;
  }
}

/** NaN unless both are integers. */
function compare(value: string | undefined, [bound]: Iterable<string>): number {
  const [left, right] = [integer(value), integer(bound)];
  return left === undefined || right === undefined ? Number.NaN : Number(left - right);
}

/** An integer of 64 bits; a label has at most 63 characters. */
function integer(text: string | undefined): bigint | undefined {
  if (text === undefined || text.length > 63 || !/^[+-]?\d+$/.test(text)) return undefined;
  const value = BigInt(text);
  return BigInt.asIntN(64, value) === value ? value : undefined;
}

const noValues: ReadonlySet<string> = new Set();

const token = /!=|==|[=!,()<>]|[^\s=!,()<>]+/g;
const signs: ReadonlySet<string> = new Set(['!=', '==', '=', '!', ',', '(', ')', '<', '>']);

/**
 * Parses the `labelSelector` parameter:
 *
 *     selector    = [ requirement { "," requirement } ]
 *     requirement = key ( "=" | "==" | "!=" ) value | key ( "in" | "notin" ) "(" value { "," value } ")"
 *                 | key ( ">" | "<" ) integer | key | "!" key
 */
export function parseLabelSelector(text: string): LabelSelector {
  const tokens = new Tokens(text);
  const requirements: Requirement[] = [];
  while (!tokens.done) {
    if (requirements.length === maxTerms) throw tooManyTerms();
    requirements.push(requirement(tokens));
    if (tokens.done) break;
    if (tokens.next() !== ',') throw badRequest(`found '${tokens.last}', expected: ',' or 'end of string'`);
    if (tokens.peek !== '!' && !tokens.isWord) {
      throw badRequest(`found '${tokens.peek}', expected: identifier after ','`);
    }
  }
  return requirements;
}

/** The tokens of a selector; '' marks the end. */
class Tokens {
  readonly #tokens: readonly string[];
  #at = 0;

  constructor(text: string) {
    this.#tokens = text.match(token) ?? [];
  }

  get done(): boolean {
    return this.#at >= this.#tokens.length;
  }

  get peek(): string {
    return this.#tokens[this.#at] ?? '';
  }

  get isWord(): boolean {
    return !this.done && !signs.has(this.peek);
  }

  get last(): string {
    return this.#tokens[this.#at - 1] ?? '';
  }

  next(): string {
    return this.#tokens[this.#at++] ?? '';
  }
}

function requirement(tokens: Tokens): Requirement {
  if (tokens.peek === '!') {
    tokens.next();
    return { key: checkedKey(word(tokens)), operator: 'absent', values: noValues };
  }
  if (!tokens.isWord) {
    throw badRequest(`found '${tokens.peek}', expected: !, identifier, or 'end of string'`);
  }
  const key = checkedKey(tokens.next());
  if (tokens.peek === '' || tokens.peek === ',') return { key, operator: 'exists', values: noValues };
  const operator = tokens.next();
  switch (operator) {
    case '=':
    case '==':
      return { key, operator: 'in', values: new Set([checkedValue(key, exactValue(tokens))]) };
    case '!=':
      return { key, operator: 'notin', values: new Set([checkedValue(key, exactValue(tokens))]) };
    case '>':
    case '<':
      return { key, operator: operator === '>' ? 'gt' : 'lt', values: new Set([checkedInteger(exactValue(tokens))]) };
    case 'in':
    case 'notin':
      return { key, operator, values: valueList(key, tokens) };
    default:
      throw unparsable(`found '${operator}', expected: in, notin, =, ==, !=, gt, lt`);
  }
}

/** A value may be empty: `key=`. */
function exactValue(tokens: Tokens): string {
  return tokens.peek === '' || tokens.peek === ',' ? '' : word(tokens);
}

function word(tokens: Tokens): string {
  if (!tokens.isWord) throw unparsable(`found '${tokens.peek}', expected: identifier`);
  return tokens.next();
}

/** `(a, b)`; values may be empty. */
function valueList(key: string, tokens: Tokens): ReadonlySet<string> {
  if (tokens.next() !== '(') throw unparsable(`found '${tokens.last}' expected: '('`); // no comma here
  const values = new Set<string>();
  for (;;) {
    const isEmpty = tokens.peek === ',' || tokens.peek === ')';
    values.add(isEmpty ? '' : checkedValue(key, word(tokens)));
    const separator = tokens.next();
    if (separator === ')') return values;
    if (separator !== ',') throw unparsable(`found '${separator}', expected: ',' or ')'`);
  }
}

function checkedKey(key: string): string {
  const [problem] = qualifiedNameErrors(key);
  if (problem !== undefined) throw unparsable(`<nil>: Invalid value: ${JSON.stringify(key)}: ${problem}`);
  return key;
}

function checkedValue(key: string, value: string): string {
  const [problem] = labelValueErrors(value);
  if (problem !== undefined) throw unparsable(`values[0][${key}]: Invalid value: ${JSON.stringify(value)}: ${problem}`);
  return value;
}

function checkedInteger(value: string): string {
  if (integer(value) !== undefined) return value;
  throw unparsable(
    `values[0]: Invalid value: ${JSON.stringify(value)}: for 'Gt', 'Lt' operators, the value must be an integer`,
  );
}

const unparsable = (why: string): Error => badRequest(`unable to parse requirement: ${why}`);

/** The limit on terms of a selector, since a list evaluates each term for every object. */
export const maxTerms = 100;

export const tooManyTerms = (): Error => badRequest(`invalid selector: it has more than ${maxTerms} terms`);
