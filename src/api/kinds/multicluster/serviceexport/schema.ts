import { condition, objectSchema } from '../../../metadata.ts';
import type { Infer } from '../../../schema/infer.ts';
import { listMap, map, pointer, string, struct } from '../../../schema/schema.ts';

/** The versions in which multicluster.x-k8s.io is served; all have the same fields. */
export type McsVersion = 'v1alpha1' | 'v1beta1';

const specOf = (group: string) =>
  struct(`${group}.ServiceExportSpec`, 'What is exported beside the Service itself.', {
    exportedLabels: pointer(1, map(string), 'Labels for the imported service.'),
    exportedAnnotations: pointer(2, map(string), 'Annotations for the imported service.'),
  });

const statusOf = (group: string) =>
  struct(`${group}.ServiceExportStatus`, 'What became of an export.', {
    conditions: pointer(1, listMap(condition, ['type'], { mergeKey: 'type' }), 'Valid, Ready and Conflict.'),
  });

/** The schema of a ServiceExport in one version. */
export const serviceExportSchema = (version: McsVersion) => {
  const group = `io.x-k8s.multicluster.${version}`;
  return objectSchema(
    `${group}.ServiceExport`,
    'Makes the Service of the same name and namespace known to all clusters of the set.',
    {
      spec: pointer(2, specOf(group), 'What is exported beside the Service itself.'),
      status: pointer(3, statusOf(group), 'What became of the export.'),
    },
  );
};

export type ServiceExport = Infer<ReturnType<typeof serviceExportSchema>>;
