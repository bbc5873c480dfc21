import { isDeepStrictEqual } from 'node:util';

import { ageColumn, column, nameColumn } from '../../../columns.ts';
import type { FieldError } from '../../../field-errors.ts';
import {
  duplicate,
  forbiddenField,
  invalidAll,
  invalidValue,
  notSupported,
  required,
  tooLong,
} from '../../../field-errors.ts';
import { defineKind } from '../../../kind.ts';
import { objectSchema } from '../../../metadata.ts';
import { qualifiedNameErrors } from '../../../names.ts';
import type { Infer } from '../../../schema/infer.ts';
import { always, atomic, boolean, list, map, optional, pointer, string, struct } from '../../../schema/schema.ts';
import { nodeLabelWarnings } from '../../core/node/deprecated-labels.ts';

const core = 'io.k8s.api.core.v1';

const topologySelectorLabelRequirement = struct(
  `${core}.TopologySelectorLabelRequirement`,
  'A label and its allowed values.',
  {
    key: always(1, string, 'The label of nodes.', { required: true }),
    values: always(2, list(string), 'The allowed values.', { required: true }),
  },
);

const topologySelectorTerm = atomic(
  struct(`${core}.TopologySelectorTerm`, 'Requirements on labels that must all hold.', {
    matchLabelExpressions: optional(1, list(topologySelectorLabelRequirement), 'The requirements.'),
  }),
);

const storageClass = objectSchema('io.k8s.api.storage.v1.StorageClass', 'A kind of storage that claims may request.', {
  provisioner: always(2, string, 'The driver that creates volumes. Cannot be changed.', { required: true }),
  parameters: optional(3, map(string), 'Settings of the driver. Cannot be changed.'),
  reclaimPolicy: pointer(4, string, 'What happens to a released volume: Delete or Retain. Cannot be changed.'),
  mountOptions: optional(5, list(string), 'Options with which volumes are mounted.'),
  allowVolumeExpansion: pointer(6, boolean, 'Whether claims can be enlarged.'),
  volumeBindingMode: pointer(
    7,
    string,
    'When volumes are created: Immediate or WaitForFirstConsumer. Cannot be changed.',
  ),
  allowedTopologies: optional(8, list(topologySelectorTerm), 'The nodes on which volumes may be created.'),
});

export type StorageClass = Infer<typeof storageClass>;

const isDefault = ({ metadata: { annotations = {} } }: StorageClass): boolean =>
  annotations['storageclass.kubernetes.io/is-default-class'] === 'true' ||
  annotations['storageclass.beta.kubernetes.io/is-default-class'] === 'true';

export const storageClassKind = defineKind<StorageClass>({
  group: 'storage.k8s.io',
  version: 'v1',
  kind: 'StorageClass',
  plural: 'storageclasses',
  shortNames: ['sc'],
  namespaced: false,
  schema: storageClass,
  columns: [
    {
      ...nameColumn,
      cell: (object: StorageClass) => `${object.metadata.name ?? ''}${isDefault(object) ? ' (default)' : ''}`,
    },
    column('Provisioner', 'The driver that creates volumes.', ({ provisioner }) => provisioner),
    column('ReclaimPolicy', 'What happens to a released volume.', (object) => object.reclaimPolicy ?? 'Delete'),
    column('VolumeBindingMode', 'When volumes are created.', (object) => object.volumeBindingMode ?? 'Immediate'),
    column(
      'AllowVolumeExpansion',
      'Whether claims can be enlarged.',
      ({ allowVolumeExpansion }) => allowVolumeExpansion ?? false,
    ),
    ageColumn,
  ],
  applyDefaults: (object) => ({
    ...object,
    reclaimPolicy: object.reclaimPolicy ?? 'Delete',
    volumeBindingMode: object.volumeBindingMode ?? 'Immediate',
  }),
  validateCreate: classErrors,
  validateUpdate: (object, old) => [...classErrors(object), ...changeErrors(object, old)],
  warnings: ({ allowedTopologies = [] }) =>
    nodeLabelWarnings(
      allowedTopologies.flatMap(({ matchLabelExpressions = [] }, term) =>
        matchLabelExpressions.map(
          ({ key }, index) => [`allowedTopologies[${term}].matchLabelExpressions[${index}].key:`, key] as const,
        ),
      ),
    ),
});

