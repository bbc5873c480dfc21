import assert from 'node:assert/strict';
import { test } from 'node:test';

import type { EndpointSlice } from '../../api/kinds/discovery/endpointslice/schema.ts';
import type { ServiceImport, ServiceImportSpec } from '../../api/kinds/multicluster/serviceimport/schema.ts';
import type { ImportedService, ImportedServiceSpec } from '../../api/kinds/multicluster/supercluster/import.ts';
import { actionText, endpoint, node, slice } from './testing/objects.ts';
import type { ThisNode } from './options.ts';
import type { Route } from './route.ts';
import { routesOf } from './routes.ts';

const metadata = { namespace: 'shop', name: 'web' };

const imported = (spec: Partial<ImportedServiceSpec> = {}): ImportedService => ({
  metadata,
  spec: { ip: '10.128.0.5', ipFamily: 'IPv4', ports: [{ port: 80 }], clusters: [], ...spec },
});

const serviceImport = (spec: Partial<ServiceImportSpec> = {}): ServiceImport => ({
  metadata,
  spec: { type: 'ClusterSetIP', ips: ['10.128.0.5'], ports: [{ port: 80 }], ...spec },
});

interface Given {
  readonly imported?: ImportedService;
  readonly serviceImport?: ServiceImport;
  readonly node?: ThisNode;
}

const routes = (given: Given, slices: readonly EndpointSlice[]): readonly Route[] =>
  routesOf({
    import: { key: 'shop/web', imported: given.imported, serviceImport: given.serviceImport },
    slices,
    node: given.node ?? node,
  });

const east = slice([endpoint('10.2.0.1', { zone: 'a', node: 'e1' }), endpoint('10.2.0.2', { zone: 'b', node: 'e2' })], {
  cluster: 'east',
});
const west = slice([endpoint('10.3.0.1', { zone: 'b', node: 'w1' })], {
  cluster: 'west',
  ports: [{ port: 9090, protocol: 'TCP' }],
});
const withKeys = (eastKeys: readonly string[], westKeys: readonly string[]): ImportedService =>
  imported({
    clusters: [
      { cluster: 'east', topologyKeys: [...eastKeys] },
      { cluster: 'west', topologyKeys: [...westKeys] },
    ],
  });

const zone = 'topology.kubernetes.io/zone';
const host = 'kubernetes.io/hostname';
const all = '10.2.0.1:8080 10.2.0.2:8080 10.3.0.1:9090';

const cases: readonly { readonly name: string; readonly given: Given; readonly want: string }[] = [
  { name: 'MCS-42 an imported address leads to endpoints of all clusters', given: { imported: imported() }, want: all },
  { name: 'MCS-107 a ServiceImport is presented the same way', given: { serviceImport: serviceImport() }, want: all },
  {
    name: 'MCS-107 both views of one service are one route',
    given: { imported: imported(), serviceImport: serviceImport() },
    want: all,
  },
  {
    name: 'MCS-133 keys of a cluster choose among its own endpoints alone',
    given: { imported: withKeys([zone], []) },
    want: '10.2.0.1:8080 10.3.0.1:9090',
  },
  {
    name: 'MCS-133 uses no endpoint of a cluster whose required keys do not match',
    given: { imported: withKeys([zone], [zone]) },
    want: '10.2.0.1:8080',
  },
  {
    name: 'MCS-132 keys are tried in order',
    given: { imported: withKeys([host, zone, '*'], [host]) },
    want: '10.2.0.1:8080',
  },
  {
    name: 'MCS-132 matches all endpoints with a star',
    given: { imported: withKeys([host, '*'], ['*']) },
    want: all,
  },
  {
    name: 'MCS-132 keys that match no endpoint refuse connections',
    given: { imported: withKeys([host], [host]) },
    want: 'reject',
  },
  {
    name: 'MCS-132 matches no endpoint on a node without labels, all with a star',
    given: { imported: withKeys([zone, '*'], [zone]), node: { ...node, labels: undefined } },
    want: '10.2.0.1:8080 10.2.0.2:8080',
  },
];

const order = [zone, 'topology.kubernetes.io/region', '*'];
const tiers = (keys: readonly string[], keysOfFar = keys): ImportedService =>
  imported({
    clusters: ['near', 'region', 'far'].map((cluster) => ({
      cluster,
      topologyKeys: [...(cluster === 'far' ? keysOfFar : keys)],
    })),
  });
