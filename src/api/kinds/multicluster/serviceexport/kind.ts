import { customAgeColumn, nameColumn } from '../../../columns.ts';
import type { Kind } from '../../../kind.ts';
import { defineKind, identityConversion } from '../../../kind.ts';
import { conditionColumn, conflictColumn } from '../condition-column.ts';
import { conditionErrors, exportWarnings } from '../validate.ts';
import type { McsVersion, ServiceExport } from './schema.ts';
import { serviceExportSchema } from './schema.ts';

const inVersion = (version: McsVersion, storage?: Kind<ServiceExport>): Kind<ServiceExport> =>
  defineKind<ServiceExport>({
    group: 'multicluster.x-k8s.io',
    version,
    kind: 'ServiceExport',
    plural: 'serviceexports',
    shortNames: ['svcex', 'svcexport'],
    categories: ['multicluster'],
    namespaced: true,
    schema: serviceExportSchema(version),
    custom: true,
    hasStatus: true,
    generation: 'content',
    unconditionalUpdate: false,
    columns: [
      nameColumn,
      conditionColumn('Valid', 'Whether the Service can be exported.'),
      conditionColumn('Ready', 'Whether all clusters that can be reached have imported it.'),
      conflictColumn,
      customAgeColumn,
    ],
    ...(storage && { storage: identityConversion(storage) }),
    prepareForCreate: ({ status: _status, ...rest }) => rest,
    validateStatus: ({ status }) => conditionErrors(status?.conditions ?? [], true),
    warnings: exportWarnings,
  });

/** The storage version. */
export const serviceExportKind = inVersion('v1beta1');

/** The older version, which CoreDNS and others watch. */
export const serviceExportAlphaKind = inVersion('v1alpha1', serviceExportKind);
