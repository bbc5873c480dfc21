import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Registry } from 'prom-client';

import { failure } from '../../api/errors.ts';
import { namespaceKind } from '../../api/kinds/core/namespace/kind.ts';
import type { Namespace } from '../../api/kinds/core/namespace/schema.ts';
import { serviceKind } from '../../api/kinds/core/service/kind.ts';
import type { Service } from '../../api/kinds/core/service/schema.ts';
import { endpointSliceKind } from '../../api/kinds/discovery/endpointslice/kind.ts';
import { triggerTimeAnnotation } from '../../api/kinds/discovery/endpointslice/labels.ts';
import { serviceImportKind } from '../../api/kinds/multicluster/serviceimport/kind.ts';
import type { ServiceImport } from '../../api/kinds/multicluster/serviceimport/schema.ts';
import { importedServiceKind } from '../../api/kinds/multicluster/supercluster/import.ts';
import { Client } from '../../client/client.ts';
import type { Clock } from '../../client/clock.ts';
import { systemClock } from '../../client/clock.ts';
import { inProcess } from '../../client/in-process.ts';
import type { ApiRequest, Transport } from '../../client/transport.ts';
import type { TestServer } from '../../server/testing/server.ts';
import { testServer } from '../../server/testing/server.ts';
import { until } from '../../server/testing/until.ts';
import type { Name } from '../../dnswire/data.ts';
import { openZones } from '../records/open-zones.ts';
import { endpoint, slice } from '../records/testing/records.ts';
import { srvNamesAnnotation } from '../../api/kinds/core/service/srv-names.ts';
import type { ZoneUpdaterOptions } from './zone-updater.ts';
import { ZoneController } from './zone-controller.ts';
import { zoneMetrics, programmingDuration } from './metrics.ts';

const user = { name: 'dns', uid: '', groups: ['system:masters', 'system:authenticated'] };
const base: ZoneUpdaterOptions = {
  clusterDomain: 'cluster.local',
  clustersetDomain: 'clusterset.local',
  superclusterDomain: 'supercluster.local',
};

/** A transport that rejects requests for some paths. */
function refusing(inner: Transport, refuses: (path: string) => number | undefined): Transport {
  const check = ({ path }: ApiRequest): void => {
    const code = refuses(path);
    if (code !== undefined) throw failure({ code, reason: code === 404 ? 'NotFound' : 'Forbidden', message: 'no' });
  };
  return {
    request: async (call) => {
      check(call);
      return inner.request(call);
    },
    stream: (call) => {
      check(call);
      return inner.stream(call);
    },
    [Symbol.dispose]: () => inner[Symbol.dispose](),
  };
}

/** A zone controller that has synced. */
async function following(
  server: TestServer,
  {
    refuses = () => undefined,
    options = base,
    clock = systemClock,
  }: {
    readonly refuses?: (path: string) => number | undefined;
    readonly options?: ZoneUpdaterOptions;
    readonly clock?: Clock;
  } = {},
) {
  const transport = inProcess((request) => server.handle({ ...request, user }));
  const client = new Client(transport);
  const zones = openZones(options, { addresses: [] });
  const changed: Name[] = [];
  const errors: unknown[] = [];
  const metrics = new Registry();
  const controller = new ZoneController({
    client: new Client(refusing(transport, refuses)),
    zones,
    records: options,
    changed: (names) => changed.push(...names),
    sliceServed: programmingDuration(metrics),
    log: { debug: () => {}, warn: (fields: { readonly err: unknown }) => errors.push(fields.err) },
    clock,
  });
  zoneMetrics(metrics, controller, zones);
  void controller.start();
  assert.equal(controller.hasSynced, false);
  await until('it has synced', () => controller.hasSynced);
  return {
    client,
    zones,
    controller,
    changed,
    errors,
    metrics,
    async [Symbol.asyncDispose]() {
      await controller.stop();
    },
  };
}

const aService = (name: string, spec: Partial<Service['spec']> = {}): Service =>
  // A cast since the server fills in the rest.
  ({
    metadata: { name, namespace: 'default' },
    spec: { ports: [{ name: 'http', port: 80 }], ...spec },
  }) as unknown as Service;

