import { defineKind } from '../../../kind.ts';
import { objectSchema } from '../../../metadata.ts';
import type { Infer } from '../../../schema/infer.ts';
import { always } from '../../../schema/schema.ts';
import { intervalFields, metricsGroup, usageColumns, usageSchema } from '../usage.ts';

const nodeMetrics = objectSchema('io.k8s.metrics.pkg.apis.metrics.v1beta1.NodeMetrics', 'What a Node uses.', {
  ...intervalFields,
  usage: always(4, usageSchema, 'The usage of the machine.', { required: true }),
});

export type NodeMetrics = Infer<typeof nodeMetrics>;

/** Computed for each request from what the Node reports; not stored. */
export const nodeMetricsKind = defineKind<NodeMetrics>({
  group: metricsGroup,
  version: 'v1beta1',
  kind: 'NodeMetrics',
  plural: 'nodes',
  singular: '',
  namespaced: false,
  schema: nodeMetrics,
  stored: false,
  jsonOnly: true,
  verbs: ['get', 'list'],
  columns: usageColumns(({ usage }) => usage ?? {}),
});
