// Macros: calls that declare variables, or that do not evaluate all arguments.

import type { Environment, Node, Scope } from './node.ts';
import { fail, truth } from './node.ts';
import type { Expression } from './syntax.ts';
import type { CelType } from './cel-type.ts';
import { bool, dyn, int, isAssignable, listOf, mapOf, optionalOf, printType, sizeOf } from './cel-type.ts';
import type { Value } from './values.ts';
import { CelError, CelList, CelMap, MadeMap, Optional } from './values.ts';

type Call = Extract<Expression, { is: 'call' }>;

/** Compiles a part of a macro. */
type Compile = (expression: Expression, env: Environment) => Node;

/** The node of a macro; undefined if the call is none. */
export function compileMacro(call: Call, env: Environment, compile: Compile): Node | undefined {
  const { name, target, args } = call;
  if (target === undefined) return undefined;
  const macro = comprehensions.get(`${name}/${args.length}`);
  if (macro !== undefined) return macro(call, env, compile);
  if ((name === 'optMap' || name === 'optFlatMap') && args.length === 2) return compileOptional(call, env, compile);
  return undefined;
}

/** What a loop calls for each item or entry; returns true to end. */
type Step = (scope: Scope) => boolean;

interface Loop {
  /** The cost of one turn, without the bodies. */
  readonly turn: number;
  readonly type: (range: CelType, bodies: readonly Node[]) => CelType;
  readonly start: (
    scope: Scope,
    bodies: readonly Node[],
    slot: number,
  ) => { readonly step: Step; readonly result: () => Value };
  /** Positions of bodies that must be conditions. */
  readonly conditions: readonly number[];
}

const comprehensions = new Map<string, (call: Call, env: Environment, compile: Compile) => Node>();

const register = (name: string, variables: 1 | 2, bodies: number, loop: Loop): void => {
  comprehensions.set(`${name}/${variables + bodies}`, (call, env, compile) =>
    compileLoop(call, env, { variables, loop, compile }),
  );
};

function compileLoop(
  call: Call,
  env: Environment,
  { variables, loop, compile }: { readonly variables: 1 | 2; readonly loop: Loop; readonly compile: Compile },
): Node {
  const range = compile(call.target ?? call, env);
  const { type } = range;
  if (type.name !== 'list' && type.name !== 'map' && type.name !== 'dyn') {
    throw fail(
      `expression of type '${printType(type)}' cannot be range of a comprehension (must be list, map, or dynamic)`,
      call,
    );
  }
  const slot = env.locals.size;
  const names = call.args.slice(0, variables).map((arg) => {
    if (arg.is !== 'name') throw fail('argument must be a simple name', arg);
    return arg.name;
  });
  const types = variableTypes(type, variables);
  const locals = new Map(env.locals);
  // Slots are never shared, not even by a variable that hides another.
  names.forEach((name, index) => locals.set(name, { type: types[index] ?? dyn, slot: slot + index }));
  for (let hidden = locals.size; hidden < slot + variables; hidden++)
    locals.set(`@hidden${hidden}`, { type: dyn, slot: hidden });
  const bodies = call.args.slice(variables).map((arg) => compile(arg, { ...env, locals }));
  for (const position of loop.conditions) {
    const body = bodies[position];
    if (body !== undefined && !isAssignable(body.type, bool)) {
      throw fail(`expected type 'bool' but found '${printType(body.type)}'`, call.args[variables + position] ?? call);
    }
  }
  const perTurn = loop.turn + bodies.reduce((sum, { cost }) => sum + cost, 0);
  return {
    type: loop.type(type, bodies),
    cost: range.cost + sizeOf(type) * perTurn + 1,
    run(scope) {
      const value = range.run(scope);
      const { step, result } = loop.start(scope, bodies, slot);
      forEachEntry(value, variables, (key, item) => {
        scope.spend(loop.turn);
        scope.locals[slot] = key;
        if (variables === 2) scope.locals[slot + 1] = item;
        return step(scope);
      });
      scope.spend(1);
      return result();
    },
  };
}

function variableTypes(range: CelType, variables: 1 | 2): readonly CelType[] {
  const of = range.of ?? dyn;
  if (range.name === 'dyn') return [dyn, dyn];
  if (range.name === 'list') return variables === 1 ? [of] : [int, of];
  return variables === 1 ? [range.key ?? dyn] : [range.key ?? dyn, of];
}

/** Calls `turn` with the values of the variables, until it returns true. */
function forEachEntry(value: Value, variables: 1 | 2, turn: (key: Value, item: Value) => boolean): void {
  if (value instanceof CelList) {
    for (let index = 0; index < value.size; index++) {
      const item = value.at(index);
      if (turn(variables === 1 ? item : BigInt(index), item)) return;
    }
  } else if (value instanceof CelMap && !value.isObject) {
    for (const key of value.keys()) if (turn(key, value.get(key) ?? null)) return;
  } else throw new CelError('no such overload');
}

const run = (bodies: readonly Node[], index: number, scope: Scope): Value => bodies[index]?.run(scope) ?? null;

