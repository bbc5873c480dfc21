// The rules of structural schemas, with Kubernetes' errors.

import type { FieldError } from '../field-errors.ts';
import { forbiddenField, invalidValue, required } from '../field-errors.ts';
import { equalJson } from '../schema/equal-json.ts';
import type { JsonSchema } from './json-schema.ts';
import { itemsOf, propertyOf, valuesOf } from './json-schema.ts';
import { PatternError, patternOf } from './linear-pattern.ts';

type Level = 'root' | 'item' | 'field';

/** Why a schema is not structural; empty if it is. */
export function structuralErrors(schema: JsonSchema, path: string): FieldError[] {
  const errors = [...invariantErrors(schema, 'root', path), ...incompleteErrors(schema, path)];
  return errors.sort((left, right) => (textOf(left) < textOf(right) ? -1 : 1));
}

const textOf = ({ path, body }: FieldError): string => `${path}: ${body}`;

const emptyType: Readonly<Record<Level, string>> = {
  root: 'must not be empty at the root',
  item: 'must not be empty for specified array items',
  field: 'must not be empty for specified object fields',
};

function invariantErrors(schema: JsonSchema, level: Level, path: string): FieldError[] {
  const items = itemsOf(schema);
  const values = valuesOf(schema);
  return [
    ...(schema.type === 'array' && items === undefined ? [required(`${path}.items`, 'must be specified')] : []),
    ...(items === undefined ? [] : invariantErrors(items, 'item', `${path}.items`)),
    ...Object.entries(schema.properties ?? {}).flatMap(([name, property]) =>
      invariantErrors(property, 'field', `${path}.properties[${name}]`),
    ),
    ...(schema.additionalProperties !== undefined && level === 'root'
      ? [forbiddenField(`${path}.additionalProperties`, 'must not be used at the root')]
      : []),
    ...(values === undefined ? [] : invariantErrors(values, 'field', `${path}.additionalProperties`)),
    ...extensionErrors(schema, path),
    ...junctorErrors(schema, path),
    ...typeErrors(schema, level, path),
    ...metadataErrors(schema, level, path),
  ];
}

function extensionErrors(schema: JsonSchema, path: string): FieldError[] {
  if (schema['x-kubernetes-int-or-string'] !== true) return [];
  return (['x-kubernetes-preserve-unknown-fields', 'x-kubernetes-embedded-resource'] as const).flatMap((name) =>
    schema[name] === true
      ? [invalidValue(`${path}.${name}`, true, 'must be false if x-kubernetes-int-or-string is true')]
      : [],
  );
}

function typeErrors(schema: JsonSchema, level: Level, path: string): FieldError[] {
  const { type = '' } = schema;
  const errors: FieldError[] = [];
  if (schema['x-kubernetes-embedded-resource'] === true && type !== 'object') {
    const detail = 'must be object if x-kubernetes-embedded-resource is true';
    errors.push(type === '' ? required(`${path}.type`, detail) : invalidValue(`${path}.type`, type, detail));
  } else if (
    type === '' &&
    schema['x-kubernetes-int-or-string'] !== true &&
    schema['x-kubernetes-preserve-unknown-fields'] !== true
  ) {
    errors.push(required(`${path}.type`, emptyType[level]));
  }
  if (schema['x-kubernetes-embedded-resource'] === true && schema.additionalProperties !== undefined) {
    errors.push(
      forbiddenField(`${path}.additionalProperties`, 'must not be used if x-kubernetes-embedded-resource is set'),
    );
  }
  if (level === 'root' && type !== '' && type !== 'object') {
    errors.push(invalidValue(`${path}.type`, type, 'must be object at the root'));
  }
  return errors;
}

function metadataErrors(schema: JsonSchema, level: Level, path: string): FieldError[] {
  const isEmbedded = schema['x-kubernetes-embedded-resource'] === true;
  const isResource = level === 'root' || isEmbedded;
  const errors: FieldError[] = [];
  for (const name of isResource ? ['kind', 'apiVersion'] : []) {
    const property = propertyOf(schema, name);
    if (property !== undefined && property.type !== 'string') {
      errors.push(invalidValue(`${path}.properties[${name}].type`, property.type ?? '', 'must be string'));
    }
  }
  const metadata = propertyOf(schema, 'metadata');
  const at = `${path}.properties[metadata]`;
  if (metadata !== undefined && isResource && metadata.type !== 'object') {
    errors.push(invalidValue(`${at}.type`, metadata.type ?? '', 'must be object'));
  }
  if (metadata !== undefined && level === 'root' && !restrictsNamesOnly(metadata)) {
    const why = 'must not specify anything other than name and generateName, but metadata is implicitly specified';
    errors.push(forbiddenField(at, why));
  }
  if (isEmbedded && schema['x-kubernetes-preserve-unknown-fields'] !== true && schema.properties === undefined) {
    const why =
      'must not be empty if x-kubernetes-embedded-resource is true without x-kubernetes-preserve-unknown-fields';
    errors.push(required(`${path}.properties`, why));
  }
  return errors;
}

function restrictsNamesOnly({ type: _type, default: _default, properties = {}, ...rest }: JsonSchema): boolean {
  return (
    Object.keys(rest).length === 0 &&
    Object.keys(properties).every((name) => name === 'name' || name === 'generateName')
  );
}

