// The fields that NodeMetrics and PodMetrics share.
import type { Column } from '../../kind.ts';
import { column, nameColumn } from '../../columns.ts';
import type { ApiObject } from '../../metadata.ts';
import { always, map, quantity, string, time } from '../../schema/schema.ts';

/** The group of what Nodes and Pods use, which `kubectl top` and autoscalers read. */
export const metricsGroup = 'metrics.k8s.io';

/** Amounts by resource: cpu and memory. */
export const usageSchema = map(quantity);

/** The interval in which usage was measured. */
export const intervalFields = {
  timestamp: always(2, time, 'The end of the interval.', { required: true }),
  window: always(3, string, 'The length of the interval.', { required: true }),
} as const;

/** The columns of metrics-server. */
export const usageColumns = <T extends ApiObject & { readonly window: string }>(
  usageOf: (object: T) => Readonly<Record<string, string | number>>,
): readonly Column<T>[] => [
  nameColumn,
  column('cpu', 'Processor time in cores.', (object: T) => usageOf(object)['cpu'] ?? '0'),
  column('memory', 'Memory that cannot be reclaimed.', (object: T) => usageOf(object)['memory'] ?? '0'),
  column('Window', 'The length of the interval.', (object: T) => object.window),
];