describe('ZoneController', () => {
  it('NAME-7 EXT-1 publishes the objects of the server, and every change of them', async () => {
    await using server = await testServer();
    const before = new Client(inProcess((request) => server.handle({ ...request, user })));
    await before.create(serviceKind, aService('1svc'));
    await using running = await following(server);
    const { client, zones, changed } = running;
    assert.deepEqual([...(zones.find('1svc.default.svc.cluster.local')?.sets.keys() ?? [])], ['A', 'SRV']);
    // The API server's own Service, which every cluster has.
    assert.ok(zones.find('kubernetes.default.svc.cluster.local'));
    changed.length = 0;
    await client.create(serviceKind, aService('db', { type: 'ExternalName', externalName: 'db.example.org' }));
    const alias = await until('the alias', () => zones.find('db.default.svc.cluster.local'));
    assert.deepEqual(alias.sources(), ['Service/default/db']);
    assert.deepEqual(changed, ['db.default.svc.cluster.local']);
    await client.create(serviceKind, aService('peers', { clusterIP: 'None' }));
    const made = slice([endpoint('10.1.0.1', { hostname: 'p-0' })], {
      metadata: { name: 'peers-1', labels: { 'kubernetes.io/service-name': 'peers' } },
    });
    await client.create(endpointSliceKind, made);
    await until('an endpoint', () => zones.find('p-0.peers.default.svc.cluster.local'));
    await client.delete(serviceKind, { namespace: 'default', name: 'peers' });
    await until('it is gone', () => zones.find('peers.default.svc.cluster.local') === undefined);
    assert.deepEqual(running.errors, []);
  });

  it('updates the zones of namespaces and imports', async () => {
    await using server = await testServer();
    await using running = await following(server);
    const { client, zones } = running;
    await client.create(namespaceKind, { metadata: { name: 'shop' } } as Namespace);
    await until('a namespace', () => zones.find('shop.svc.clusterset.local'));
    const spec: NonNullable<ServiceImport['spec']> = { type: 'ClusterSetIP', ips: ['10.98.0.1'], ports: [] };
    await client.create(serviceImportKind, { metadata: { name: 'web', namespace: 'shop' }, spec });
    await until('an import', () => zones.find('web.shop.svc.clusterset.local'));
    await client.create(importedServiceKind, {
      metadata: { name: 'web', namespace: 'shop' },
      spec: { ipFamily: 'IPv4', ip: '10.99.0.1', ports: [], clusters: [] },
    });
    await until('the other kind', () => zones.find('web.shop.svc.supercluster.local'));
    const resources = running.controller.silence().map(({ plural }) => plural);
    assert.deepEqual(resources.toSorted(), [
      'endpointslices',
      'importedservices',
      'namespaces',
      'serviceimports',
      'services',
    ]);
  });

  for (const code of [403, 404]) {
    it(`syncs without imports when discovery returns ${code}, and publishes them once they are served`, async () => {
      await using server = await testServer();
      let isAbsent = true;
      const clock: Clock = {
        ...systemClock,
        after: (ms, run) => systemClock.after(ms === 60_000 ? 5 : ms, run),
      };
      const refuses = (path: string): number | undefined =>
        isAbsent && path.startsWith('/apis/multicluster.') ? code : undefined;
      await using running = await following(server, { refuses, clock });
      assert.ok(running.zones.find('kubernetes.default.svc.cluster.local'));
      assert.deepEqual(
        running.controller.silence().map(({ plural }) => plural),
        ['namespaces', 'services', 'endpointslices'],
      );
      assert.deepEqual(running.errors, []);
      isAbsent = false;
      const spec: NonNullable<ServiceImport['spec']> = { type: 'ClusterSetIP', ips: ['10.98.0.1'], ports: [] };
      await running.client.create(serviceImportKind, { metadata: { name: 'web', namespace: 'default' }, spec });
      await until('an import', () => running.zones.find('web.default.svc.clusterset.local'));
    });
  }

  it('reads imports in the older version when the newer one is not served', async () => {
    await using server = await testServer();
    const refuses = (path: string): number | undefined => (path.includes('/v1beta1') ? 404 : undefined);
    await using running = await following(server, { refuses });
    const spec: NonNullable<ServiceImport['spec']> = { type: 'ClusterSetIP', ips: ['10.98.0.1'], ports: [] };
    await running.client.create(serviceImportKind, { metadata: { name: 'web', namespace: 'default' }, spec });
    await until('an import', () => running.zones.find('web.default.svc.clusterset.local'));
  });

  it('syncs when imports are served but forbidden, and logs each refusal once', async () => {
    await using server = await testServer();
    const refuses = (path: string): number | undefined =>
      /multicluster.*(serviceimports|importedservices)/.test(path) ? 403 : undefined;
    await using running = await following(server, { refuses });
    assert.equal(running.errors.length, 2);
  });

  it('SRV-12 exports the watch age, the programming duration, and the use of SRV names', async () => {
    await using server = await testServer();
    await using running = await following(server);
    const { client, zones, metrics } = running;
    const ports = [
      { name: 'kerberos-tcp', port: 88, srvServiceName: 'kerberos' },
      { name: 'kerberos-udp', port: 88, protocol: 'UDP' as const },
    ];
    const object = aService('idm', { ports });
    const annotations = { [srvNamesAnnotation]: 'kerberos-tcp=x,kerberos-udp=kerberos' };
    await client.create(serviceKind, { ...object, metadata: { ...object.metadata, annotations } });
    await until('SRV-13 both names', () => zones.find('_kerberos._udp.idm.default.svc.cluster.local'));
    await client.create(
      endpointSliceKind,
      slice([endpoint('10.1.0.1')], {
        metadata: {
          name: 'idm-1',
          labels: { 'kubernetes.io/service-name': 'idm' },
          annotations: { [triggerTimeAnnotation]: new Date(Date.now() - 1500).toISOString() },
        },
      }),
    );
    await until('an endpoint', () => zones.find('10-1-0-1.idm.default.svc.cluster.local'));
    const text = await metrics.metrics();
    assert.match(text, /^fairlead_dns_srv_service_name_ports\{by="field"\} 1$/m);
    assert.match(text, /^fairlead_dns_srv_service_name_ports\{by="annotation"\} 1$/m);
    assert.match(text, /^fairlead_dns_watch_age_seconds\{resource="services"\} \d/m);
    assert.match(text, /^fairlead_dns_names \d\d/m);
    const duration = 'coredns_kubernetes_dns_programming_duration_seconds';
    assert.match(text, new RegExp(`^${duration}_count\\{service_kind="cluster_ip"\\} 1$`, 'm'));
    assert.match(text, new RegExp(`^${duration}_bucket\\{le="1.024",service_kind="cluster_ip"\\} 0$`, 'm'));
  });
});
