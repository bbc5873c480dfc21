import type { FieldError, FieldReason } from '../../../field-errors.ts';
import { invalidValue } from '../../../field-errors.ts';
import type { Kind } from '../../../kind.ts';
import type { ApiObject } from '../../../metadata.ts';
import { isJsonObject } from '../../../schema/json-object.ts';
import { hasRules, ruleErrors } from '../../../structural/cel-rules.ts';
import type { Correlated } from '../../../structural/correlate.ts';
import { embeddedErrors } from '../../../structural/embedded.ts';
import type { JsonSchema } from '../../../structural/json-schema.ts';
import { propertyOf } from '../../../structural/json-schema.ts';
import { listTypeErrors } from '../../../structural/list-types.ts';
import { schemaErrors } from '../../../structural/validate.ts';
import type { CrdScale } from './schema.ts';

type Validation = Pick<Kind, 'validateCreate' | 'validateUpdate' | 'validateStatus'>;

/** The validation of objects by a structural schema. */
export function instanceValidation(schema: JsonSchema, scale: CrdScale | undefined): Validation {
  return {
    validateCreate: (object) =>
      withRuleErrors(object, undefined, schema, [
        ...schemaErrors(object, schema),
        ...scaleErrors(object, scale),
        ...embeddedErrors(object, schema),
        ...listTypeErrors(object, schema),
      ]),
    validateUpdate: (object, old) =>
      withRuleErrors(object, { value: old }, schema, [
        ...schemaErrors(object, schema, { old: { value: old } }),
        ...scaleErrors(object, scale),
        ...embeddedErrors(object, schema),
        ...updatedListErrors(object, old, schema),
      ]),
    validateStatus: (object, old) =>
      withRuleErrors(object, { value: old }, schema, statusErrors(object, old, schema, scale)),
  };
}

/** Errors after which CEL rules are not evaluated, since they expect the declared types and sizes. */
const blocking: ReadonlySet<FieldReason> = new Set<FieldReason>([
  'FieldValueNotSupported',
  'FieldValueRequired',
  'FieldValueTooLong',
  'FieldValueTooMany',
  'FieldValueTypeInvalid',
]);

const notChecked =
  'some validation rules were not checked because the object was invalid; correct the existing errors to complete validation';

/** The errors with those of CEL rules. */
function withRuleErrors(
  object: ApiObject,
  old: Correlated | undefined,
  schema: JsonSchema,
  errors: readonly FieldError[],
): readonly FieldError[] {
  if (!hasRules(schema)) return errors;
  const { name = '', generateName = '' } = object.metadata;
  const isNameless = name === '' && generateName === ''; // an error of the metadata
  if (isNameless || errors.some(({ reason }) => blocking.has(reason)))
    return [...errors, invalidValue('<nil>', null, notChecked)];
  return [...errors, ...ruleErrors(object, schema, { old })];
}

/** Lists that were not unique before may stay so. */
const updatedListErrors = (object: unknown, old: unknown, schema: JsonSchema): FieldError[] =>
  listTypeErrors(old, schema).length > 0 ? [] : listTypeErrors(object, schema);

function statusErrors(
  object: ApiObject,
  old: ApiObject,
  schema: JsonSchema,
  scale: CrdScale | undefined,
): readonly FieldError[] {
  const status: unknown = Reflect.get(object, 'status');
  const declared = propertyOf(schema, 'status');
  const own =
    status === undefined || declared === undefined
      ? []
      : schemaErrors(status, declared, { path: 'status', old: { value: Reflect.get(old, 'status') } });
  return [
    ...own,
    ...(scale === undefined ? [] : replicasErrors(object, scale.statusReplicasPath)),
    ...updatedListErrors(object, old, schema),
  ];
}

const scaleErrors = (object: ApiObject, scale: CrdScale | undefined): FieldError[] =>
  scale === undefined
    ? []
    : [...replicasErrors(object, scale.specReplicasPath), ...replicasErrors(object, scale.statusReplicasPath)];

const maxInt32 = 2 ** 31 - 1;

function replicasErrors(object: ApiObject, path: string): FieldError[] {
  const wrongType = (found: unknown, expected: string): FieldError[] => {
    const why = `${path} accessor error: ${textOf(found)} is of the type ${goTypeOf(found)}, expected ${expected}`;
    return [invalidValue(path, 0, why)];
  };
  let value: unknown = object;
  for (const name of path.replace(/^\./, '').split('.')) {
    if (value === undefined) return [];
    if (!isJsonObject(value)) return wrongType(value, 'map[string]interface{}');
    value = value[name];
  }
  if (value === undefined) return [];
  if (typeof value !== 'number' || !Number.isInteger(value)) return wrongType(value, 'int64');
  if (value < 0) return [invalidValue(path, value, 'should be a non-negative integer')];
  return value > maxInt32 ? [invalidValue(path, value, `should be less than or equal to ${maxInt32}`)] : [];
}

const textOf = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value));

/** Go's type of a decoded JSON value. */
function goTypeOf(value: unknown): string {
  if (Array.isArray(value)) return '[]interface {}';
  if (value === null) return '<nil>';
  if (typeof value === 'object') return 'map[string]interface {}';
  if (typeof value === 'boolean') return 'bool';
  if (typeof value === 'number') return Number.isInteger(value) ? 'int64' : 'float64';
  return 'string';
}
