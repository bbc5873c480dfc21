// The types of CEL, with the sizes that values can have, for cost estimates.

export type TypeName =
  | 'dyn'
  | 'null_type'
  | 'bool'
  | 'int'
  | 'uint'
  | 'double'
  | 'string'
  | 'bytes'
  | 'timestamp'
  | 'duration'
  | 'type'
  | 'list'
  | 'map'
  | 'object'
  | 'optional_type'
  | 'url'
  | 'ip'
  | 'cidr'
  | 'quantity'
  | 'semver'
  | 'format'
  | 'authorizer'
  | 'path_check'
  | 'group_check'
  | 'resource_check'
  | 'decision';

export interface CelType {
  readonly name: TypeName;
  /** The largest length of strings and bytes, and number of items and entries. */
  readonly max?: number;
  /** The type of items, of the values of a map, or of the value of an optional. */
  readonly of?: CelType;
  readonly key?: CelType;
  /** The fields of an object, by their escaped names. */
  readonly fields?: ReadonlyMap<string, CelType>;
  /** The name of a type that expressions can construct, such as `Object.spec`. */
  readonly typeName?: string;
}

/** The size that is assumed where nothing bounds it: that of the largest request. */
export const maxRequestBytes = 3 * 1024 * 1024;

export const dyn: CelType = { name: 'dyn', max: maxRequestBytes };
export const bool: CelType = { name: 'bool' };
export const int: CelType = { name: 'int' };
export const string: CelType = { name: 'string', max: maxRequestBytes };

export const simple = (name: TypeName): CelType => ({ name });
export const listOf = (of: CelType, max: number = maxRequestBytes): CelType => ({ name: 'list', of, max });
export const mapOf = (of: CelType, max: number = maxRequestBytes, key: CelType = string): CelType => ({
  name: 'map',
  key,
  of,
  max,
});
export const optionalOf = (of: CelType): CelType => ({ name: 'optional_type', of });

/** The largest size of a value: 1 for those without a size. */
export const sizeOf = ({ name, max, of }: CelType): number =>
  name === 'optional_type' && of !== undefined ? sizeOf(of) : (max ?? 1);

/** Whether a value of one type can be used where another is expected; `dyn` is decided when the expression runs. */
export function isAssignable(from: CelType, to: CelType): boolean {
  if (from.name === 'dyn' || to.name === 'dyn') return true;
  if (from.name === 'object' && to.name === 'map') return false;
  if (from.name !== to.name) return from.name === 'null_type' && isNullable(to);
  if (from.typeName !== to.typeName) return false;
  if (from.of !== undefined && to.of !== undefined && !isAssignable(from.of, to.of)) return false;
  return from.key === undefined || to.key === undefined || isAssignable(from.key, to.key);
}

const nullable: ReadonlySet<TypeName> = new Set([
  'object',
  'timestamp',
  'duration',
  'optional_type',
  'url',
  'ip',
  'cidr',
  'quantity',
]);
const isNullable = ({ name }: CelType): boolean => nullable.has(name);

/** The type that includes both. */
export function joined(left: CelType, right: CelType): CelType {
  if (left === right) return left;
  if (left.name === 'null_type' && isNullable(right)) return right;
  if (right.name === 'null_type' && isNullable(left)) return left;
  const max = Math.max(left.max ?? 1, right.max ?? 1);
  if (left.name !== right.name || left.typeName !== right.typeName) return { name: 'dyn', max };
  // An empty list or map has the type of the other one.
  const of = left.of && right.of ? joined(left.of, right.of) : (left.of ?? right.of);
  const key = left.key && right.key ? joined(left.key, right.key) : (left.key ?? right.key);
  return { ...left, ...(left.max === undefined ? {} : { max }), ...(of && { of }), ...(key && { key }) };
}

/** A type as messages print it: `list(string)`. */
export function printType(type: CelType): string {
  if (type.name === 'list') return `list(${printType(type.of ?? dyn)})`;
  if (type.name === 'map') return `map(${printType(type.key ?? dyn)}, ${printType(type.of ?? dyn)})`;
  if (type.name === 'optional_type') return `optional_type(${printType(type.of ?? dyn)})`;
  if (type.name === 'timestamp' || type.name === 'duration')
    return `google.protobuf.${type.name === 'timestamp' ? 'Timestamp' : 'Duration'}`;
  return type.typeName ?? type.name;
}
