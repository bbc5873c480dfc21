// ClusterProperty (KEP-2149): the ID of a cluster and its membership in a cluster set.
import { column, customAgeColumn, nameColumn } from '../../../columns.ts';
import type { FieldError } from '../../../field-errors.ts';
import { invalidValue, required, tooLong } from '../../../field-errors.ts';
import type { Kind } from '../../../kind.ts';
import { defineKind, identityConversion } from '../../../kind.ts';
import { objectSchema } from '../../../metadata.ts';
import type { Infer } from '../../../schema/infer.ts';
import { pointer, string, struct } from '../../../schema/schema.ts';

type Version = 'v1alpha1' | 'v1beta1';

/** The property with the ID of the cluster, unique in its set and immutable while it is a member. */
export const clusterIdProperty = 'cluster.clusterset.k8s.io';

/** The property with the cluster set that the cluster is a member of; absent if it is in none. */
export const clusterSetProperty = 'clusterset.k8s.io';

const schemaOf = (version: Version) => {
  const group = `io.k8s.about.${version}`;
  return objectSchema(`${group}.ClusterProperty`, 'A property of the cluster.', {
    spec: pointer(
      2,
      struct(`${group}.ClusterPropertySpec`, 'The value of a property.', {
        value: pointer(1, string, 'The value: 1 to 128000 characters.', { required: true }),
      }),
      'The value of the property.',
    ),
    status: pointer(3, struct(`${group}.ClusterPropertyStatus`, 'Empty.', {}), 'Empty.'),
  });
};

export type ClusterProperty = Infer<ReturnType<typeof schemaOf>>;

const inVersion = (version: Version, storage?: Kind<ClusterProperty>): Kind<ClusterProperty> =>
  defineKind<ClusterProperty>({
    group: 'about.k8s.io',
    version,
    kind: 'ClusterProperty',
    plural: 'clusterproperties',
    namespaced: false,
    schema: schemaOf(version),
    custom: true,
    hasStatus: true,
    generation: 'content',
    unconditionalUpdate: false,
    columns: [
      nameColumn,
      column('value', 'The value of the property.', ({ spec }) => spec?.value ?? '', { path: '.spec.value' }),
      { ...customAgeColumn, name: 'age' },
    ],
    ...(storage && { storage: identityConversion(storage) }),
    validateCreate: specErrors,
    validateUpdate: specErrors,
  });

/** The storage version. */
export const clusterPropertyKind = inVersion('v1beta1');

export const clusterPropertyAlphaKind = inVersion('v1alpha1', clusterPropertyKind);

const maxLength = 128000;

function specErrors({ spec }: ClusterProperty): readonly FieldError[] {
  if (spec === undefined) return [];
  const { value } = spec;
  if (value === undefined) return [required('spec.value')];
  if (value === '') return [invalidValue('spec.value', '', 'spec.value in body should be at least 1 chars long')];
  // The limit counts code points, although the message names bytes.
  return Array.from(value).length > maxLength ? [tooLong('spec.value', maxLength)] : [];
}
