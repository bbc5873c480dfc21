import type { FieldError } from '../field-errors.ts';
import { invalidValue } from '../field-errors.ts';
import { ruleErrors } from './cel-rules.ts';
import { embeddedErrors } from './embedded.ts';
import type { JsonSchema } from './json-schema.ts';
import { itemsOf } from './json-schema.ts';
import { prune } from './prune.ts';
import { schemaErrors } from './validate.ts';

/** The errors of the defaults in a structural schema: they must be valid and have no undeclared fields. */
export function defaultErrors(schema: JsonSchema, path: string): FieldError[] {
  const items = itemsOf(schema);
  return [
    ...(schema.default === undefined ? [] : ownErrors(schema, `${path}.default`)),
    ...(items === undefined ? [] : defaultErrors(items, `${path}.items`)),
    ...Object.entries(schema.properties ?? {}).flatMap(([name, property]) =>
      defaultErrors(property, `${path}.properties[${name}]`),
    ),
  ];
}

function ownErrors(schema: JsonSchema, path: string): FieldError[] {
  let isPruned = true;
  prune(schema.default, schema, () => (isPruned = false));
  const unknown = isPruned ? [] : [invalidValue(path, schema.default, 'must not have unknown fields')];
  const embedded = embeddedErrors(schema.default, schema, path);
  const invalid = embedded.length > 0 ? embedded : below(path, schemaErrors(schema.default, schema));
  const errors = [...unknown, ...invalid];
  return errors.length > 0 ? errors : ruleErrors(schema.default, schema, { path, isResource: false });
}

/** Errors inside a default, whose messages name only the path inside it. */
const below = (path: string, errors: readonly FieldError[]): readonly FieldError[] =>
  errors.map((error) => ({ ...error, path: error.path === '<nil>' ? path : `${path}.${error.path}` }));
