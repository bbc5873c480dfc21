import assert from 'node:assert/strict';
import { describe, it } from 'node:test';

import type { EndpointSlice } from '../../api/kinds/discovery/endpointslice/schema.ts';
import type { ServiceImport, ServiceImportSpec } from '../../api/kinds/multicluster/serviceimport/schema.ts';
import type { ImportedService, ImportedServiceSpec } from '../../api/kinds/multicluster/supercluster/import.ts';
import type { ObjectMeta } from '../../api/metadata.ts';
import { importNameLabel, sourceClusterLabel } from '../../api/kinds/multicluster/labels.ts';
import { importedSlice, modelOfImport, modelOfImportedService, importRecords, importSliceRecords } from './imports.ts';
import type { RecordOptions } from './options.ts';
import type { SliceSettings } from './testing/records.ts';
import { endpoint, lines, slice, zoneLines } from './testing/records.ts';
import { srvNamesAnnotation } from '../../api/kinds/core/service/srv-names.ts';
import { Zones } from './zones.ts';

const options: RecordOptions = {
  clusterDomain: 'cluster.local',
  clustersetDomain: 'clusterset.local',
  superclusterDomain: 'supercluster.local',
};

const serviceImport = (spec: Partial<ServiceImportSpec>, metadata: ObjectMeta = {}): ServiceImport => ({
  metadata: { name: 'web', namespace: 'default', ...metadata },
  spec: { type: 'ClusterSetIP', ports: [{ name: 'http', port: 80, protocol: 'TCP' }], ...spec },
});

const importedService = (spec: Partial<ImportedServiceSpec>): ImportedService => ({
  metadata: { name: 'web', namespace: 'default' },
  spec: { ipFamily: 'IPv4', clusters: [], ports: [{ name: 'http', port: 80, protocol: 'TCP' }], ...spec },
});

const from = (
  cluster: string,
  endpoints: Parameters<typeof slice>[0],
  { ports }: Pick<SliceSettings, 'ports'> = {},
): EndpointSlice =>
  slice(endpoints, {
    name: `web-${cluster}`,
    metadata: { labels: { [importNameLabel]: 'web', [sourceClusterLabel]: cluster } },
    ...(ports === undefined ? {} : { ports }),
  });

/** The records of an import of either API version. */
function recordLines(
  object: ServiceImport | ImportedService,
  slices: readonly EndpointSlice[] = [],
  overrides: Partial<RecordOptions> = {},
): readonly string[] {
  const all = { ...options, ...overrides };
  const isSeed = object.spec !== undefined && 'ipFamily' in object.spec;
  // Casts: the condition above distinguishes the two kinds.
  const model = isSeed
    ? modelOfImportedService(object as ImportedService, 'supercluster.local')
    : modelOfImport(object as ServiceImport, 'clusterset.local');
  if (model === undefined) return [];
  return lines([
    ...importRecords(model, slices, all),
    ...slices.flatMap((each) => importSliceRecords(model, importedSlice(each), all)),
  ]);
}

const web = 'web.default.svc.clusterset.local';
const supercluster = 'web.default.svc.supercluster.local';

describe('an import with an IP', () => {
  it('MCS-55 publishes the IPs, and neither names of endpoints nor PTR records', () => {
    const got = recordLines(serviceImport({ ips: ['10.98.0.1', 'fd00:98::1'] }), [
      from('east', [endpoint('10.0.0.1')]),
    ]);
    assert.deepEqual(got, [
      `_http._tcp.${web} 30 SRV 0 100 80 ${web}.`,
      `${web} 30 A 10.98.0.1`,
      `${web} 30 AAAA fd00:98::1`,
      `${web} 30 SRV 0 100 80 ${web}.`,
    ]);
  });

  it('has the same records from an ImportedService, in the other zone', () => {
    assert.deepEqual(recordLines(importedService({ ip: '10.98.0.1' })), [
      `_http._tcp.${supercluster} 30 SRV 0 100 80 ${supercluster}.`,
      `${supercluster} 30 A 10.98.0.1`,
      `${supercluster} 30 SRV 0 100 80 ${supercluster}.`,
    ]);
  });

  it('exists without records until it has an IP, with no names below it', () => {
    const zones = new Zones([{ apex: 'clusterset.local' }]);
    const model = modelOfImport(serviceImport({}), 'clusterset.local');
    assert.ok(model);
    const slices = [from('east', [endpoint('10.0.0.1')])];
    zones.put('ServiceImport/default/web', importRecords(model, slices, options));
    assert.equal(zones.find(web)?.sets.size, 0);
    assert.equal(zones.find(`east.${web}`), undefined);
  });

  it('MCS-161 takes SRV names from the ports of its slices or its annotation', () => {
    const ports = [
      { name: 'kerberos-tcp', port: 88, protocol: 'TCP' as const },
      { name: 'kerberos-udp', port: 88, protocol: 'UDP' as const },
    ];
    const named = ports.map((port) => ({ ...port, srvServiceName: 'kerberos' }));
    const want = [`_kerberos._tcp.${web} 30 SRV 0 100 88 ${web}.`, `_kerberos._udp.${web} 30 SRV 0 100 88 ${web}.`];
    const srv = (got: readonly string[]): readonly string[] => got.filter((line) => line.startsWith('_'));
    const object = serviceImport({ ips: ['10.98.0.1'], ports });
    assert.deepEqual(srv(recordLines(object, [from('east', [], { ports: named })])), want);
    const annotated = { [srvNamesAnnotation]: 'kerberos-tcp=kerberos,kerberos-udp=kerberos' };
    assert.deepEqual(srv(recordLines(serviceImport({ ips: ['10.98.0.1'], ports }, { annotations: annotated }))), want);
    assert.deepEqual(
      srv(recordLines(object, [from('east', [], { ports: named })], { srvServiceNames: false })),
      want.map((line) => line.replace(/^_kerberos\._(tcp|udp)/, '_kerberos-$1._$1')),
    );
  });

  it('has no records if its name is not a DNS label', () => {
    assert.deepEqual(recordLines(serviceImport({ ips: ['10.98.0.1'] }, { name: 'a.b' })), []);
  });
});

