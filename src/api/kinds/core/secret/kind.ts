import { countedAs } from '../../../quota.ts';
import { ageColumn, column, nameColumn } from '../../../columns.ts';
import type { FieldError } from '../../../field-errors.ts';
import { invalidValue, tooLong } from '../../../field-errors.ts';
import { defineKind } from '../../../kind.ts';
import { decodedBytes, immutabilityErrors, keyErrors, maxDataBytes } from '../configmap/data.ts';
import type { Secret } from './schema.ts';
import { secret } from './schema.ts';
import { typeErrors } from './secret-types.ts';

export const secretKind = defineKind<Secret>({
  group: '',
  version: 'v1',
  kind: 'Secret',
  plural: 'secrets',
  namespaced: true,
  schema: secret,
  sensitive: true,
  quota: countedAs('count/secrets', 'secrets'),
  columns: [
    nameColumn,
    column('Type', 'The type of the Secret.', ({ type }) => type ?? ''),
    column('Data', 'Number of keys.', ({ data }) => Object.keys(data ?? {}).length),
    ageColumn,
  ],
  selectableFields: { type: ({ type }) => type ?? '' },
  applyDefaults: (object) => ({ ...withStringData(object), type: object.type ?? 'Opaque' }),
  validateCreate: dataErrors,
  validateUpdate: (object, old) => [
    ...(object.type === old.type ? [] : [invalidValue('type', object.type, 'field is immutable')]),
    ...immutabilityErrors(object, old, { data: ({ data }) => data }),
    ...dataErrors(object),
  ],
});

/** Moves stringData into data; it replaces existing keys. */
function withStringData(object: Secret): Secret {
  const { stringData, ...rest } = object;
  if (stringData === undefined) return object;
  const encoded = Object.entries(stringData).map(([key, text]) => [key, Buffer.from(text).toString('base64')] as const);
  return { ...rest, data: { ...rest.data, ...Object.fromEntries(encoded) } };
}

function dataErrors(object: Secret): readonly FieldError[] {
  const { data = {} } = object;
  return [
    ...keyErrors('data', data),
    ...(decodedBytes(data) > maxDataBytes ? [tooLong('data', maxDataBytes)] : []),
    ...typeErrors(object),
  ];
}
