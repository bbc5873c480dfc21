import type { Schema, StructSchema } from './schema.ts';

/** A value that does not match its schema, without its path. The decoder replaces it with a `DecodeError`. */
export class Mismatch extends Error {
  /** Whether the message is complete without a path, as Go's errors about times and quantities are. */
  readonly complete: boolean;

  /** `text` is a complete message or `<JSON type found>|<Go type expected>`, see `wrongType`. */
  constructor(text: string, complete: boolean) {
    super(text);
    this.complete = complete;
  }
}

/** The name of a value's JSON type in errors of Go's encoding/json. */
export function goTypeName(value: unknown): string {
  if (Array.isArray(value)) return 'array';
  if (typeof value === 'boolean') return 'bool';
  return typeof value;
}

/** A value of the wrong JSON type. */
export const wrongType = (value: unknown, goType: string): Mismatch =>
  new Mismatch(`${goTypeName(value)}|${goType}`, false);

/** A number out of range for its Go type. */
export const wrongNumber = (value: number, goType: string): Mismatch =>
  new Mismatch(`number ${value}|${goType}`, false);

/** A scalar that the parser of its type rejects. */
export const rejected = (text: string): Mismatch => new Mismatch(text, true);

const goScalars = {
  string: 'string',
  boolean: 'bool',
  int32: 'int32',
  int64: 'int64',
  double: 'float64',
  bytes: '[]uint8',
  time: 'v1.Time',
  microTime: 'v1.MicroTime',
  quantity: 'resource.Quantity',
  intOrString: 'intstr.IntOrString',
  json: 'interface {}',
} as const;

/** The type as Go's errors print it: `v1.ServiceSpec`, `[]string`, `map[string]string`. */
export function goTypeOf(schema: Schema): string {
  if (schema.type === 'struct') return schema.name.split('.').slice(-2).join('.');
  if (schema.type === 'list') return `[]${goTypeOf(schema.items)}`;
  if (schema.type === 'map') return `map[string]${goTypeOf(schema.values)}`;
  if (schema.type === 'opaque') return schema.goType;
  return goScalars[schema.type];
}

/** The struct's bare name: `ServicePort`. */
export const structNameOf = ({ name }: StructSchema): string => name.slice(name.lastIndexOf('.') + 1);
