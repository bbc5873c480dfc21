import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { namespaceKind } from '../../api/kinds/core/namespace/kind.ts';
import { serviceKind } from '../../api/kinds/core/service/kind.ts';
import { endpointSliceKind } from '../../api/kinds/discovery/endpointslice/kind.ts';
import { serviceExportKind } from '../../api/kinds/multicluster/serviceexport/kind.ts';
import { serviceImportKind } from '../../api/kinds/multicluster/serviceimport/kind.ts';
import { superclusterExportKind } from '../../api/kinds/multicluster/supercluster/export.ts';
import { importedServiceKind } from '../../api/kinds/multicluster/supercluster/import.ts';
import { Client } from '../../client/client.ts';
import { inProcess } from '../../client/in-process.ts';
import { testServer } from '../../server/testing/server.ts';
import { merge } from '../merge/merge.ts';
import type { ClusterExport } from '../record.ts';
import {
  serviceExport,
  endpoint,
  headless,
  http,
  member,
  record,
  superclusterExport,
  sourceSlice,
  web,
} from '../testing/records.ts';
import type { VipState } from '../vip/allocator.ts';
import { now } from './testing/actual.ts';
import type { Actual, Target, Write } from './desired.ts';
import { diff } from './diff.ts';
import { diffExports } from './exports.ts';
import { derivedName, exportFinalizer } from './labels.ts';
import { project } from './project.ts';

// A server must store projected objects unchanged, or the controller would write for ever.

const user = { name: 'mcsd', uid: '', groups: ['system:masters', 'system:authenticated'] };

const vip: VipState = { state: 'reserved', ips: ['241.0.0.7'], families: ['IPv4'] };

async function actualIn(client: Client): Promise<Actual> {
  const slices = await client.list(endpointSliceKind, { namespace: web.namespace });
  return {
    importedService: await client.find(importedServiceKind, web),
    serviceImport: await client.find(serviceImportKind, web),
    derivedService: await client.find(serviceKind, { namespace: web.namespace, name: derivedName(web) }),
    slices: slices.items,
  };
}

async function make(client: Client, write: Write): Promise<void> {
  const { kind, object } = write;
  if (write.verb === 'create') await client.create(kind, object);
  if (write.verb === 'update') await client.update(kind, object);
  if (write.verb === 'updateStatus') await client.updateStatus(kind, object);
  if (write.verb === 'delete') {
    const { namespace, name = '' } = object.metadata;
    await client.delete(kind, { namespace, name }, { preconditions: write.preconditions });
  }
}

async function settleIn(
  client: Client,
  records: readonly ClusterExport[],
  target: Omit<Target, 'actual'>,
): Promise<Actual> {
  for (let round = 0; round < 6; round++) {
    const actual = await actualIn(client);
    const { writes, foreignObjects } = diff(project(merge(web, records), { ...target, actual }), actual, { now });
    assert.deepEqual(foreignObjects, []);
    if (writes.length === 0) return actual;
    for (const write of writes) await make(client, write);
  }
  throw new Error('does not settle');
}

const rich = sourceSlice('rich', {
  ports: [{ name: 'http', protocol: 'TCP', port: 8080, appProtocol: 'http', srvServiceName: 'web' }],
  endpoints: [
    endpoint('10.0.0.1', {
      zone: 'eu-1a',
      nodeName: 'n1',
      hostname: 'web-0',
      hints: { forZones: [{ name: 'eu-1a' }] },
    }),
    endpoint('10.0.0.2', { conditions: { ready: false, serving: true, terminating: true } }),
    endpoint('10.0.0.3', { conditions: {} }),
  ],
});
const affinity = { sessionAffinity: 'ClientIP', sessionAffinityConfig: { clientIP: { timeoutSeconds: 10 } } } as const;
const labels = serviceExport({}, { exportedLabels: { tier: 'a' }, exportedAnnotations: { note: 'b' } });
const states: readonly { readonly name: string; readonly records: readonly ClusterExport[] }[] = [
  { name: 'one cluster', records: [record('east')] },
  {
    name: 'everything a Service can have',
    records: [
      record('east', {
        slices: [rich],
        serviceExport: labels,
        region: 'eu-1',
        spec: {
          ...affinity,
          ports: [{ ...http, appProtocol: 'http', srvServiceName: 'web' }],
          trafficDistribution: 'PreferSameZone',
          internalTrafficPolicy: 'Local',
          publishNotReadyAddresses: true,
        },
      }),
      record('west.eu', { day: 2 }),
    ],
  },
  { name: 'a conflict', records: [record('east'), record('west', { spec: { ports: [{ ...http, port: 81 }] } })] },
  { name: 'headless', records: [record('east', { spec: headless }), record('west', { spec: headless })] },
  { name: 'two families', records: [record('east', { spec: { ipFamilies: ['IPv4', 'IPv6'] } })] },
  {
    name: 'no ports',
    records: [record('east', { spec: { ...headless, ports: [] }, slices: [sourceSlice('a', { ports: [] })] })],
  },
  { name: 'nobody', records: [] },
];

