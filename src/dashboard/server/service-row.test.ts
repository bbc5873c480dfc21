import assert from 'node:assert/strict';
import { test } from 'node:test';

import { serviceKind } from '../../api/kinds/core/service/kind.ts';
import type { Service } from '../../api/kinds/core/service/schema.ts';
import { endpointSliceKind } from '../../api/kinds/discovery/endpointslice/kind.ts';
import type { EndpointSlice } from '../../api/kinds/discovery/endpointslice/schema.ts';
import { serviceExportKind } from '../../api/kinds/multicluster/serviceexport/kind.ts';
import type { ServiceExport } from '../../api/kinds/multicluster/serviceexport/schema.ts';
import { importedServiceKind } from '../../api/kinds/multicluster/supercluster/import.ts';
import type { ImportedService } from '../../api/kinds/multicluster/supercluster/import.ts';
import { decode } from '../../api/schema/decode.ts';
import type { EventRow, Finding } from '../view/rows.ts';
import { importRow, serviceRow } from './service-row.ts';

const metadata = { namespace: 'shop', name: 'web' };
const service = (spec: object, status: object = {}): Service =>
  decode<Service>(serviceKind.schema, {
    metadata,
    spec: { ports: [{ port: 80 }], clusterIP: '192.0.2.1', ...spec },
    status,
  }).object;
const slice = (endpoints: readonly object[], labels: object = {}): EndpointSlice =>
  decode<EndpointSlice>(endpointSliceKind.schema, {
    metadata: { ...metadata, labels },
    addressType: 'IPv4',
    endpoints,
  }).object;
const endpoint = (address: string, conditions: object = {}): object => ({ addresses: [address], conditions });
const exportWith = (...conditions: readonly object[]): ServiceExport =>
  decode<ServiceExport>(serviceExportKind.schema, { metadata, status: { conditions } }).object;
const condition = (type: string, status: string, reason: string, message: string): object => ({
  type,
  status,
  reason,
  message,
});
const ready = slice([endpoint('192.0.2.10')]);
const unserved: EventRow = {
  id: '1',
  cluster: 'east',
  namespace: 'shop',
  object: 'Service shop/web',
  isWarning: true,
  reason: 'NotServed',
  text: 'port 80 is taken',
  at: '2026-01-01T00:00:00Z',
};

const cases: readonly {
  readonly name: string;
  readonly given: Parameters<typeof service>;
  readonly slices?: readonly EndpointSlice[];
  readonly exports?: readonly ServiceExport[];
  readonly warnings?: readonly EventRow[];
  readonly want: readonly Finding[];
}[] = [
  { name: 'a Service with a ready endpoint needs no attention', given: [{}], want: [] },
  {
    name: 'names errors before warnings',
    given: [{ selector: { app: 'web' } }],
    slices: [],
    exports: [exportWith(condition('Conflict', 'True', 'PortConflict', 'the ports differ'))],
    want: [
      { level: 'error', reason: 'Conflict', text: 'the ports differ' },
      { level: 'warning', reason: 'NoEndpoints', text: 'no running Pod has the labels app=web' },
    ],
  },
  {
    name: 'names the selector of a Service without endpoints',
    given: [{ selector: { app: 'web' } }],
    slices: [],
    want: [{ level: 'warning', reason: 'NoEndpoints', text: 'no running Pod has the labels app=web' }],
  },
  {
    name: 'names the failure of the controller that writes the endpoints',
    given: [{ selector: { app: 'web' } }],
    slices: [],
    warnings: [{ ...unserved, reason: 'FailedToUpdateEndpointSlices', text: 'node "b" not found' }],
    want: [{ level: 'warning', reason: 'NoEndpoints', text: 'node "b" not found' }],
  },
  {
    name: 'a Service without any ready endpoint is an error',
    given: [{}],
    slices: [
      slice([endpoint('192.0.2.1', { ready: false }), endpoint('192.0.2.2', { ready: false, terminating: true })]),
    ],
    want: [{ level: 'error', reason: 'NoReadyEndpoints', text: 'none of 2 endpoints is ready' }],
  },
  {
    name: 'an alias needs no endpoints',
    given: [{ type: 'ExternalName', externalName: 'example.org' }],
    slices: [],
    want: [],
  },
  {
    name: 'a refused load balancer is an error with the reason of its condition',
    given: [
      { type: 'LoadBalancer' },
      { conditions: [condition('LoadBalancerPortsError', 'True', 'PortsRefused', 'no mixed protocols')] },
    ],
    want: [{ level: 'error', reason: 'PortsRefused', text: 'load balancer: no mixed protocols' }],
  },
  {
    name: 'a load balancer that serves some ports is a warning',
    given: [
      { type: 'LoadBalancer' },
      {
        loadBalancer: { ingress: [{ ip: '192.0.2.9' }] },
        conditions: [condition('LoadBalancerPortsError', 'True', 'PortsRefused', 'one port')],
      },
    ],
    want: [{ level: 'warning', reason: 'PortsRefused', text: 'load balancer: one port' }],
  },
  {
    name: 'a conflict is reported once, with its message',
    given: [{}],
    exports: [
      exportWith(
        condition('Conflict', 'True', 'PortConflict', 'ports differ'),
        condition('Ready', 'False', 'Failed', 'x'),
      ),
      exportWith(condition('Conflict', 'True', 'PortConflict', 'ports differ')),
    ],
    want: [{ level: 'error', reason: 'Conflict', text: 'ports differ' }],
  },
  {
    name: 'an export that no controller reports about is a warning',
    given: [{}],
    exports: [exportWith()],
    want: [
      {
        level: 'warning',
        reason: 'ExportPending',
        text: 'exported, but no multi-cluster controller has reported about it yet',
      },
    ],
  },
  {
    name: 'a Service that a proxy does not route is a warning',
    given: [{}],
    warnings: [unserved],
    want: [{ level: 'warning', reason: 'NotServed', text: 'proxy: port 80 is taken' }],
  },
];

