// Checks an expression and compiles it to closures, with an estimate of its cost. Costs are those of Kubernetes.

import type { CelFunction } from './functions.ts';
import { acceptsValues, resultOf } from './functions.ts';
import { functionsNamed } from './library/all.ts';
import { compileConstruct, fieldOfConstructed } from './construct.ts';
import { compileMacro } from './macros.ts';
import type { Environment, Node, Scope } from './node.ts';
import { fail, truth } from './node.ts';
import { parseExpression } from './parser.ts';
import type { Expression } from './syntax.ts';
import { CelSyntaxError } from './syntax.ts';
import type { CelType, TypeName } from './cel-type.ts';
import { bool, dyn, isAssignable, joined, listOf, mapOf, optionalOf, printType, simple, sizeOf } from './cel-type.ts';
import type { Value } from './values.ts';
import { CelError, CelList, CelMap, MadeMap, Optional, printValue, sizeOfValue, TypeValue, Uint } from './values.ts';

/** An expression with its type, the estimate of its cost, and the variables that it uses. */
export interface Program extends Node {
  readonly used: ReadonlySet<string>;
}

/** An expression that is not valid, with the message of Kubernetes. */
export class CelCheckError extends Error {}

/** Compiles an expression, which can construct objects and patches with `patchTypes`. Throws a `CelCheckError`. */
export function compileExpression(
  text: string,
  variables: ReadonlyMap<string, CelType>,
  { patchTypes = false }: { readonly patchTypes?: boolean } = {},
): Program {
  try {
    const used = new Set<string>();
    const node = compile(parseExpression(text), { variables, locals: new Map(), used, patchTypes });
    return { ...node, used };
  } catch (error) {
    if (!(error instanceof CelSyntaxError)) throw error;
    throw new CelCheckError(located(error, text), { cause: error });
  }
}

/** The error with its line and column, and the line with a mark below. */
function located({ message, offset }: CelSyntaxError, text: string): string {
  const before = text.slice(0, offset).split('\n');
  const line = before.length;
  const column = (before.at(-1) ?? '').length;
  const shown = text.split('\n')[line - 1] ?? '';
  return `ERROR: <input>:${line}:${column + 1}: ${message}\n | ${shown}\n | ${'.'.repeat(column)}^`;
}

function compile(expression: Expression, env: Environment): Node {
  switch (expression.is) {
    case 'literal':
      return literal(expression.value);
    case 'name':
      return compileName(expression, env);
    case 'select':
      return compileSelect(expression, env);
    case 'index':
      return compileIndex(expression, env);
    case 'call':
      return compileMacro(expression, env, compile) ?? compileCall(expression, env);
    case 'list':
      return compileList(expression, env);
    case 'map':
      return compileMap(expression, env);
    case 'construct':
      return compileConstruct(expression, env, compile);
  }
}

function literal(value: Extract<Expression, { is: 'literal' }>['value']): Node {
  const made: Value = typeof value === 'object' && value !== null && 'uint' in value ? new Uint(value.uint) : value;
  const max = typeof made === 'string' || made instanceof Uint8Array ? { max: made.length } : {};
  return { type: { ...simple(literalType(made)), ...max }, cost: 0, run: () => made };
}

function literalType(value: Value): TypeName {
  if (value === null) return 'null_type';
  if (typeof value === 'boolean') return 'bool';
  if (typeof value === 'bigint') return 'int';
  if (typeof value === 'number') return 'double';
  if (typeof value === 'string') return 'string';
  return value instanceof Uint ? 'uint' : 'bytes';
}

const typeNames: ReadonlySet<string> = new Set([
  'bool',
  'int',
  'uint',
  'double',
  'string',
  'bytes',
  'list',
  'map',
  'null_type',
  'type',
  'dyn',
  'optional_type',
]);

type Named = Extract<Expression, { is: 'name' }>;

function compileName(expression: Named, { variables, locals, used }: Environment): Node {
  const { name } = expression;
  const local = locals.get(name);
  if (local !== undefined) {
    const { slot, type } = local;
    return {
      type,
      cost: 1,
      run(scope) {
        scope.spend(1);
        return scope.locals[slot] ?? null;
      },
    };
  }
  const type = variables.get(name);
  if (type !== undefined) return compileVariable(name, type, used);
  if (typeNames.has(name)) {
    const value = new TypeValue(name);
    return { type: simple('type'), cost: 0, run: () => value };
  }
  throw fail(`undeclared reference to '${name}' (in container '')`, expression);
}