describe('a server stores projected objects unchanged', () => {
  const dual = ['10.96.0.0/16', 'fd00:96::/108'];
  for (const { hasStockProxy, serviceCidrs } of [
    { hasStockProxy: false, serviceCidrs: dual },
    { hasStockProxy: true, serviceCidrs: dual.slice(0, 1) },
    { hasStockProxy: true, serviceCidrs: dual },
  ]) {
    test(`from each state to the next, ${hasStockProxy ? 'with' : 'without'} a stock proxy on ${serviceCidrs.join(' and ')}`, async () => {
      await using server = await testServer({ serviceCidrs });
      using client = new Client(inProcess((request) => server.handle({ ...request, user })));
      await client.create(namespaceKind, { metadata: { name: web.namespace }, spec: {}, status: {} });
      const target = { member: member('north', { hasStockProxy }), vip };
      for (const { name, records } of [...states, ...states.toReversed()]) {
        const actual = await settleIn(client, records, target);
        assert.equal(actual.serviceImport === undefined, records.length === 0, name);
      }
    });
  }

  test('MCS-18 MCS-19 MCS-21 writes conditions and finalizers of exports', async () => {
    await using server = await testServer();
    using client = new Client(inProcess((request) => server.handle({ ...request, user })));
    await client.create(namespaceKind, { metadata: { name: web.namespace }, spec: {}, status: {} });
    const bare = { metadata: web };
    await client.create(superclusterExportKind, bare);
    await client.create(serviceExportKind, { ...bare, spec: labels.spec ?? {} });
    const deliveries = [{ cluster: 'east', state: 'acknowledged', hasAddress: true } as const];
    const round = async (isWithdrawn: boolean): Promise<number> => {
      const [supercluster, clusterset] = [
        await client.find(superclusterExportKind, web),
        await client.find(serviceExportKind, web),
      ];
      const merged = merge(web, [record('east', { superclusterExport: supercluster, serviceExport: clusterset })]);
      const [exporter] = merged.exporters;
      assert.ok(exporter);
      const writes = diffExports(merged, exporter, { deliveries, isWithdrawn, now });
      for (const write of writes) await make(client, write);
      return writes.length;
    };
    assert.deepEqual([await round(false), await round(false), await round(false)], [2, 2, 0]);
    const { metadata, status } = await client.get(serviceExportKind, web);
    assert.deepEqual(metadata.finalizers, [exportFinalizer]);
    assert.deepEqual(
      status?.conditions?.map(({ type, status: state }) => `${type} ${state}`),
      ['Valid True', 'Ready True', 'Conflict False'],
    );
    await client.delete(superclusterExportKind, web);
    await client.delete(serviceExportKind, web);
    assert.equal(await round(false), 0);
    assert.equal(await round(true), 2);
    assert.equal(await client.find(superclusterExportKind, web), undefined);
    assert.equal(await client.find(serviceExportKind, web), undefined);
  });
});

test('keeps conditions of a supercluster export without reasons', () => {
  const old = {
    ...superclusterExport({ finalizers: [exportFinalizer] }),
    status: { conditions: [{ type: 'Initialized', status: 'True' }] },
  };
  const merged = merge(web, [record('east', { superclusterExport: old, serviceExport: undefined })]);
  const [exporter] = merged.exporters;
  assert.ok(exporter);
  assert.equal(diffExports(merged, exporter, { deliveries: [], isWithdrawn: false, now }).length, 1);
});
