import type { FieldError } from '../field-errors.ts';
import { invalidValue, required } from '../field-errors.ts';
import type { ObjectMeta } from '../metadata.ts';
import { objectMeta } from '../metadata.ts';
import { dns1035LabelErrors, pathSegmentErrors } from '../names.ts';
import { decode } from '../schema/decode.ts';
import type { JsonObject } from '../schema/json-object.ts';
import { isJsonObject } from '../schema/json-object.ts';
import { DecodeError } from '../schema/problems.ts';
import { validateMetadataCreate } from '../validate-metadata.ts';
import type { JsonSchema } from './json-schema.ts';
import { anyPart, itemsOf, propertyOf, valuesOf } from './json-schema.ts';

const hasEmbedded = anyPart((schema) => schema['x-kubernetes-embedded-resource'] === true);

/** The errors of the type and metadata of embedded resources. */
export function embeddedErrors(value: unknown, schema: JsonSchema | undefined, path = ''): FieldError[] {
  if (schema === undefined || !hasEmbedded(schema)) return [];
  if (Array.isArray(value)) {
    const items = itemsOf(schema);
    return value.flatMap((item, index) => embeddedErrors(item, items, `${path}[${index}]`));
  }
  if (!isJsonObject(value)) return [];
  const own = schema['x-kubernetes-embedded-resource'] === true ? resourceErrors(value, path) : [];
  const below = Object.keys(value).flatMap((name) => {
    const property = propertyOf(schema, name);
    const at = property === undefined ? `${path}[${name}]` : path === '' ? name : `${path}.${name}`;
    return embeddedErrors(value[name], property ?? valuesOf(schema), at);
  });
  return [...own, ...below];
}

function resourceErrors(resource: JsonObject, path: string): FieldError[] {
  return [
    ...typeErrors(resource, `${path}.apiVersion`, 'apiVersion', (version) =>
      version.split('/').length > 2 ? [`unexpected GroupVersion string: ${version}`] : [],
    ),
    ...typeErrors(resource, `${path}.kind`, 'kind', (kind) => {
      const errors = dns1035LabelErrors(kind.toLowerCase());
      return errors.length === 0 ? [] : [`may have mixed case, but should otherwise match: ${errors.join(',')}`];
    }),
    ...(Object.hasOwn(resource, 'metadata') ? metadataErrors(resource['metadata'], `${path}.metadata`) : []),
  ];
}

function typeErrors(
  resource: JsonObject,
  path: string,
  field: 'apiVersion' | 'kind',
  problems: (text: string) => readonly string[],
): FieldError[] {
  if (!Object.hasOwn(resource, field)) return [required(path)];
  const value = resource[field];
  if (typeof value !== 'string') return [invalidValue(path, value, 'must be a string')];
  if (value === '') return [invalidValue(path, value, 'must not be empty')];
  return problems(value).map((problem) => invalidValue(path, value, problem));
}

function metadataErrors(value: unknown, path: string): FieldError[] {
  try {
    const { object } = decode<ObjectMeta>(objectMeta, value);
    const { name = '', namespace = '' } = object;
    const errors = validateMetadataCreate(
      { ...object, name: name === '' ? 'fakename' : name },
      { namespaced: namespace !== '', nameErrors: pathSegmentErrors },
    );
    return errors.map((error) => ({ ...error, path: error.path.replace(/^metadata/, path) }));
  } catch (error) {
    if (error instanceof DecodeError) return [invalidValue(path, value, error.message)];
    throw error;
  }
}
