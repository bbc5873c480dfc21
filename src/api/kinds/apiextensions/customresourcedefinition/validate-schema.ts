import type { FieldError } from '../../../field-errors.ts';
import { forbiddenField, invalidValue } from '../../../field-errors.ts';
import { celErrors } from '../../../structural/cel-errors.ts';
import { defaultErrors } from '../../../structural/default-errors.ts';
import type { JsonSchema } from '../../../structural/json-schema.ts';
import { openApiErrors } from '../../../structural/openapi-errors.ts';
import { structuralErrors } from '../../../structural/structural-errors.ts';

/** What a schema may declare at its root if there is a status subresource, by the names that Kubernetes prints. */
const allowedAtRoot: Readonly<Record<string, string>> = {
  description: 'Description',
  type: 'Type',
  format: 'Format',
  title: 'Title',
  maximum: 'Maximum',
  exclusiveMaximum: 'ExclusiveMaximum',
  minimum: 'Minimum',
  exclusiveMinimum: 'ExclusiveMinimum',
  maxLength: 'MaxLength',
  minLength: 'MinLength',
  pattern: 'Pattern',
  maxItems: 'MaxItems',
  minItems: 'MinItems',
  uniqueItems: 'UniqueItems',
  multipleOf: 'MultipleOf',
  required: 'Required',
  items: 'Items',
  properties: 'Properties',
  externalDocs: 'ExternalDocs',
  example: 'Example',
  'x-kubernetes-preserve-unknown-fields': 'XPreserveUnknownFields',
  'x-kubernetes-validations': 'XValidations',
};

/** The errors of the schema of a version. */
export function schemaFieldErrors(schema: JsonSchema, path: string, hasStatus: boolean): FieldError[] {
  const errors: FieldError[] = hasStatus ? rootErrors(schema, path) : [];
  if (schema.nullable === true) {
    errors.push(forbiddenField(`${path}.nullable`, 'nullable cannot be true at the root'));
  }
  const structural = structuralErrors(schema, path);
  errors.push(...(structural.length > 0 ? structural : defaultErrors(schema, path)));
  errors.push(...openApiErrors(schema, path));
  // Rules are compiled only for a schema that is otherwise valid, since their errors would mislead.
  return errors.length > 0 ? errors : celErrors(schema, path);
}

/** The schema of the status must validate it without the rest of the object. */
function rootErrors(schema: JsonSchema, path: string): FieldError[] {
  if (schema.type !== undefined && schema.type !== 'object') {
    const why = 'only "object" is allowed as the type at the root of the schema if the status subresource is enabled';
    return [invalidValue(`${path}.type`, schema.type, why)];
  }
  if (Object.keys(schema).every((key) => Object.hasOwn(allowedAtRoot, key))) return [];
  const allowed = Object.values(allowedAtRoot).join(' ');
  const why = `only [${allowed}] fields are allowed at the root of the schema if the status subresource is enabled`;
  return [invalidValue(path, schema, why)];
}
