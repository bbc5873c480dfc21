import { column, customAgeColumn, nameColumn } from '../../../columns.ts';
import type { FieldError } from '../../../field-errors.ts';
import { notSupported, required, tooMany } from '../../../field-errors.ts';
import type { Kind } from '../../../kind.ts';
import { defineKind, identityConversion } from '../../../kind.ts';
import { conditionErrors } from '../validate.ts';
import type { McsVersion } from '../serviceexport/schema.ts';
import type { ServiceImport } from './schema.ts';
import { serviceImportSchema } from './schema.ts';

const clustersText = ({ status }: ServiceImport): string =>
  (status?.clusters ?? []).map(({ cluster }) => cluster).join(',');

const inVersion = (version: McsVersion, storage?: Kind<ServiceImport>): Kind<ServiceImport> =>
  defineKind<ServiceImport>({
    group: 'multicluster.x-k8s.io',
    version,
    kind: 'ServiceImport',
    plural: 'serviceimports',
    shortNames: ['svcim', 'svcimport'],
    categories: ['multicluster'],
    namespaced: true,
    schema: serviceImportSchema(version),
    custom: true,
    hasStatus: true,
    generation: 'content',
    unconditionalUpdate: false,
    columns: [
      nameColumn,
      column('Type', 'ClusterSetIP or Headless.', ({ spec }) => spec?.type ?? '', { path: '.spec.type' }),
      column('IP', 'The addresses of the service.', ({ spec }) => (spec?.ips ? JSON.stringify(spec.ips) : ''), {
        path: '.spec.ips',
      }),
      column('Clusters', 'The clusters that export it.', clustersText, { wide: true, path: '.status.clusters' }),
      customAgeColumn,
    ],
    ...(storage && { storage: identityConversion(storage) }),
    prepareForCreate: ({ status: _status, ...rest }) => rest,
    validateCreate: specErrors,
    validateUpdate: specErrors,
    validateStatus: statusErrors,
  });

/** The storage version. */
export const serviceImportKind = inVersion('v1beta1');

/** The older version, which CoreDNS and others watch. */
export const serviceImportAlphaKind = inVersion('v1alpha1', serviceImportKind);

const types = ['ClusterSetIP', 'Headless'];

function specErrors({ spec }: ServiceImport): readonly FieldError[] {
  if (spec === undefined) return [];
  const { ports, ips = [], ipFamilies = [], type } = spec;
  const errors: FieldError[] = [];
  if (ips.length > 2) errors.push(tooMany('spec.ips', ips.length, 2));
  if (ipFamilies.length > 2) errors.push(tooMany('spec.ipFamilies', ipFamilies.length, 2));
  if (ports === undefined) errors.push(required('spec.ports'));
  if (type === undefined) errors.push(required('spec.type'));
  else if (!types.includes(type)) errors.push(notSupported('spec.type', type, types));
  return errors;
}

function statusErrors({ status: { clusters = [], conditions = [] } = {} }: ServiceImport): readonly FieldError[] {
  return [
    ...clusters.flatMap(({ cluster }, index) =>
      cluster === '' ? [required(`status.clusters[${index}].cluster`)] : [],
    ),
    ...conditionErrors(conditions, true),
  ];
}
