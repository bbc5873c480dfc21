// Results of sets of clusters, with their targets (docs/explanation/benchmarks.md).

import type { Measured } from '../multicluster.bench.ts';
import type { Changes } from './measure.ts';
import { percentile } from './measure.ts';
import { importersOf } from './objects.ts';

/** A measured set, after its targets if there are any. */
export interface Column {
  readonly aims?: Aims;
  readonly measured: Measured;
}

/** The targets of a set of some size; milliseconds except for writes. */
export interface Aims {
  readonly changeP50: number;
  readonly changeP99: number;
  readonly exportP99: number;
  readonly restart: number;
}

/** Row → its target. */
type Row = readonly [name: string, show: (measured: Measured) => string, aim?: (aims: Aims) => string];

const ms = (value: number): string => `${Math.round(value).toLocaleString('en')} ms`;
const seconds = (value: number): string => `${value.toFixed(1)} s`;
const atMost = (value: number): string => `≤ ${value < 10_000 ? ms(value) : seconds(value / 1000)}`;

/** The result of `costsOf`. */
export const costNames = ['CPU per change and cluster, controller', 'CPU per change and cluster, API server'];

/** The cost of one change per cluster: controller, and API server. */
export const costsOf = ({ controller, clusters: servers, times }: Changes, clusters: number): readonly string[] =>
  [controller, servers].map((cpu) => `${Math.round((cpu * 1e6) / times.length / clusters).toLocaleString('en')} µs`);

const rows: readonly Row[] = [
  ['changes per second', ({ perSecond }) => String(perSecond)],
  [
    'change of an endpoint until all clusters have it, p50',
    ({ changes }) => ms(percentile(changes.times, 0.5)),
    ({ changeP50 }) => atMost(changeP50),
  ],
  ['the same, p99', ({ changes }) => ms(percentile(changes.times, 0.99)), ({ changeP99 }) => atMost(changeP99)],
  ['writes per change and cluster', ({ changes }) => changes.writes.toFixed(2), () => '≤ 1.1'],
  ...costNames.map((name, each): Row => [
    name,
    (measured) => costsOf(measured.changes, importersOf(measured))[each] ?? '',
  ]),
  ['new export until its condition Exported is True, p50', ({ exports }) => ms(percentile(exports.exported, 0.5))],
  ['the same, p99', ({ exports }) => ms(percentile(exports.exported, 0.99)), ({ exportP99 }) => atMost(exportP99)],
  ['writes per new export, all clusters', ({ exports }) => exports.writes.toFixed(1)],
  [
    'deletion of the last export until all imports are deleted, p99',
    ({ exports }) => ms(percentile(exports.removed, 0.99)),
    ({ exportP99 }) => atMost(exportP99),
  ],
  ['first sync: from no imports to all', ({ beginning }) => seconds(beginning.ms / 1000)],
  [
    'CPU of the first sync, controller and API servers',
    ({ beginning }) => `${seconds(beginning.controller)} and ${seconds(beginning.clusters)}`,
  ],
  ['restart of the controller until it is steady', ({ restart }) => ms(restart.ms), ({ restart }) => atMost(restart)],
  ['writes of the restart', ({ restart }) => String(restart.writes), () => '0'],
  ['memory of the controller', ({ bytes }) => `${Math.round(bytes / 1e6).toLocaleString('en')} MB`],
];

/** The rows of a table with a column for each set, and one before it for its targets. */
export const rowsOf = (columns: readonly Column[]): readonly (readonly string[])[] =>
  rows.map(([name, show, aim]) => [
    name,
    ...columns.flatMap(({ aims, measured }) => [...(aims === undefined ? [] : [aim?.(aims) ?? '']), show(measured)]),
  ]);
