import type { Schema, StructSchema } from './schema.ts';

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

/** The type as Go prints it in errors: `v1.ServiceSpec`, `[]string`, `map[string]string`. */
export function goTypeOf(schema: Schema): string {
  if (schema.type === 'struct') return schema.name.split('.').slice(-2).join('.');
  if (schema.type === 'list') return `[]${goTypeOf(schema.items)}`;
  if (schema.type === 'map') return `map[string]${goTypeOf(schema.values)}`;
  return goScalars[schema.type];
}

/** The struct's bare name: `ServicePort`. */
export const structNameOf = ({ name }: StructSchema): string => name.slice(name.lastIndexOf('.') + 1);
