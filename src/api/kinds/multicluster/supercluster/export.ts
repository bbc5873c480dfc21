// ServiceExport as KEP-1645 first proposed it (MCS-10): no spec, and conditions whose reasons are optional.
import { column, customAgeColumn, nameColumn } from '../../../columns.ts';
import { defineKind } from '../../../kind.ts';
import { objectSchema } from '../../../metadata.ts';
import { subdomainName } from '../../../names.ts';
import type { Infer } from '../../../schema/infer.ts';
import { always, listMap, pointer, string, struct, time } from '../../../schema/schema.ts';
import { conditionErrors } from '../condition-errors.ts';
import { exportWarnings } from '../export-warnings.ts';

const group = 'io.k8s.multicluster.v1alpha1';

const exportCondition = struct(`${group}.ServiceExportCondition`, 'One aspect of an export’s state.', {
  type: always(1, string, 'Initialized or Exported.', { required: true }),
  status: always(2, string, 'True, False or Unknown.', { required: true }),
  lastTransitionTime: pointer(3, time, 'When the status last changed.'),
  reason: pointer(4, string, 'Why, in one word.'),
  message: pointer(5, string, 'Why, for a person.'),
});

/** Makes the Service of the same name known to all clusters of the supercluster. */
const superclusterExport = objectSchema(
  `${group}.ServiceExport`,
  'Makes the Service of the same name and namespace known to all clusters of the supercluster.',
  {
    status: pointer(
      2,
      struct(`${group}.ServiceExportStatus`, 'What became of an export.', {
        conditions: pointer(1, listMap(exportCondition, ['type'], { mergeKey: 'type' }), 'Initialized and Exported.'),
      }),
      'What became of the export.',
    ),
  },
);

export type SuperclusterExport = Infer<typeof superclusterExport>;

const stateOf = ({ status }: SuperclusterExport, wanted: string): string =>
  status?.conditions?.find(({ type }) => type === wanted)?.status ?? '';

// Its plural is also that of multicluster.x-k8s.io, so its short name must differ from that kind's.
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
    column('Initialized', 'Whether the export was taken up.', (object) => stateOf(object, 'Initialized')),
    column('Exported', 'Whether all clusters have it.', (object) => stateOf(object, 'Exported')),
    customAgeColumn,
  ],
  prepareForCreate: ({ status: _status, ...rest }) => rest,
  nameErrors: subdomainName,
  validateStatus: ({ status }) => conditionErrors(status?.conditions ?? [], false),
  warnings: exportWarnings,
});
