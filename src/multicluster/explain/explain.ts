// Explains a service: its exporters, views, and conflicts with their fixes, as data and as text.
import type { Conflict } from '../merge/conflict.ts';
import { listText, valueText } from '../merge/conflict.ts';
import type { Exporter, Merged, View } from '../merge/merged.ts';
import type { ServiceKey, McsApi } from '../record.ts';
import { exportedAt, textOf } from '../record.ts';
import { columns } from '../../api/text.ts';

/** One exporting cluster and its state. */
export interface ExporterReport {
  readonly cluster: string;
  readonly since: string;
  readonly state: 'merged' | 'quarantined' | 'invalid' | 'leaving';
  /** Why it is not merged. */
  readonly reason?: string;
  readonly message?: string;
}

/** One view of the service. */
export interface ViewReport {
  /** `withdrawn`: it is exported, but not imported because of a conflict. */
  readonly state: 'served' | 'withdrawn' | 'absent';
  readonly type?: View['type'];
  readonly families?: View['families'];
  readonly ports?: readonly PortReport[];
  readonly clusters?: readonly string[];
}

export interface PortReport {
  readonly name: string;
  /** As in `80/TCP`. */
  readonly port: string;
  readonly clusters: readonly string[];
}

/** The explanation of one service; `-o json` prints it. */
export interface Explanation extends ServiceKey {
  readonly exporters: readonly ExporterReport[];
  readonly views: { readonly [api in McsApi]: ViewReport };
  readonly conflicts: readonly Conflict[];
}

/** Explains a merged service. */
export const explain = (merged: Merged): Explanation => ({
  namespace: merged.namespace,
  name: merged.name,
  exporters: merged.exporters.map((exporter) => exporterReport(exporter, merged)),
  views: { supercluster: viewReport(merged, 'supercluster'), clusterset: viewReport(merged, 'clusterset') },
  conflicts: merged.conflicts,
});

function exporterReport({ cluster, record, verdict }: Exporter, { quarantined }: Merged): ExporterReport {
  const since = exportedAt(record);
  switch (verdict.state) {
    case 'leaving':
      return { cluster, since, state: 'leaving', message: 'its export is being deleted' };
    case 'invalid':
      return { cluster, since, state: 'invalid', reason: verdict.reason, message: verdict.message };
    case 'valid':
      return { cluster, since, state: quarantined.includes(cluster) ? 'quarantined' : 'merged' };
  }
}

function viewReport({ views, order }: Merged, api: McsApi): ViewReport {
  const view = views[api];
  if (view === undefined) return { state: order.length > 0 ? 'withdrawn' : 'absent' };
  const { type, families, ports, clusters } = view;
  return {
    state: 'served',
    type,
    families,
    ports: ports.map(({ name, port, protocol, clusters: having }) => ({
      name,
      port: `${port}/${protocol}`,
      clusters: having,
    })),
    clusters: clusters.map(({ cluster }) => cluster),
  };
}

/** The explanation as text; `isPartial`: some clusters could not be read. */
export function explanationText(explanation: Explanation, isPartial = false): string {
  const { exporters, views, conflicts } = explanation;
  const rows = exporters.map(({ cluster, since, state, message = '' }) => [cluster, state, `since ${since}`, message]);
  return [
    textOf(explanation),
    ...(exporters.length === 0 ? [`  ${isPartial ? unexportedInReadClusters : unexported}`] : []),
    ...columns(rows, '  '),
    ...columns(
      [
        ['ImportedService', viewText(views.supercluster)],
        ['ServiceImport', viewText(views.clusterset)],
      ],
      '  ',
    ),
    ...conflicts.flatMap(conflictLines),
    ...(conflicts.some(isOverWithdrawnPort) ? [phases] : []),
  ].join('\n');
}

const unexported = 'no cluster exports it: create a ServiceExport of that name';
const unexportedInReadClusters = 'no cluster that can be read exports it';

/** How to change a port without a conflict (MCS-129). */
const phases =
  'to change a port, add the new one under a name of its own in each cluster, then remove the old one; or export a new Service';

const isOverWithdrawnPort = ({ reason, apis }: Conflict): boolean =>
  reason === 'PortConflict' && apis.includes('supercluster');

/** A view as one line. */
export function viewText({ state, type, ports = [] }: ViewReport): string {
  if (state === 'withdrawn') return 'withdrawn from all clusters until the conflict is resolved';
  if (state === 'absent') return 'none';
  const list = ports.map(
    ({ name, port, clusters }) => `${name === '' ? '' : `${name} `}${port} from ${listText(clusters)}`,
  );
  return `${type === 'Headless' ? 'headless' : 'with an address'}: ${list.length === 0 ? 'no ports' : list.join(', ')}`;
}

/** A conflict, its values and its fix, as lines. */
export function conflictLines({ field, rule, values, winner, apis, fix }: Conflict): readonly string[] {
  const where =
    apis.length === 1 ? ` (in the ${apis[0] === 'supercluster' ? 'ImportedService' : 'ServiceImport'} only)` : '';
  const rows = values.map(({ cluster, value, since }) => [
    cluster,
    valueText(value),
    `since ${since}`,
    cluster === winner ? 'came first' : '',
  ]);
  return [`conflict over ${field}${where}`, `  ${rule}`, ...columns(rows, '    '), `  to fix it, ${fix.text}`];
}