const integerOrString = [{ type: 'integer' }, { type: 'string' }];
/** Whether `anyOf` is the one that clients without `x-kubernetes-int-or-string` understand. */
const isIntegerOrString = (anyOf: readonly JsonSchema[] | undefined): boolean => equalJson(anyOf, integerOrString);

/** Errors in `allOf`, `anyOf`, `oneOf`, `not` and `pattern`; `skipsAnyOf`: `anyOf` repeats that the value is an int-or-string. */
function junctorErrors(schema: JsonSchema, path: string, skipsAnyOf = isIntegerOrString(schema.anyOf)): FieldError[] {
  const { anyOf = [], allOf = [], oneOf = [], not, pattern } = schema;
  const nested = (inner: JsonSchema, at: string, skips = false): FieldError[] =>
    nestedErrors(inner, `${path}.${at}`, skips);
  return [
    ...(skipsAnyOf ? [] : anyOf.flatMap((inner, index) => nested(inner, `anyOf[${index}]`))),
    ...allOf.flatMap((inner, index) => nested(inner, `allOf[${index}]`, index === 0 && isIntegerOrString(inner.anyOf))),
    ...oneOf.flatMap((inner, index) => nested(inner, `oneOf[${index}]`)),
    ...(not === undefined ? [] : nested(not, 'not')),
    ...(pattern === undefined ? [] : patternErrors(schema, `${path}.pattern`)),
  ];
}

function patternErrors(schema: JsonSchema, path: string): FieldError[] {
  try {
    patternOf(schema);
    return [];
  } catch (error) {
    if (!(error instanceof PatternError)) throw error;
    return [invalidValue(path, schema.pattern, `must be a valid regular expression, but isn't: ${error.message}`)];
  }
}

/** Keys that only the structural part of a schema may have. */
const forbidden: readonly (readonly [keyof JsonSchema, string])[] = [
  ['type', 'must be empty to be structural'],
  ['additionalProperties', 'must be undefined to be structural'],
  ['default', 'must be undefined to be structural'],
  ['title', 'must be empty to be structural'],
  ['description', 'must be empty to be structural'],
  ['nullable', 'must be false to be structural'],
  ['x-kubernetes-preserve-unknown-fields', 'must be false to be structural'],
  ['x-kubernetes-embedded-resource', 'must be false to be structural'],
  ['x-kubernetes-int-or-string', 'must be false to be structural'],
  ['x-kubernetes-list-map-keys', 'must be empty to be structural'],
  ['x-kubernetes-list-type', 'must be undefined to be structural'],
  ['x-kubernetes-map-type', 'must be undefined to be structural'],
  ['x-kubernetes-validations', 'must be empty to be structural'],
];

/** Errors of a schema inside a junctor, which may only validate values. */
function nestedErrors(schema: JsonSchema, path: string, skipsAnyOf: boolean): FieldError[] {
  const items = itemsOf(schema);
  return [
    ...junctorErrors(schema, path, skipsAnyOf),
    ...(items === undefined ? [] : nestedErrors(items, `${path}.items`, false)),
    ...Object.entries(schema.properties ?? {}).flatMap(([name, property]) =>
      nestedErrors(property, `${path}.properties[${name}]`, false),
    ),
    ...forbidden.flatMap(([key, why]) => (schema[key] === undefined ? [] : [forbiddenField(`${path}.${key}`, why)])),
    ...(propertyOf(schema, 'metadata') === undefined
      ? []
      : [forbiddenField(`${path}.properties[metadata]`, 'must not be specified in a nested context')]),
  ];
}

/** Errors about fields that junctors at the root validate, and that the structural part does not declare. */
const incompleteErrors = (schema: JsonSchema, path: string): FieldError[] =>
  junctorsOf(schema).flatMap(([inner, at]) => undeclaredErrors(inner, schema, `${path}.${at}`, path));

const junctorsOf = ({
  anyOf = [],
  allOf = [],
  oneOf = [],
  not,
}: JsonSchema): readonly (readonly [JsonSchema, string])[] => [
  ...anyOf.map((inner, index) => [inner, `anyOf[${index}]`] as const),
  ...allOf.map((inner, index) => [inner, `allOf[${index}]`] as const),
  ...oneOf.map((inner, index) => [inner, `oneOf[${index}]`] as const),
  ...(not === undefined ? [] : [[not, 'not'] as const]),
];

function undeclaredErrors(
  nested: JsonSchema,
  structural: JsonSchema | undefined,
  nestedPath: string,
  structuralPath: string,
): FieldError[] {
  if (structural === undefined) {
    return [required(structuralPath, `because it is defined in ${nestedPath}`)];
  }
  const items = itemsOf(nested);
  return [
    ...junctorsOf(nested).flatMap(([inner, at]) =>
      undeclaredErrors(inner, structural, `${nestedPath}.${at}`, structuralPath),
    ),
    ...(items === undefined
      ? []
      : undeclaredErrors(items, itemsOf(structural), `${nestedPath}.items`, `${structuralPath}.items`)),
    ...Object.entries(nested.properties ?? {}).flatMap(([name, property]) =>
      undeclaredErrors(
        property,
        propertyOf(structural, name),
        `${nestedPath}.properties[${name}]`,
        `${structuralPath}.properties[${name}]`,
      ),
    ),
  ];
}
