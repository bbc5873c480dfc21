// Explains a service: its exporters, views, and conflicts with their fixes, as data and as text.
import type { Conflict } from '../merge/conflict.ts';
import type { ImporterGroup } from '../merge/audience.ts';
import { audienceProblem, audienceText, conflictsIn } from '../merge/audience.ts';
import { clustersText, listText, valueText } from '../merge/conflict.ts';
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
  /** The clusters that import its exports, as the annotation names them; undefined: all. */
  readonly audience?: string;
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
  /** The views of clusters that import different exports, because exports have audiences; undefined: all import the same. */
  readonly importers?: readonly (Pick<Explanation, 'views' | 'conflicts'> & { readonly clusters: readonly string[] })[];
}

/** Explains a merged service; `groups`: what the clusters import of it, default all the same. */
export function explain(merged: Merged, groups: readonly ImporterGroup[] = []): Explanation {
  const hasAudience = merged.exporters.some(({ record }) => audienceText(record) !== undefined);
  return {
    namespace: merged.namespace,
    name: merged.name,
    exporters: merged.exporters.map((exporter) => exporterReport(exporter, merged)),
    views: viewsOf(merged),
    conflicts: hasAudience && groups.length > 0 ? conflictsIn(groups) : merged.conflicts,
    ...(hasAudience
      ? {
          importers: groups.map((group) => ({
            clusters: group.importers,
            views: viewsOf(group.merged),
            conflicts: group.merged.conflicts,
          })),
        }
      : {}),
  };
}

const viewsOf = (merged: Merged): Explanation['views'] => ({
  supercluster: viewReport(merged, 'supercluster'),
  clusterset: viewReport(merged, 'clusterset'),
});

function exporterReport(exporter: Exporter, merged: Merged): ExporterReport {
  const audience = audienceText(exporter.record);
  const message = audienceProblem(exporter.record);
  return {
    ...reportOf(exporter, merged),
    ...(audience === undefined ? {} : { audience }),
    ...(message === undefined ? {} : { reason: 'InvalidAudience', message }),
  };
}

function reportOf({ cluster, record, verdict }: Exporter, { quarantined }: Merged): ExporterReport {
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
  const { exporters, views, conflicts, importers } = explanation;
  const rows = exporters.map(({ cluster, since, state, message = '', audience }) => [
    cluster,
    state,
    `since ${since}`,
    [...(audience === undefined ? [] : [`to ${audience}`]), ...(message === '' ? [] : [message])].join('; '),
  ]);
  const shown = importers ?? [{ clusters: [], views }];
  return [
    textOf(explanation),
    ...(exporters.length === 0 ? [`  ${isPartial ? unexportedInReadClusters : unexported}`] : []),
    ...columns(rows, '  '),
    ...columns(
      shown.flatMap(({ clusters, views: { supercluster, clusterset } }) => {
        const where = clusters.length === 0 ? '' : ` in ${clustersText(clusters)}`;
        return [
          [`ImportedService${where}`, viewText(supercluster)],
          [`ServiceImport${where}`, viewText(clusterset)],
        ];
      }),
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