describe('a headless import', () => {
  const object = serviceImport({ type: 'Headless' });

  it('MCS-94 publishes the ready endpoints of all clusters by hostname and cluster', () => {
    const got = recordLines(object, [
      from('east', [
        endpoint('10.0.0.1', { hostname: 'web-0' }),
        endpoint('10.0.0.9', { conditions: { ready: false } }),
      ]),
      from('west', [endpoint('10.1.0.1')]),
    ]);
    assert.deepEqual(
      got,
      [
        `${web} 5 A 10.0.0.1`,
        `${web} 5 A 10.1.0.1`,
        `web-0.east.${web} 5 A 10.0.0.1`,
        `10-1-0-1.west.${web} 5 A 10.1.0.1`,
        `${web} 5 SRV 0 100 8080 web-0.east.${web}.`,
        `${web} 5 SRV 0 100 8080 10-1-0-1.west.${web}.`,
        `_http._tcp.${web} 5 SRV 0 100 8080 web-0.east.${web}.`,
        `_http._tcp.${web} 5 SRV 0 100 8080 10-1-0-1.west.${web}.`,
      ].toSorted(),
    );
  });

  it('MCS-95 publishes Pods with one name in two clusters under different names', () => {
    const ordinal = (address: string) => [endpoint(address, { hostname: 'web-0' })];
    const lines = recordLines(object, [from('east', ordinal('10.0.0.1')), from('west', ordinal('10.1.0.1'))]);
    assert.deepEqual(
      lines.filter((line) => line.startsWith('web-0.')),
      [`web-0.east.${web} 5 A 10.0.0.1`, `web-0.west.${web} 5 A 10.1.0.1`],
    );
  });

  it('publishes no records at <cluster>.<service>', () => {
    const zones = new Zones([{ apex: 'clusterset.local' }]);
    const model = modelOfImport(object, 'clusterset.local');
    assert.ok(model);
    const imported = importedSlice(from('east.example', [endpoint('10.0.0.1')], { ports: [] }));
    zones.put('EndpointSlice/default/web-east', importSliceRecords(model, imported, options));
    assert.deepEqual(zoneLines(zones, 'clusterset.local'), [
      `10-0-0-1.east.example.${web} A 10.0.0.1`,
      'clusterset.local',
      'default.svc.clusterset.local',
      `east.example.${web}`,
      `example.${web}`,
      'svc.clusterset.local',
      `${web} A 10.0.0.1`,
    ]);
  });

  it('publishes no names of endpoints if the cluster id is not valid in a name', () => {
    for (const cluster of ['', 'a.b.c', 'not_a_label', 'a..b']) {
      assert.deepEqual(recordLines(object, [from(cluster, [endpoint('10.0.0.1')])]), [`${web} 5 A 10.0.0.1`]);
    }
    // A hostname, a cluster id of two labels, a service and a namespace can exceed the length of a name.
    const long = `${'a'.repeat(63)}.${'b'.repeat(63)}`;
    const deep = serviceImport({ type: 'Headless' }, { namespace: 'n'.repeat(63) });
    assert.deepEqual(recordLines(deep, [from(long, [endpoint('10.0.0.1', { hostname: 'c'.repeat(63) })])]), [
      `web.${'n'.repeat(63)}.svc.clusterset.local 5 A 10.0.0.1`,
    ]);
  });

  it('MCS-135 publishes endpoints that are not ready only for clusters with publishNotReadyAddresses', () => {
    const notReady = { conditions: { ready: false } };
    const clusters = [{ cluster: 'east', publishNotReadyAddresses: true }, { cluster: 'west' }];
    const got = recordLines(importedService({ clusters }), [
      from('east', [endpoint('10.0.0.1', notReady)], { ports: [] }),
      from('west', [endpoint('10.1.0.1', notReady)], { ports: [] }),
    ]);
    assert.deepEqual(got, [`10-0-0-1.east.${supercluster} 5 A 10.0.0.1`, `${supercluster} 5 A 10.0.0.1`]);
  });

  it('has no records without ready endpoints', () => {
    assert.deepEqual(recordLines(object, [from('east', [endpoint('10.0.0.1', { conditions: { ready: false } })])]), []);
    assert.deepEqual(recordLines(object, [from('east', [endpoint('10.0.0.1')])], { noEndpoints: true }), []);
  });
});