/** `all` and `exists`: an item that decides the result hides errors of others. */
const quantifier = (decisive: boolean, turn: number): Loop => ({
  turn,
  conditions: [0],
  type: () => bool,
  start(_scope, bodies) {
    let problem: CelError | undefined;
    let found = false;
    return {
      step(scope) {
        try {
          found = truth(run(bodies, 0, scope)) === decisive;
        } catch (error) {
          if (!(error instanceof CelError)) throw error;
          problem = error;
        }
        return found;
      },
      result() {
        if (!found && problem !== undefined) throw problem;
        return found === decisive;
      },
    };
  },
});

const existsOne: Loop = {
  turn: 3,
  conditions: [0],
  type: () => bool,
  start(_scope, bodies) {
    let count = 0;
    return {
      step(scope) {
        if (truth(run(bodies, 0, scope))) count++;
        return false;
      },
      result: () => count === 1,
    };
  },
};

/** Collects items; with two bodies the first one selects. */
const collect = (isFilter: boolean, hasCondition: boolean): Loop => ({
  turn: 13,
  conditions: hasCondition ? [0] : [],
  type: (range, bodies) => {
    const items = range.name === 'map' ? (range.key ?? dyn) : (range.of ?? dyn);
    return listOf(isFilter ? items : (bodies.at(-1)?.type ?? dyn), sizeOf(range));
  },
  start(_scope, bodies, slot) {
    const items: Value[] = [];
    return {
      step(scope) {
        if (hasCondition && !truth(run(bodies, 0, scope))) return false;
        items.push(isFilter ? (scope.locals[slot] ?? null) : run(bodies, bodies.length - 1, scope));
        return false;
      },
      result: () => CelList.of(items),
    };
  },
});

const transformMap = (hasCondition: boolean, makesEntries: boolean): Loop => ({
  turn: 32,
  conditions: hasCondition ? [0] : [],
  type: (range, bodies) => {
    const made = bodies.at(-1)?.type ?? dyn;
    return makesEntries
      ? mapOf(made.of ?? dyn, sizeOf(range), made.key ?? dyn)
      : mapOf(made, sizeOf(range), range.name === 'list' ? int : (range.key ?? dyn));
  },
  start(_scope, bodies, slot) {
    const entries: (readonly [Value, Value])[] = [];
    return {
      step(scope) {
        if (hasCondition && !truth(run(bodies, 0, scope))) return false;
        const key = scope.locals[slot] ?? null;
        const made = run(bodies, bodies.length - 1, scope);
        if (!makesEntries) entries.push([key, made]);
        else if (made instanceof CelMap) for (const each of made.keys()) entries.push([each, made.get(each) ?? null]);
        else throw new CelError('no such overload');
        return false;
      },
      result: () => new MadeMap(entries),
    };
  },
});

/** `sortBy(x, key)`: the list ordered by a key of each item. */
const sortBy: Loop = {
  turn: 15,
  conditions: [],
  type: (range) => listOf(range.of ?? dyn, sizeOf(range)),
  start(_scope, bodies, slot) {
    const items: (readonly [key: Value, item: Value])[] = [];
    return {
      step(scope) {
        items.push([run(bodies, 0, scope), scope.locals[slot] ?? null]);
        return false;
      },
      result: () => CelList.of(items.sort(([a], [b]) => compareKeys(a, b)).map(([, item]) => item)),
    };
  },
};

function compareKeys(left: Value, right: Value): number {
  const isComparable =
    (typeof left === 'bigint' || typeof left === 'number' || typeof left === 'string' || typeof left === 'boolean') &&
    typeof left === typeof right;
  if (!isComparable || right === null) throw new CelError('no such overload');
  return left < right ? -1 : left > right ? 1 : 0;
}

for (const variables of [1, 2] as const) {
  register('all', variables, 1, quantifier(false, 4));
  register('exists', variables, 1, quantifier(true, 5));
  register('existsOne', variables, 1, existsOne);
}
register('exists_one', 1, 1, existsOne);
register('filter', 1, 1, collect(true, true));
register('map', 1, 1, collect(false, false));
register('map', 1, 2, collect(false, true));
register('sortBy', 1, 1, sortBy);
register('transformList', 2, 1, collect(false, false));
register('transformList', 2, 2, collect(false, true));
register('transformMap', 2, 1, transformMap(false, false));
register('transformMap', 2, 2, transformMap(true, false));
register('transformMapEntry', 2, 1, transformMap(false, true));
register('transformMapEntry', 2, 2, transformMap(true, true));

/** `a.optMap(x, f)` and `a.optFlatMap(x, f)`. */
function compileOptional(call: Call, env: Environment, compile: Compile): Node {
  const operand = compile(call.target ?? call, env);
  const [variable, body] = call.args;
  if (variable?.is !== 'name' || body === undefined) throw fail('argument must be a simple name', call);
  const slot = env.locals.size;
  const locals = new Map(env.locals).set(variable.name, { type: operand.type.of ?? dyn, slot });
  if (locals.size === slot) locals.set(`@hidden${slot}`, { type: dyn, slot });
  const made = compile(body, { ...env, locals });
  const isFlat = call.name === 'optFlatMap';
  return {
    type: isFlat ? made.type : optionalOf(made.type),
    cost: operand.cost + made.cost + 2,
    run(scope) {
      const value = operand.run(scope);
      if (!(value instanceof Optional)) throw new CelError('no such overload');
      scope.spend(2);
      if (value.value === undefined) return value;
      scope.locals[slot] = value.value;
      const result = made.run(scope);
      return isFlat ? result : new Optional(result);
    },
  };
}
