import type { FieldError } from '../../../field-errors.ts';
import { duplicate, invalidValue, required, tooMany } from '../../../field-errors.ts';
import { findField, printSteps } from '../../../structural/field-path.ts';
import type { JsonSchema } from '../../../structural/json-schema.ts';
import type { CrdColumn, CrdVersion } from './schema.ts';

type Subresources = NonNullable<CrdVersion['subresources']>;

const startsWithDot = 'must be a simple json path starting with .';

/** The errors of the subresources of a version. */
export function subresourceErrors({ scale }: Subresources, path: string): FieldError[] {
  if (scale === undefined) return [];
  const { specReplicasPath, statusReplicasPath, labelSelectorPath = '' } = scale;
  return [
    ...replicasPathErrors(`${path}.scale.specReplicasPath`, specReplicasPath, '.spec'),
    ...replicasPathErrors(`${path}.scale.statusReplicasPath`, statusReplicasPath, '.status'),
    ...(labelSelectorPath === '' ? [] : selectorPathErrors(`${path}.scale.labelSelectorPath`, labelSelectorPath)),
  ];
}

function replicasPathErrors(path: string, value: string, root: string): FieldError[] {
  if (value === '') return [required(path)];
  if (!value.startsWith('.')) return [invalidValue(path, value, startsWithDot)];
  return value.startsWith(`${root}.`) ? [] : [invalidValue(path, value, `should be a json path under ${root}`)];
}

function selectorPathErrors(path: string, value: string): FieldError[] {
  if (!value.startsWith('.')) return [invalidValue(path, value, startsWithDot)];
  if (value.startsWith('.spec.') || value.startsWith('.status.')) return [];
  return [invalidValue(path, value, 'should be a json path under either .spec or .status')];
}

const columnTypes = ['boolean', 'date', 'integer', 'number', 'string'];
const columnFormats = ['byte', 'date', 'date-time', 'double', 'float', 'int32', 'int64', 'password'];

/** The errors of a column of tables. */
export function columnErrors({ name, type, format = '', jsonPath }: CrdColumn, path: string): FieldError[] {
  const errors: FieldError[] = [];
  const expected = `must be one of ${columnTypes.join(',')}`;
  if (name === '') errors.push(required(`${path}.name`));
  if (type === '') errors.push(required(`${path}.type`, expected));
  else if (!columnTypes.includes(type)) errors.push(invalidValue(`${path}.type`, type, expected));
  if (format !== '' && !columnFormats.includes(format)) {
    errors.push(invalidValue(`${path}.format`, format, `must be one of ${columnFormats.join(',')}`));
  }
  if (jsonPath === '') errors.push(required(`${path}.JSONPath`));
  else if (!jsonPath.startsWith('.')) errors.push(invalidValue(`${path}.JSONPath`, jsonPath, startsWithDot));
  return errors;
}

const maxSelectableFields = 8;
const selectableTypes = ['string', 'boolean', 'integer'];

/** The errors of the fields that field selectors can use. */
export function selectableFieldErrors(
  fields: NonNullable<CrdVersion['selectableFields']>,
  schema: JsonSchema | undefined,
  path: string,
): FieldError[] {
  if (schema === undefined) return [invalidValue(path, '', 'may only be set when validations.schema is included')];
  const seen = new Set<string>();
  const errors = fields.flatMap(({ jsonPath }, index): FieldError[] => {
    const at = `${path}[${index}].jsonPath`;
    if (jsonPath === '') return [required(at)];
    const found = findField(jsonPath, schema, false);
    if ('problem' in found) return [invalidValue(at, jsonPath, `is an invalid path: ${found.problem}`)];
    const key = printSteps('', found.steps);
    const isRepeated = seen.has(key);
    seen.add(key);
    return [
      ...(found.steps[0]?.name === 'metadata'
        ? [invalidValue(at, jsonPath, 'must not point to fields in metadata')]
        : []),
      ...(selectableTypes.includes(found.schema.type ?? '')
        ? []
        : [
            invalidValue(
              at,
              jsonPath,
              'must point to a field of type string, boolean or integer. Enum string fields and strings with formats are allowed.',
            ),
          ]),
      ...(isRepeated ? [duplicate(at, jsonPath)] : []),
    ];
  });
  return seen.size > maxSelectableFields ? [...errors, tooMany(path, seen.size, maxSelectableFields)] : errors;
}

/** The errors of the warning of a deprecated version. */
export function deprecationErrors({ deprecated = false, deprecationWarning }: CrdVersion, path: string): FieldError[] {
  if (deprecationWarning === undefined) return [];
  const at = `${path}.deprecationWarning`;
  const invalid = (why: string): FieldError => invalidValue(at, deprecationWarning, why);
  if (!deprecated) return [invalid('can only be set for deprecated versions')];
  const errors: FieldError[] = [];
  if (Buffer.byteLength(deprecationWarning) > 256) errors.push(invalid('must be <= 256 characters long'));
  if (deprecationWarning === '') errors.push(invalid('must not be an empty string'));
  const index = deprecationWarning.search(/[\p{C}\p{Zl}\p{Zp}]|[^\P{Zs} ]/u);
  if (index >= 0) {
    const at = Buffer.byteLength(deprecationWarning.slice(0, index));
    errors.push(invalid(`must only contain printable UTF-8 characters; non-printable character found at index ${at}`));
  }
  return errors;
}