function compileVariable(name: string, type: CelType, used: Set<string>): Node {
  used.add(name);
  return {
    type,
    cost: 1,
    run(scope) {
      scope.spend(1);
      return scope.variables.get(name) ?? null;
    },
  };
}

type Select = Extract<Expression, { is: 'select' }>;

/** The type of a field; undefined if there is none. */
function fieldType(operand: CelType, field: string): CelType | undefined {
  if (operand.typeName !== undefined) return fieldOfConstructed(operand, field);
  if (operand.name === 'object') return operand.fields?.get(field);
  if (operand.name === 'map') return operand.of ?? dyn;
  return operand.name === 'dyn' ? dyn : undefined;
}

function compileSelect(expression: Select, env: Environment): Node {
  const { field, isOptional } = expression;
  const typeValue = qualifiedType(expression, env);
  if (typeValue !== undefined) return { type: simple('type'), cost: 0, run: () => typeValue };
  const qualified = qualifiedVariable(expression, env);
  if (qualified !== undefined) return qualified;
  const operand = compile(expression.operand, env);
  const isChained = operand.type.name === 'optional_type';
  const target = isChained ? (operand.type.of ?? dyn) : operand.type;
  const type = fieldType(target, field);
  if (type === undefined) {
    const problem =
      target.name === 'object'
        ? `undefined field '${field}'`
        : `type '${printType(target)}' does not support field selection`;
    throw fail(problem, expression);
  }
  const cost = operand.cost + 1;
  if (!isChained && !isOptional) {
    return {
      type,
      cost,
      run(scope) {
        const value = operand.run(scope);
        scope.spend(1);
        const found = fieldOf(value, field);
        if (found === undefined) throw new CelError(`no such key: ${field}`);
        return found;
      },
    };
  }
  return {
    type: type.name === 'optional_type' ? type : optionalOf(type),
    cost,
    run(scope) {
      const value = unwrapped(operand.run(scope));
      scope.spend(1);
      return new Optional(value === undefined ? undefined : fieldOf(value, field));
    },
  };
}

/** A variable whose name has a dot, such as `authorizer.requestResource`. */
function qualifiedVariable({ operand, field }: Select, { variables, locals, used }: Environment): Node | undefined {
  if (operand.is !== 'name' || locals.has(operand.name)) return undefined;
  const name = `${operand.name}.${field}`;
  const type = variables.get(name);
  return type === undefined ? undefined : compileVariable(name, type, used);
}

/** `google.protobuf.Timestamp` and `google.protobuf.Duration`. */
function qualifiedType({ operand, field }: Select, { variables, locals }: Environment): TypeValue | undefined {
  if (operand.is !== 'select' || operand.field !== 'protobuf' || operand.operand.is !== 'name') return undefined;
  const { name } = operand.operand;
  if (name !== 'google' || variables.has(name) || locals.has(name)) return undefined;
  return field === 'Timestamp' || field === 'Duration' ? new TypeValue(`google.protobuf.${field}`) : undefined;
}

const unwrapped = (value: Value): Value | undefined => (value instanceof Optional ? value.value : value);

function fieldOf(value: Value, field: string): Value | undefined {
  if (value instanceof CelMap) return value.get(field);
  throw new CelError('no such overload');
}

/** `has(a.b)`: whether a field is set. The test itself costs nothing. */
function compilePresence(expression: Expression, env: Environment): Node {
  if (expression.is !== 'select') throw fail('invalid argument to has() macro', expression);
  const operand = compile(expression.operand, env);
  const target = operand.type.name === 'optional_type' ? (operand.type.of ?? dyn) : operand.type;
  if (fieldType(target, expression.field) === undefined) {
    const problem =
      target.name === 'object'
        ? `undefined field '${expression.field}'`
        : `type '${printType(target)}' does not support field selection`;
    throw fail(problem, expression);
  }
  return {
    type: bool,
    cost: operand.cost,
    run(scope) {
      const value = unwrapped(operand.run(scope));
      return value !== undefined && fieldOf(value, expression.field) !== undefined;
    },
  };
}

type Index = Extract<Expression, { is: 'index' }>;

