import { condition, objectSchema } from '../../../metadata.ts';
import type { Infer } from '../../../schema/infer.ts';
import { listMap, map, pointer, string, struct } from '../../../schema/schema.ts';

/** The versions of multicluster.x-k8s.io; all have the same fields. */
export type McsVersion = 'v1alpha1' | 'v1beta1';

const specOf = (group: string) =>
  struct(`${group}.ServiceExportSpec`, 'Settings of an export.', {
    exportedLabels: pointer(1, map(string), 'Labels for the imported service.'),
    exportedAnnotations: pointer(2, map(string), 'Annotations for the imported service.'),
  });

const statusOf = (group: string) =>
  struct(`${group}.ServiceExportStatus`, 'State of an export.', {
    conditions: pointer(1, listMap(condition, ['type'], { mergeKey: 'type' }), 'Valid, Ready and Conflict.'),
  });

/** The schema of a ServiceExport in one version. */
export const serviceExportSchema = (version: McsVersion) => {
  const group = `io.x-k8s.multicluster.${version}`;
  return objectSchema(
    `${group}.ServiceExport`,
    'Exports the Service of the same name and namespace to all clusters of the set.',
    {
      spec: pointer(2, specOf(group), 'Settings of an export.'),
      status: pointer(3, statusOf(group), 'State of the export.'),
    },
  );
};

export type ServiceExport = Infer<ReturnType<typeof serviceExportSchema>>;
