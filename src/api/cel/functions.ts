import type { CelType, TypeName } from './cel-type.ts';
import { dyn, isAssignable, joined, maxRequestBytes, sizeOf } from './cel-type.ts';
import type { Value } from './values.ts';
import { typeNameOf } from './values.ts';

/** The state of an expression that runs. */
export interface Run {
  /** Throws a `CostLimitError` once the budget is spent. */
  spend(cost: number): void;
}

/** One overload of a function. */
export interface CelFunction {
  readonly name: string;
  readonly isMember: boolean;
  readonly params: readonly Parameter[];
  readonly result: Parameter;
  readonly call: (args: readonly Value[], run: Run) => Value;
  /** The cost by the sizes of the arguments; default: 1. */
  readonly cost: ((sizes: readonly number[]) => number) | undefined;
  /** Exists only in expressions of mutations. */
  readonly forPatches?: true;
}

/** A type in a signature, in which capital letters stand for any type. */
export interface Parameter {
  readonly name: TypeName | 'A' | 'B';
  readonly of: readonly Parameter[];
}

/**
 * Defines a function by its signature, such as `string.contains(string): bool` for a method, `size(list<A>): int`, or
 * `::sets.contains(list<A>, list<A>): bool` for a name with a dot. The arguments that `call` gets have these types.
 */
export function define(
  signature: string,
  // oxlint-disable-next-line typescript/no-explicit-any -- the signature is checked before the call
  call: (...args: any[]) => Value,
  cost?: CelFunction['cost'],
): CelFunction {
  const isStatic = signature.startsWith('::');
  const match = /^([^()]+)\(([^()]*)\): ([\w<>,]+)$/.exec(signature.replace('::', ''));
  if (match === null) throw new Error(`bug: ${signature} is not a signature`);
  const [, path = '', params = '', result = ''] = match;
  const dot = isStatic ? -1 : path.indexOf('.');
  const target = path.slice(0, Math.max(dot, 0));
  return {
    name: path.slice(dot + 1),
    isMember: dot >= 0,
    params: [...(dot < 0 ? [] : [target]), ...splitTypes(params)].map(parseType),
    result: parseType(result),
    call: (args, run) => call(...args, run),
    cost,
  };
}

const typeNames: ReadonlySet<string> = new Set([
  'dyn',
  'null_type',
  'bool',
  'int',
  'uint',
  'double',
  'string',
  'bytes',
  'timestamp',
  'duration',
  'type',
  'list',
  'map',
  'object',
  'optional_type',
  'url',
  'ip',
  'cidr',
  'quantity',
  'semver',
  'format',
  'authorizer',
  'path_check',
  'group_check',
  'resource_check',
  'decision',
  'A',
  'B',
]);

/** Splits `int, map<A,B>` at the commas between types. */
const splitTypes = (text: string): readonly string[] => (text === '' ? [] : text.split(', '));

function parseType(text: string): Parameter {
  const open = text.indexOf('<');
  const name = open < 0 ? text : text.slice(0, open);
  if (!typeNames.has(name)) throw new Error(`bug: ${text} is not a type`);
  const of =
    open < 0
      ? []
      : text
          .slice(open + 1, -1)
          .split(',')
          .map(parseType);
  return { name: name as Parameter['name'], of }; // it was just looked up
}

type Bindings = Map<string, CelType>;

/** Whether arguments of these types fit, and the type of the result. */
export function resultOf(overload: CelFunction, args: readonly CelType[]): CelType | undefined {
  const { params, result } = overload;
  if (params.length !== args.length) return undefined;
  const bindings: Bindings = new Map();
  if (!params.every((param, index) => fits(param, args[index] ?? dyn, bindings))) return undefined;
  return withSize(substituted(result, bindings), args);
}

function fits(param: Parameter, arg: CelType, bindings: Bindings): boolean {
  if (param.name === 'A' || param.name === 'B') {
    const bound = bindings.get(param.name);
    if (bound !== undefined && !isAssignable(arg, bound) && !isAssignable(bound, arg)) return false;
    bindings.set(param.name, bound === undefined ? arg : joined(bound, arg));
    return true;
  }
  if (arg.name === 'dyn' || param.name === 'dyn') return true;
  if (arg.name !== param.name) return false;
  const parts = arg.name === 'map' ? [arg.key ?? dyn, arg.of ?? dyn] : [arg.of ?? dyn];
  return param.of.every((each, index) => fits(each, parts[index] ?? dyn, bindings));
}

function substituted({ name, of }: Parameter, bindings: Bindings): CelType {
  if (name === 'A' || name === 'B') return bindings.get(name) ?? dyn;
  if (name === 'map') {
    const [key, value] = of.map((each) => substituted(each, bindings));
    return { name, key: key ?? dyn, of: value ?? dyn };
  }
  if (name === 'list' || name === 'optional_type')
    return { name, of: substituted(of[0] ?? { name: 'dyn', of: [] }, bindings) };
  return { name };
}

const sized: ReadonlySet<string> = new Set(['string', 'bytes', 'list', 'map', 'dyn']);

/** A result is assumed to be at most as large as all arguments together. */
function withSize(type: CelType, args: readonly CelType[]): CelType {
  if (!sized.has(type.name) || type.max !== undefined) return type;
  const max = Math.min(
    args.reduce((sum, arg) => sum + sizeOf(arg), 0),
    maxRequestBytes,
  );
  return { ...type, max, ...(type.of && { of: withSize(type.of, args) }) };
}

/** Whether values fit the parameters, where types were not known before. */
export const acceptsValues = ({ params }: CelFunction, args: readonly Value[]): boolean =>
  params.every(
    ({ name }, index) => name === 'A' || name === 'B' || name === 'dyn' || typeNameOf(args[index] ?? null) === name,
  );