for (const { name, given, slices = [ready], exports = [], warnings = [], want } of cases) {
  test(name, () => {
    const row = serviceRow({ cluster: 'east', service: service(...given), slices, exports, warnings });
    assert.deepEqual(row.findings, want);
  });
}

test('an address in several slices counts once, and as ready if it is ready in one of them', () => {
  const slices = [
    slice([endpoint('192.0.2.1', { ready: false })]),
    slice([endpoint('192.0.2.1')]),
    slice([endpoint('192.0.2.2')]),
  ];
  const row = serviceRow({ cluster: 'east', service: service({}), slices, exports: [], warnings: [] });
  assert.deepEqual(row.endpoints, { ready: 2, notReady: 0, terminating: 0 });
});

test('nothing is shown of kinds that the viewer may not read', () => {
  const row = serviceRow({
    cluster: 'east',
    service: service({ selector: { app: 'web' } }),
    slices: undefined,
    exports: undefined,
    warnings: undefined,
  });
  assert.equal(row.endpoints, undefined);
  assert.equal(row.exported, undefined);
  assert.deepEqual(row.findings, []);
});

test('the SRV name of a port is that of srvServiceName, and load balancer errors are at their port', () => {
  const spec = {
    type: 'LoadBalancer',
    ports: [{ name: 'kerberos-udp', port: 88, protocol: 'UDP', srvServiceName: 'kerberos' }],
  };
  const status = {
    loadBalancer: { ingress: [{ ip: '192.0.2.9', ports: [{ port: 88, protocol: 'UDP', error: 'Taken' }] }] },
  };
  const row = serviceRow({
    cluster: 'east',
    service: service(spec, status),
    slices: [ready],
    exports: [],
    warnings: [],
  });
  assert.deepEqual(row.ports, [{ name: 'kerberos-udp', port: '88/UDP', srv: '_kerberos._udp', error: 'Taken' }]);
  assert.deepEqual(row.external, ['192.0.2.9']);
});

test('an import counts the endpoints of each source cluster', () => {
  const imported = decode<ImportedService>(importedServiceKind.schema, {
    metadata,
    spec: {
      ip: '192.0.2.7',
      ipFamily: 'IPv4',
      ports: [{ port: 80 }],
      clusters: [{ cluster: 'east' }, { cluster: 'west' }],
    },
  }).object;
  const from = (cluster: string, conditions: object): EndpointSlice =>
    slice([endpoint('192.0.2.1', conditions)], { 'multicluster.kubernetes.io/source-cluster': cluster });
  const row = (isEastReady: boolean) =>
    importRow({
      cluster: 'west',
      key: 'shop/web',
      imported,
      serviceImport: undefined,
      slices: [from('east', { ready: isEastReady }), from('west', { ready: false })],
    });
  assert.deepEqual(row(true).sources, [
    { cluster: 'east', ready: 1, notReady: 0, terminating: 0 },
    { cluster: 'west', ready: 0, notReady: 1, terminating: 0 },
  ]);
  assert.deepEqual(row(true).findings, []);
  assert.deepEqual(row(false).findings, [
    { level: 'error', reason: 'NoReadyEndpoints', text: 'no endpoint of east, west is ready' },
  ]);
});