const reclaimPolicies: readonly string[] = ['Delete', 'Retain'];
const bindingModes: readonly string[] = ['Immediate', 'WaitForFirstConsumer'];

function classErrors(object: StorageClass): readonly FieldError[] {
  const { provisioner, reclaimPolicy: policy = '', volumeBindingMode: mode = '' } = object;
  return [
    ...(provisioner === ''
      ? [required('provisioner')]
      : invalidAll('provisioner', provisioner.toLowerCase(), qualifiedNameErrors(provisioner.toLowerCase()))),
    ...parameterErrors(object.parameters ?? {}),
    ...(policy === '' || reclaimPolicies.includes(policy)
      ? []
      : [notSupported('reclaimPolicy', policy, reclaimPolicies)]),
    ...(bindingModes.includes(mode) ? [] : [notSupported('volumeBindingMode', mode, bindingModes)]),
    ...topologyErrors(object.allowedTopologies ?? []),
  ];
}

const maxParameters = 512;
const maxParameterBytes = 256 * 1024;

function parameterErrors(parameters: Readonly<Record<string, string>>): readonly FieldError[] {
  const entries = Object.entries(parameters);
  if (entries.length > maxParameters) return [tooLong('parameters', maxParameters)];
  const total = entries.reduce((sum, [key, value]) => sum + Buffer.byteLength(key) + Buffer.byteLength(value), 0);
  return [
    ...(Object.hasOwn(parameters, '') ? [invalidValue('parameters', '', 'field can not be empty.')] : []),
    ...(total > maxParameterBytes ? [tooLong('parameters', maxParameterBytes)] : []),
  ];
}

type Term = NonNullable<StorageClass['allowedTopologies']>[number];

function topologyErrors(terms: readonly Term[]): readonly FieldError[] {
  const known: ReadonlyMap<string, ReadonlySet<string>>[] = [];
  return terms.flatMap((term, index) => {
    const at = `allowedTopologies[${index}].matchLabelExpressions`;
    const byKey = new Map((term.matchLabelExpressions ?? []).map(({ key, values }) => [key, new Set(values)]));
    // As in Kubernetes, a term without expressions is a repeated one.
    const isRepeated = byKey.size === 0 || known.some((other) => isDeepStrictEqual(other, byKey));
    known.push(byKey);
    return [...termErrors(term, at), ...(isRepeated ? [duplicate(at, '')] : [])];
  });
}

function termErrors({ matchLabelExpressions = [] }: Term, at: string): readonly FieldError[] {
  const keys = new Set<string>();
  return matchLabelExpressions.flatMap(({ key, values }, index) => {
    const seen = new Set<string>();
    const errors: FieldError[] = (values ?? []).length === 0 ? [required(`${at}[${index}].values`)] : [];
    for (const [position, value] of (values ?? []).entries()) {
      const path = `${at}[${index}].values[${position}]`;
      if (seen.has(value)) errors.push(duplicate(path, value));
      seen.add(value);
    }
    errors.push(...invalidAll(`${at}[${index}].key`, key, qualifiedNameErrors(key)));
    if (keys.has(key)) errors.push(duplicate(`${at}[${index}].key`, key));
    keys.add(key);
    return errors;
  });
}

const frozen = ['parameters', 'provisioner', 'reclaimPolicy'] as const;

function changeErrors(object: StorageClass, old: StorageClass): readonly FieldError[] {
  const { volumeBindingMode: mode } = object;
  return [
    ...frozen
      .filter((field) => !isDeepStrictEqual(object[field], old[field]))
      .map((field) => forbiddenField(field, `updates to ${field} are forbidden.`)),
    ...(mode === old.volumeBindingMode ? [] : [invalidValue('volumeBindingMode', mode, 'field is immutable')]),
  ];
}
