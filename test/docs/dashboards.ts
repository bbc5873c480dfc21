// Generates the Grafana dashboards in deploy/monitoring from the panels in panels.ts.
import type { Dashboard, Panel } from './panels.ts';
import { dashboards } from './panels.ts';

const datasource = { type: 'prometheus', uid: '${datasource}' };
const selector = 'job=~"$job", instance=~"$instance"';
const height = 8;
const width = 12; // half of a row

/** The expression with the variables of the dashboard. */
const filled = (expr: string): string => expr.replaceAll('$s', selector).replaceAll('$r', '$__rate_interval');

const panelOf = ({ title, description, unit, queries }: Panel, index: number): object => ({
  id: index + 1,
  type: 'timeseries',
  title,
  ...(description === undefined ? {} : { description }),
  datasource,
  gridPos: { h: height, w: width, x: (index % 2) * width, y: Math.floor(index / 2) * height },
  fieldConfig: { defaults: { unit, min: unit === 's' ? undefined : 0, custom: { fillOpacity: 10 } }, overrides: [] },
  options: { legend: { displayMode: 'list', placement: 'bottom' }, tooltip: { mode: 'multi' } },
  targets: queries.map(({ expr, legend }, query) => ({
    refId: String.fromCodePoint(65 + query),
    datasource,
    expr: filled(expr),
    legendFormat: legend,
  })),
});

const variableOf = (name: string, query: string): object => ({
  name,
  type: 'query',
  datasource,
  query: { query, refId: name },
  refresh: 2,
  includeAll: true,
  multi: true,
  allValue: '.*',
  current: { text: 'All', value: '$__all' },
});

function dashboardOf(name: string, { title, metric, panels }: Dashboard): object {
  return {
    uid: `fairlead-${name}`,
    title: `Fairlead / ${title}`,
    tags: ['fairlead'],
    schemaVersion: 39,
    editable: true,
    refresh: '30s',
    time: { from: 'now-1h', to: 'now' },
    templating: {
      list: [
        { name: 'datasource', type: 'datasource', query: 'prometheus', label: 'data source' },
        variableOf('job', `label_values(${metric}, job)`),
        variableOf('instance', `label_values(${metric}{job=~"$job"}, instance)`),
      ],
    },
    panels: panels.map(panelOf),
  };
}

/** Path of a file → its text. */
export const dashboardFiles: ReadonlyMap<string, string> = new Map(
  Object.entries(dashboards).map(([name, dashboard]) => [
    `deploy/monitoring/dashboards/${name}.json`,
    `${JSON.stringify(dashboardOf(name, dashboard), undefined, 2)}\n`,
  ]),
);