function compileIndex(expression: Index, env: Environment): Node {
  const operand = compile(expression.operand, env);
  const index = compile(expression.index, env);
  const isChained = operand.type.name === 'optional_type';
  const target = isChained ? (operand.type.of ?? dyn) : operand.type;
  const isFitting =
    target.name === 'dyn' ||
    (target.name === 'list' && isAssignable(index.type, simple('int'))) ||
    (target.name === 'map' && isAssignable(index.type, target.key ?? dyn));
  if (!isFitting) throw noOverload('_[_]', [target, index.type], expression);
  const of = target.name === 'dyn' ? dyn : (target.of ?? dyn);
  const cost = operand.cost + index.cost + 1;
  if (!isChained && !expression.isOptional) {
    return {
      type: of,
      cost,
      run(scope) {
        const value = operand.run(scope);
        const key = index.run(scope);
        scope.spend(1);
        const found = itemOf(value, key);
        if (found !== undefined) return found;
        throw new CelError(
          value instanceof CelList ? `index out of bounds: ${printValue(key)}` : `no such key: ${printValue(key)}`,
        );
      },
    };
  }
  return {
    type: optionalOf(of),
    cost,
    run(scope) {
      const value = unwrapped(operand.run(scope));
      const key = index.run(scope);
      scope.spend(1);
      return new Optional(value === undefined ? undefined : itemOf(value, key));
    },
  };
}

function itemOf(value: Value, key: Value): Value | undefined {
  if (value instanceof CelMap) return value.get(key);
  if (!(value instanceof CelList)) throw new CelError('no such overload');
  const index = typeof key === 'bigint' ? Number(key) : key instanceof Uint ? Number(key.value) : key;
  if (typeof index !== 'number' || !Number.isInteger(index)) throw new CelError('no such overload');
  return index >= 0 && index < value.size ? value.at(index) : undefined;
}

const noOverload = (name: string, types: readonly CelType[], at: Expression, target?: CelType): CelSyntaxError => {
  const applied = `(${types.map(printType).join(', ')})`;
  const shown = target === undefined ? applied : `${printType(target)}.${applied}`;
  return fail(`found no matching overload for '${name}' applied to '${shown}'`, at);
};

type Call = Extract<Expression, { is: 'call' }>;

function compileCall(expression: Call, env: Environment): Node {
  const { name, target } = expression;
  const [argument] = expression.args;
  if (target === undefined && name === 'has' && argument !== undefined) return compilePresence(argument, env);
  const special = compileLogic(expression, env);
  if (special !== undefined) return special;
  const space = namespaceOf(target, env);
  const isMember =
    target !== undefined && (space === undefined || functionsNamed(`${space}.${name}`, false).length === 0);
  const called = isMember || space === undefined ? name : `${space}.${name}`;
  const overloads = functionsNamed(called, isMember).filter(({ forPatches }) => !forPatches || env.patchTypes);
  if (overloads.length === 0) throw fail(`undeclared reference to '${called}' (in container '')`, expression);
  const operands = [...(isMember && target !== undefined ? [target] : []), ...expression.args];
  const args = operands.map((operand) => compile(operand, env));
  const types = args.map(({ type }) => type);
  const fitting = overloads.flatMap((overload) => {
    const result = resultOf(overload, types);
    return result === undefined ? [] : [{ overload, result }];
  });
  const [first] = fitting;
  if (first === undefined) {
    throw isMember ? noOverload(called, types.slice(1), expression, types[0]) : noOverload(called, types, expression);
  }
  const sizes = types.map(sizeOf);
  return {
    type: fitting.slice(1).reduce((type, { result }) => joined(type, result), first.result),
    cost:
      args.reduce((sum, { cost }) => sum + cost, 0) +
      Math.max(...fitting.map(({ overload }) => costOf(overload, sizes))),
    run: runnerOf(
      fitting.map(({ overload }) => overload),
      args,
      types.some(({ name: each }) => each === 'dyn'),
    ),
  };
}

const costOf = ({ cost }: CelFunction, sizes: readonly number[]): number => Math.ceil(cost?.(sizes) ?? 1);

function runnerOf(overloads: readonly CelFunction[], args: readonly Node[], isDynamic: boolean): Node['run'] {
  const [only] = overloads;
  if (only !== undefined && overloads.length === 1 && !isDynamic) {
    return (scope) => {
      const values = valuesOf(args, scope);
      scope.spend(only.cost === undefined ? 1 : costOf(only, values.map(sizeOfValue)));
      return only.call(values, scope);
    };
  }
  return (scope) => {
    const values = valuesOf(args, scope);
    const overload = overloads.find((each) => acceptsValues(each, values));
    if (overload === undefined) throw new CelError('no such overload');
    scope.spend(costOf(overload, values.map(sizeOfValue)));
    return overload.call(values, scope);
  };
}

