import assert from 'node:assert/strict';
import { test } from 'node:test';

import { clusterRow, importRowOf, serviceRowOf } from '../testing/rows.ts';
import { groupAttention, overviewOf } from './overview.ts';
import type { ClusterRow, Finding, ServiceRow } from './rows.ts';

const cluster = (name: string, findings: readonly Finding[] = []): ClusterRow =>
  clusterRow(name, { state: findings.length === 0 ? 'ok' : 'lost', findings });
const service = (id: string, findings: readonly Finding[], rest: Partial<ServiceRow> = {}): ServiceRow => {
  const [, own = '', namespace = '', name = ''] = id.split('/');
  const endpoints = { ready: 1, notReady: 2, terminating: 0 };
  return serviceRowOf(own, `${namespace}/${name}`, { endpoints, findings, ...rest });
};
const finding = (level: Finding['level'], reason: string): Finding => ({ level, reason, text: reason });

test('lost clusters come first, then errors, then warnings; infos need no attention', () => {
  const { attention, findings } = overviewOf([
    service('service/east/b/web', [finding('warning', 'NoEndpoints')]),
    service('service/east/a/web', [finding('error', 'Conflict'), finding('info', 'Note')]),
    cluster('west', [finding('error', 'ClusterLost')]),
    cluster('east'),
  ]);
  assert.deepEqual(
    attention.map(({ reason }) => reason),
    ['ClusterLost', 'Conflict', 'NoEndpoints'],
  );
  assert.deepEqual(findings, { error: 2, warning: 1, info: 1 });
});

test('what is wrong in the same way in several clusters is one problem of all of them', () => {
  const { attention } = overviewOf([
    service('service/west/a/web', [finding('error', 'Conflict')]),
    service('service/east/a/web', [finding('error', 'Conflict'), finding('warning', 'NoEndpoints')]),
    service('service/east/a/other', [finding('error', 'Conflict')]),
    importRowOf('east', 'a/web', [], { findings: [finding('error', 'Conflict')] }),
    cluster('west', [finding('error', 'ClusterLost')]),
    cluster('east', [finding('error', 'ClusterLost')]),
  ]);
  assert.deepEqual(
    groupAttention(attention).map(({ id, reason, clusters }) => [id, reason, ...clusters]),
    [
      ['cluster/east', 'ClusterLost', 'east'],
      ['cluster/west', 'ClusterLost', 'west'],
      ['service/east/a/other', 'Conflict', 'east'],
      ['service/east/a/web', 'Conflict', 'east', 'west'],
      ['import/east/a/web', 'Conflict', 'east'],
      ['service/east/a/web', 'NoEndpoints', 'east'],
    ],
  );
});

test('counts what each cluster has, without Services that were derived from imports', () => {
  const { clusters } = overviewOf([
    cluster('west'),
    cluster('east'),
    service('service/east/a/web', [], { exported: 'accepted', type: 'LoadBalancer' }),
    service('service/east/a/derived', [], { derivedFrom: 'a/web' }),
  ]);
  assert.deepEqual(
    clusters.map((each) => each.cluster),
    ['east', 'west'],
  );
  const { services, exports, loadBalancers, endpoints } = clusters[0] ?? {};
  assert.deepEqual(
    { services, exports, loadBalancers, endpoints },
    {
      services: 1,
      exports: 1,
      loadBalancers: 1,
      endpoints: { ready: 1, notReady: 2, terminating: 0 },
    },
  );
});
