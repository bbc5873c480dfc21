// ServiceExport of the first proposal of KEP-1645 (MCS-10): no spec, and conditions with optional reasons.
import { customAgeColumn, nameColumn } from '../../../columns.ts';
import { defineKind } from '../../../kind.ts';
import { objectSchema } from '../../../metadata.ts';
import type { Infer } from '../../../schema/infer.ts';
import { always, listMap, pointer, string, struct, time } from '../../../schema/schema.ts';
import { conditionColumn, conflictColumn } from '../condition-column.ts';
import { conditionErrors, exportWarnings } from '../validate.ts';

const group = 'io.k8s.multicluster.v1alpha1';

const exportCondition = struct(`${group}.ServiceExportCondition`, 'A condition of an export.', {
  type: always(1, string, 'Initialized or Exported.', { required: true }),
  status: always(2, string, 'True, False or Unknown.', { required: true }),
  lastTransitionTime: pointer(3, time, 'When the status last changed.'),
  reason: pointer(4, string, 'Reason, as one CamelCase word.'),
  message: pointer(5, string, 'Human-readable message.'),
});

const superclusterExport = objectSchema(
  `${group}.ServiceExport`,
  'Exports the Service of the same name and namespace to all clusters of the supercluster.',
  {
    status: pointer(
      2,
      struct(`${group}.ServiceExportStatus`, 'State of an export.', {
        conditions: pointer(1, listMap(exportCondition, ['type'], { mergeKey: 'type' }), 'Initialized and Exported.'),
      }),
      'State of the export.',
    ),
  },
);

export type SuperclusterExport = Infer<typeof superclusterExport>;

// ServiceExport of multicluster.x-k8s.io has the same plural, so the short names must differ.
export const superclusterExportKind = defineKind<SuperclusterExport>({
  group: 'multicluster.k8s.io',
  version: 'v1alpha1',
  kind: 'ServiceExport',
  plural: 'serviceexports',
  shortNames: ['scexport'],
  categories: ['multicluster'],
  namespaced: true,
  schema: superclusterExport,
  custom: true,
  hasStatus: true,
  generation: 'content',
  unconditionalUpdate: false,
  columns: [
    nameColumn,
    conditionColumn('Initialized', 'Whether the export was accepted.'),
    conditionColumn('Exported', 'Whether all clusters have imported it.'),
    conflictColumn,
    customAgeColumn,
  ],
  prepareForCreate: ({ status: _status, ...rest }) => rest,
  validateStatus: ({ status }) => conditionErrors(status?.conditions ?? [], false),
  warnings: exportWarnings,
});
