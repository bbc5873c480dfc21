import { defineKind } from '../../../kind.ts';
import { objectSchema } from '../../../metadata.ts';
import { addQuantities, parseQuantity, printQuantity, zero } from '../../../quantity.ts';
import type { Infer } from '../../../schema/infer.ts';
import { always, list, string, struct } from '../../../schema/schema.ts';
import { intervalFields, metricsGroup, usageColumns, usageSchema } from '../usage.ts';

const metrics = 'io.k8s.metrics.pkg.apis.metrics.v1beta1';

const containerMetrics = struct(`${metrics}.ContainerMetrics`, 'What a container uses.', {
  name: always(1, string, 'The name of the container.', { required: true }),
  usage: always(2, usageSchema, 'The usage of its processes.', { required: true }),
});

const podMetrics = objectSchema(`${metrics}.PodMetrics`, 'What the containers of a Pod use.', {
  ...intervalFields,
  containers: always(4, list(containerMetrics), 'The containers that run.', { required: true }),
});

export type PodMetrics = Infer<typeof podMetrics>;

/** Computed for each request from what the Node reports; not stored. */
export const podMetricsKind = defineKind<PodMetrics>({
  group: metricsGroup,
  version: 'v1beta1',
  kind: 'PodMetrics',
  plural: 'pods',
  singular: '',
  namespaced: true,
  schema: podMetrics,
  stored: false,
  jsonOnly: true,
  verbs: ['get', 'list'],
  columns: usageColumns(totalUsage),
});

/** The sum over the containers. */
function totalUsage({ containers }: PodMetrics): Readonly<Record<string, string>> {
  const sum = (resource: string): string =>
    printQuantity(
      (containers ?? [])
        .map(({ usage }) => parseQuantity(String(usage?.[resource] ?? '0')))
        .reduce((total, each) => (total === zero ? each : addQuantities(total, each)), zero),
    );
  return { cpu: sum('cpu'), memory: sum('memory') };
}
