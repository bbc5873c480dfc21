import { tokensOf } from './lexer.ts';
import type { Token } from './lexer.ts';
import type { Expression } from './syntax.ts';
import { CelSyntaxError } from './syntax.ts';

/** As in Kubernetes: deeper and longer expressions are rejected before they are checked. */
const maxDepth = 200;
const maxLength = 100_000;

/** Parses an expression. Throws a `CelSyntaxError`. */
export function parseExpression(text: string): Expression {
  if (text.length > maxLength) throw new CelSyntaxError(`expression code point size exceeds limit: ${maxLength}`, 0);
  const parser = new Parser(tokensOf(text));
  const expression = parser.expression();
  parser.finish();
  return expression;
}

/** Operators by precedence, from the weakest; all associate to the left. */
const levels: readonly (readonly string[])[] = [
  ['||'],
  ['&&'],
  ['<', '<=', '>=', '>', '==', '!=', 'in'],
  ['+', '-'],
  ['*', '/', '%'],
];

class Parser {
  readonly #tokens: readonly Token[];
  #next = 0;
  #depth = 0;

  constructor(tokens: readonly Token[]) {
    this.#tokens = tokens;
  }

  expression(): Expression {
    this.#depth++;
    if (this.#depth > maxDepth) throw new CelSyntaxError('expression recursion limit exceeded', this.#token.at);
    const condition = this.#binary(0);
    let result = condition;
    if (this.#accept('?')) {
      const first = this.#binary(0);
      this.#expect(':');
      const second = this.expression();
      result = call('_?_:_', [condition, first, second], condition.at);
    }
    this.#depth--;
    return result;
  }

  finish(): void {
    if (this.#token.is !== 'end') throw this.#unexpected();
  }

  get #token(): Token {
    return this.#tokens[this.#next] ?? { is: 'end', text: '<EOF>', at: 0 };
  }

  #unexpected(): CelSyntaxError {
    const token = this.#token;
    const shown = token.is === 'literal' ? 'literal' : token.text;
    return new CelSyntaxError(`Syntax error: mismatched input '${shown}'`, token.at);
  }

  #isSymbol(text: string): boolean {
    const token = this.#token;
    return token.is === 'symbol' && token.text === text;
  }

  #accept(text: string): boolean {
    if (!this.#isSymbol(text)) return false;
    this.#next++;
    return true;
  }

  #expect(text: string): void {
    if (!this.#accept(text)) throw this.#unexpected();
  }

  #binary(level: number): Expression {
    const operators = levels[level];
    if (operators === undefined) return this.#unary();
    let left = this.#binary(level + 1);
    let count = 0;
    for (;;) {
      const { at } = this.#token;
      const operator = operators.find((each) => this.#accept(each));
      if (operator === undefined) return left;
      // A long chain nests as deeply as it is long.
      if (++count > 1000) throw new CelSyntaxError('expression recursion limit exceeded', at);
      left = call(operator === 'in' ? '@in' : `_${operator}_`, [left, this.#binary(level + 1)], at);
    }
  }

  #unary(): Expression {
    const { at } = this.#token;
    for (const operator of ['!', '-']) {
      if (!this.#accept(operator)) continue;
      this.#depth++;
      if (this.#depth > maxDepth) throw new CelSyntaxError('expression recursion limit exceeded', at);
      const operand = this.#unary();
      this.#depth--;
      if (operator === '-' && operand.is === 'literal') {
        if (typeof operand.value === 'bigint') return { ...operand, value: -operand.value };
        if (typeof operand.value === 'number') return { ...operand, value: -operand.value };
      }
      return call(`${operator}_`, [operand], at);
    }
    const member = this.#member();
    if (member.is === 'literal' && typeof member.value === 'bigint' && member.value === 2n ** 63n) {
      throw new CelSyntaxError('invalid int literal', at);
    }
    return member;
  }

  #member(): Expression {
    let result = this.#primary();
    for (;;) {
      const { at } = this.#token;
      if (this.#accept('.')) {
        const isOptional = this.#accept('?');
        const field = this.#name();
        if (!isOptional && this.#accept('(')) {
          result = { is: 'call', target: result, name: field, args: this.#list(')').items, at };
        } else result = { is: 'select', operand: result, field, isOptional, at };
      } else if (this.#accept('[')) {
        const isOptional = this.#accept('?');
        const index = this.expression();
        this.#expect(']');
        result = { is: 'index', operand: result, index, isOptional, at };
      } else {
        const typeName = this.#isSymbol('{') ? dottedName(result) : undefined;
        if (typeName === undefined) return result;
        this.#next++;
        result = { is: 'construct', typeName, ...this.#fields(), at };
      }
    }
  }

  /** The fields of `Type{field: value}`, after the brace. */
  #fields(): { readonly fields: readonly (readonly [string, Expression])[]; readonly optional: ReadonlySet<number> } {
    const fields: (readonly [string, Expression])[] = [];
    const optional = new Set<number>();
    while (!this.#accept('}')) {
      if (this.#accept('?')) optional.add(fields.length);
      const name = this.#name();
      this.#expect(':');
      fields.push([name, this.expression()]);
      if (!this.#accept(',')) {
        this.#expect('}');
        break;
      }
    }
    return { fields, optional };
  }

  #name(): string {
    const token = this.#token;
    if (token.is !== 'name') throw this.#unexpected();
    this.#next++;
    return token.text;
  }

  #primary(): Expression {
    const token = this.#token;
    const { at } = token;
    if (token.is === 'literal') {
      this.#next++;
      return { is: 'literal', value: token.value, at };
    }
    if (token.is === 'name') {
      this.#next++;
      if (this.#accept('('))
        return { is: 'call', target: undefined, name: token.text, args: this.#list(')').items, at };
      return { is: 'name', name: token.text, at };
    }
    if (this.#accept('(')) {
      const inner = this.expression();
      this.#expect(')');
      return inner;
    }
    if (this.#accept('[')) return { is: 'list', ...this.#list(']'), at };
    if (this.#accept('{')) return this.#map(at);
    if (this.#accept('.')) return { is: 'name', name: this.#name(), at };
    throw this.#unexpected();
  }

  #list(end: string): { readonly items: readonly Expression[]; readonly optional: ReadonlySet<number> } {
    const items: Expression[] = [];
    const optional = new Set<number>();
    while (!this.#accept(end)) {
      if (end === ']' && this.#accept('?')) optional.add(items.length);
      items.push(this.expression());
      if (!this.#accept(',')) {
        this.#expect(end);
        break;
      }
    }
    return { items, optional };
  }

  #map(at: number): Expression {
    const entries: (readonly [Expression, Expression])[] = [];
    const optional = new Set<number>();
    while (!this.#accept('}')) {
      if (this.#accept('?')) optional.add(entries.length);
      const key = this.expression();
      this.#expect(':');
      entries.push([key, this.expression()]);
      if (!this.#accept(',')) {
        this.#expect('}');
        break;
      }
    }
    return { is: 'map', entries, optional, at };
  }
}

/** The text of `a.b.c`; undefined for another expression. */
function dottedName(expression: Expression): string | undefined {
  if (expression.is === 'name') return expression.name;
  if (expression.is !== 'select' || expression.isOptional) return undefined;
  const before = dottedName(expression.operand);
  return before === undefined ? undefined : `${before}.${expression.field}`;
}

const call = (name: string, args: readonly Expression[], at: number): Expression => ({
  is: 'call',
  target: undefined,
  name,
  args,
  at,
});