function valuesOf(args: readonly Node[], scope: Scope): readonly Value[] {
  const values: Value[] = [];
  for (const arg of args) values.push(arg.run(scope));
  return values;
}

/** The name before a dot, if it is not a variable: that of a library such as `sets`. */
function namespaceOf(target: Expression | undefined, { variables, locals }: Environment): string | undefined {
  if (target?.is !== 'name' || variables.has(target.name) || locals.has(target.name)) return undefined;
  return target.name;
}

/** Operators that do not evaluate all operands. */
function compileLogic({ name, args }: Call, env: Environment): Node | undefined {
  if (name !== '_&&_' && name !== '_||_' && name !== '_?_:_') return undefined;
  const operands = args.map((arg) => compile(arg, env));
  const [first, second, third] = operands;
  if (first === undefined || second === undefined) return undefined;
  const conditions = name === '_?_:_' ? [first] : operands;
  conditions.forEach(({ type }, index) => {
    if (!isAssignable(type, bool))
      throw noOverload(
        name,
        operands.map((each) => each.type),
        args[index] ?? { is: 'literal', value: null, at: 0 },
      );
  });
  if (name === '_?_:_' && third !== undefined) {
    if (!isAssignable(second.type, third.type) && !isAssignable(third.type, second.type)) {
      throw noOverload(
        name,
        operands.map((each) => each.type),
        args[0] ?? { is: 'literal', value: null, at: 0 },
      );
    }
    return {
      type: joined(second.type, third.type),
      cost: first.cost + Math.max(second.cost, third.cost),
      run: (scope) => (truth(first.run(scope)) ? second.run(scope) : third.run(scope)),
    };
  }
  const decisive = name === '_||_';
  return { type: bool, cost: first.cost + second.cost, run: (scope) => either(scope, first, second, decisive) };
}

/** An operand that decides the result hides an error of the other; of two errors, the first counts. */
function either(scope: Scope, first: Node, second: Node, decisive: boolean): Value {
  let problem: CelError | undefined;
  for (let operand = first; ; operand = second) {
    try {
      if (truth(operand.run(scope)) === decisive) return decisive;
    } catch (error) {
      if (!(error instanceof CelError)) throw error;
      problem ??= error;
    }
    if (operand === second) break;
  }
  if (problem !== undefined) throw problem;
  return !decisive;
}

function compileList(expression: Extract<Expression, { is: 'list' }>, env: Environment): Node {
  const items = expression.items.map((item) => compile(item, env));
  const typeAt = ({ type }: Node, index: number): CelType => (expression.optional.has(index) ? (type.of ?? dyn) : type);
  const of = items
    .map(typeAt)
    .reduce<CelType | undefined>((type, each) => (type === undefined ? each : joined(type, each)), undefined);
  return {
    type: of === undefined ? { name: 'list', max: 0 } : listOf(of, items.length),
    cost: items.reduce((sum, { cost }) => sum + cost, 10),
    run(scope) {
      scope.spend(10);
      const values = items.flatMap((item, index) => {
        const value = item.run(scope);
        if (!expression.optional.has(index)) return [value];
        const present = unwrapped(value);
        return present === undefined ? [] : [present];
      });
      return CelList.of(values);
    },
  };
}

function compileMap(expression: Extract<Expression, { is: 'map' }>, env: Environment): Node {
  const entries = expression.entries.map(([key, value]) => [compile(key, env), compile(value, env)] as const);
  const join = (types: readonly CelType[]): CelType => {
    const [first = dyn, ...rest] = types;
    return rest.reduce(joined, first);
  };
  return {
    type: mapOf(join(entries.map(([, { type }]) => type)), entries.length, join(entries.map(([{ type }]) => type))),
    cost: entries.reduce((sum, [key, value]) => sum + key.cost + value.cost, 30),
    run(scope) {
      scope.spend(30);
      return new MadeMap(
        entries.flatMap(([key, value], index): (readonly [Value, Value])[] => {
          const [madeKey, made] = [key.run(scope), value.run(scope)];
          if (!expression.optional.has(index)) return [[madeKey, made]];
          const present = unwrapped(made);
          return present === undefined ? [] : [[madeKey, present]];
        }),
      );
    },
  };
}
