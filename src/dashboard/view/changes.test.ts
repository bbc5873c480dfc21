import assert from 'node:assert/strict';
import { test } from 'node:test';
import { clusterRow, importRowOf, serviceRowOf } from '../testing/rows.ts';
import { changesOf } from './changes.ts';
import type { ClusterRow, Row, ServiceRow } from './rows.ts';

const service = serviceRowOf('east', 'shop/web');
const imported = importRowOf('east', 'shop/web', ['west']);
const cluster = clusterRow('east');
const lost: ClusterRow = {
  ...cluster,
  state: 'lost',
  findings: [{ level: 'error', reason: 'ClusterLost', text: 'cluster east does not answer' }],
};
const broken: ServiceRow = {
  ...service,
  endpoints: { ready: 0, notReady: 2, terminating: 0 },
  findings: [{ level: 'error', reason: 'NoReadyEndpoints', text: 'none of 2 endpoints is ready' }],
};

const cases: readonly {
  readonly name: string;
  readonly before?: Row;
  readonly after?: Row;
  readonly want: readonly string[];
}[] = [
  { name: 'a new Service', after: service, want: ['info Service created'] },
  { name: 'a deleted import', before: imported, want: ['info import deleted'] },
  { name: 'nothing', before: service, after: { ...service, labels: { a: 'b' } }, want: [] },
  {
    name: 'endpoints that fail',
    before: service,
    after: broken,
    want: ['info ready endpoints: 2 → 0', 'error none of 2 endpoints is ready'],
  },
  {
    name: 'endpoints that recover',
    before: broken,
    after: service,
    want: ['info ready endpoints: 0 → 2', 'ok resolved: NoReadyEndpoints'],
  },
  {
    name: 'a finding whose numbers change',
    before: broken,
    after: {
      ...broken,
      findings: [{ level: 'error', reason: 'NoReadyEndpoints', text: 'none of 3 endpoints is ready' }],
    },
    want: [],
  },
  {
    name: 'another type and address',
    before: service,
    after: { ...service, type: 'Headless', addresses: [] },
    want: ['info type: ClusterIP → Headless', 'info addresses: 10.0.0.1 → none'],
  },
  {
    name: 'an export',
    before: service,
    after: { ...service, exported: 'accepted' },
    want: ['info export: none → accepted'],
  },
  { name: 'a lost cluster', before: cluster, after: lost, want: ['error cluster east does not answer'] },
  {
    name: 'a cluster that is being read, without its unread kinds',
    before: { ...cluster, state: 'reading', findings: [{ level: 'warning', reason: 'NotRead', text: 'services' }] },
    after: { ...cluster, state: 'reading', findings: [] },
    want: [],
  },
  {
    name: 'a cluster that was read',
    before: { ...cluster, state: 'reading', findings: [{ level: 'warning', reason: 'NotRead', text: 'services' }] },
    after: cluster,
    want: ['ok cluster read'],
  },
  {
    name: 'a cluster that returns',
    before: lost,
    after: cluster,
    want: ['ok cluster answers again', 'ok resolved: ClusterLost'],
  },
  {
    name: 'sources of an import',
    before: imported,
    after: { ...imported, sources: [{ cluster: 'north', ready: 1, notReady: 0, terminating: 0 }] },
    want: ['info no longer imported from west', 'info imported from north too'],
  },
];
for (const { name, before, after, want } of cases) {
  test(`the timeline describes ${name}`, () => {
    assert.deepEqual(
      changesOf(before, after).map(({ level, text }) => `${level} ${text}`),
      want,
    );
  });
}
