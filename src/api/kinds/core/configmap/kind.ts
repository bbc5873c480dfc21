import { countedAs } from '../../../quota.ts';
import { ageColumn, column, nameColumn } from '../../../columns.ts';
import type { FieldError } from '../../../field-errors.ts';
import { invalidValue, tooLong } from '../../../field-errors.ts';
import { defineKind } from '../../../kind.ts';
import { decodedBytes, immutabilityErrors, keyErrors, maxDataBytes, textBytes } from './data.ts';
import type { ConfigMap } from './schema.ts';
import { configMap } from './schema.ts';

const count = ({ data = {}, binaryData = {} }: ConfigMap): number =>
  Object.keys(data).length + Object.keys(binaryData).length;

export const configMapKind = defineKind<ConfigMap>({
  group: '',
  version: 'v1',
  kind: 'ConfigMap',
  plural: 'configmaps',
  shortNames: ['cm'],
  namespaced: true,
  schema: configMap,
  quota: countedAs('count/configmaps', 'configmaps'),
  columns: [nameColumn, column('Data', 'Number of keys.', count), ageColumn],
  validateCreate: dataErrors,
  validateUpdate: (object, old) => [
    ...immutabilityErrors(object, old, { data: ({ data }) => data, binaryData: ({ binaryData }) => binaryData }),
    ...dataErrors(object),
  ],
});

function dataErrors({ data = {}, binaryData = {} }: ConfigMap): readonly FieldError[] {
  const twice = Object.keys(data).filter((key) => Object.hasOwn(binaryData, key));
  const isTooLong = textBytes(data) + decodedBytes(binaryData) > maxDataBytes;
  return [
    ...keyErrors('data', data),
    ...twice.map((key) => invalidValue(`data[${key}]`, key, 'duplicate of key present in binaryData')),
    ...keyErrors('binaryData', binaryData),
    ...(isTooLong ? [tooLong('[]', maxDataBytes)] : []), // Kubernetes prints the path of the whole object as `[]`
  ];
}