/** One endpoint in each of three clusters: in this zone, in this region, and elsewhere. */
const spread = [
  { cluster: 'near', zone: 'a', region: 'r1', address: '10.2.0.1' },
  { cluster: 'region', zone: 'c', region: 'r1', address: '10.3.0.1' },
  { cluster: 'far', zone: 'd', region: 'r2', address: '10.4.0.1' },
].map((each) => {
  const made = slice([endpoint(each.address, { zone: each.zone })], { cluster: each.cluster });
  return { ...made, metadata: { ...made.metadata, annotations: { 'fairlead.dev/region': each.region } } };
});

for (const { name, lost, given, want } of [
  { name: 'uses endpoints in this zone first', lost: 0, given: tiers(order), want: '10.2.0.1:8080' },
  { name: 'then those in this region', lost: 1, given: tiers(order), want: '10.3.0.1:8080' },
  { name: 'then all others', lost: 2, given: tiers(order), want: '10.4.0.1:8080' },
  {
    name: 'a cluster without keys is always used',
    lost: 0,
    given: tiers(order, []),
    want: '10.2.0.1:8080 10.4.0.1:8080',
  },
  {
    name: 'MCS-133 nearer endpoints of other clusters do not exclude a cluster whose keys are *',
    lost: 0,
    given: tiers(order, ['*']),
    want: '10.2.0.1:8080 10.4.0.1:8080',
  },
  { name: 'without a star it refuses other regions', lost: 2, given: tiers(order.slice(0, 2)), want: 'reject' },
]) {
  test(`MCS-142 MCS-144 ${name}`, () => {
    assert.equal(actionText(routes({ imported: given }, spread.slice(lost))[0]?.action), want);
  });
}

for (const { name, given, want } of cases) {
  test(name, () => {
    const made = routes(given, [east, west]);
    assert.deepEqual(
      made.map(
        ({ owner, kind, address, port, action }) => `${owner} ${kind} ${address} ${port}: ${actionText(action)}`,
      ),
      [`Import shop/web clusterIP 10.128.0.5 80: ${want}`],
    );
  });
}

test('MCS-134 uses endpoints that are not ready if their cluster publishes them', () => {
  const half = (cluster: string, address: string): EndpointSlice =>
    slice([endpoint(address, { state: 'not-ready' })], { cluster });
  const given = { imported: imported({ clusters: [{ cluster: 'east', publishNotReadyAddresses: true }] }) };
  const [route] = routes(given, [half('east', '10.2.0.1'), half('west', '10.3.0.1')]);
  assert.equal(actionText(route?.action), '10.2.0.1:8080');
});

test('MCS-131 uses the affinity of the source cluster; ServiceImports have one for all', () => {
  const sticky = (given: Given): readonly number[] => {
    const [route] = routes(given, [east, west]);
    return route?.action.type === 'forward' ? route.action.targets.map(({ stickySeconds }) => stickySeconds) : [];
  };
  const sessionAffinityConfig = { clientIP: { timeoutSeconds: 60 } };
  assert.deepEqual(
    sticky({
      imported: imported({
        clusters: [{ cluster: 'east', sessionAffinity: 'ClientIP', sessionAffinityConfig }, { cluster: 'west' }],
      }),
    }),
    [60, 60, 0],
  );
  assert.deepEqual(sticky({ serviceImport: serviceImport({ sessionAffinity: 'ClientIP' }) }), [10_800, 10_800, 10_800]);
});

test('creates no routes for headless imports and imports without an address', () => {
  const { ip: _ip, ...spec } = imported().spec ?? {};
  assert.deepEqual(routes({ imported: { metadata, spec } }, [east]), []);
  assert.deepEqual(routes({ serviceImport: serviceImport({ type: 'Headless' }) }, [east]), []);
});

test('distinguishes nodes with the same name in other clusters', () => {
  const local = serviceImport({ internalTrafficPolicy: 'Local' });
  const slices = [
    slice([endpoint('10.2.0.1', { node: 'n1' })], { cluster: 'east' }),
    slice([endpoint('10.3.0.1', { node: 'n1' })], { cluster: 'west' }),
  ];
  const [route] = routes({ serviceImport: local, node: { ...node, cluster: 'west' } }, slices);
  assert.equal(actionText(route?.action), '10.3.0.1:8080');
});

test('uses hints of an import with a trafficDistribution', () => {
  const slices = [
    slice([endpoint('10.2.0.1', { forZones: ['a'] })], { cluster: 'east' }),
    slice([endpoint('10.3.0.1', { forZones: ['b'] })], { cluster: 'west' }),
  ];
  const text = (spec: Partial<ServiceImportSpec>): string =>
    actionText(routes({ serviceImport: serviceImport(spec) }, slices)[0]?.action);
  assert.equal(text({}), '10.2.0.1:8080 10.3.0.1:8080');
  assert.equal(text({ trafficDistribution: 'PreferSameZone' }), '10.2.0.1:8080');
});
