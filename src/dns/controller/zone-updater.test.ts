import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';

import type { Namespace } from '../../api/kinds/core/namespace/schema.ts';
import type { Pod } from '../../api/kinds/core/pod/schema.ts';
import type { Service } from '../../api/kinds/core/service/schema.ts';
import { serviceNameLabel } from '../../api/kinds/discovery/endpointslice/labels.ts';
import type { EndpointSlice } from '../../api/kinds/discovery/endpointslice/schema.ts';
import type { ServiceImport } from '../../api/kinds/multicluster/serviceimport/schema.ts';
import type { ImportedService } from '../../api/kinds/multicluster/supercluster/import.ts';
import type { ApiObject } from '../../api/metadata.ts';
import { parseLabelSelector } from '../../api/selectors/labels.ts';
import { importNameLabel, importedServiceNameLabel, sourceClusterLabel } from '../../api/kinds/multicluster/labels.ts';
import { keyOf } from '../../client/key.ts';
import { ObjectCache } from '../../client/object-cache.ts';
import { prepare } from '../answer/prepare.ts';
import type { Name } from '../../dnswire/data.ts';
import { openZones } from '../records/open-zones.ts';
import { endpoint, headless, service, slice, zoneLines } from '../records/testing/records.ts';
import type { Zones } from '../records/zones.ts';
import type { ZoneUpdaterOptions } from './zone-updater.ts';
import { ZoneUpdater } from './zone-updater.ts';
import { byNamespace, sliceIndexes } from './caches.ts';

const base: ZoneUpdaterOptions = {
  clusterDomain: 'cluster.local',
  clustersetDomain: 'clusterset.local',
  superclusterDomain: 'supercluster.local',
};

const openCaches = () => ({
  namespaces: new ObjectCache<Namespace>({}),
  services: new ObjectCache<Service, 'namespace'>(byNamespace),
  slices: new ObjectCache<EndpointSlice, 'namespace' | 'owner'>(sliceIndexes),
  pods: new ObjectCache<Pod, 'namespace'>(byNamespace),
  imports: new ObjectCache<ServiceImport, 'namespace'>(byNamespace),
  importedServices: new ObjectCache<ImportedService, 'namespace'>(byNamespace),
});

type TestCaches = ReturnType<typeof openCaches>;

const zonesBy = (options: ZoneUpdaterOptions): Zones => openZones(options, { addresses: ['192.0.2.53'] });

/** Caches and zones of a cluster, to which tests apply one change after another. */
class Cluster {
  readonly caches: TestCaches = openCaches();
  readonly zones: Zones;
  readonly changed: (readonly Name[])[] = [];
  readonly updater: ZoneUpdater;
  #revision = 0;

  constructor(options: ZoneUpdaterOptions = base) {
    this.zones = zonesBy(options);
    this.updater = new ZoneUpdater(this.caches, {
      zones: this.zones,
      options,
      changed: (names) => this.changed.push(names),
    });
  }

  set(change: Change): void {
    const resourceVersion = String(++this.#revision);
    const { metadata } = change.object;
    const known = { ...metadata, uid: metadata.uid ?? 'uid', resourceVersion };
    const old = change.kind === 'EndpointSlice' ? this.caches.slices.get(keyOf(change.object)) : undefined;
    this.#write(change, known);
    this.#notify(change, old);
  }

  #write({ kind, object, isGone }: Change, metadata: ApiObject['metadata']): void {
    const caches = {
      Namespace: this.caches.namespaces,
      Service: this.caches.services,
      EndpointSlice: this.caches.slices,
      Pod: this.caches.pods,
      ServiceImport: this.caches.imports,
      ImportedService: this.caches.importedServices,
    };
    // A cast, since the kind determines the cache of the object.
    const cache = caches[kind] as unknown as ObjectCache<ApiObject>;
    if (isGone) cache.delete(object);
    else cache.set({ ...object, metadata });
  }

  #notify({ kind, object }: Change, old: EndpointSlice | undefined): void {
    const key = keyOf(object);
    if (kind === 'Namespace') this.updater.namespaceChanged(key);
    else if (kind === 'Service') this.updater.serviceChanged(key);
    else if (kind === 'EndpointSlice') this.updater.sliceChanged(object as EndpointSlice, old);
    else if (kind === 'Pod') this.updater.podChanged(key);
    else this.updater.importChanged(kind, key);
  }
}

interface Change {
  readonly kind: 'Namespace' | 'Service' | 'EndpointSlice' | 'Pod' | 'ServiceImport' | 'ImportedService';
  readonly object: ApiObject;
  readonly isGone: boolean;
}

const namespace = (name: string, labels: Record<string, string> = {}): Change => ({
  kind: 'Namespace',
  // Only the fields that are read are written out.
  object: { metadata: { name, labels } },
  isGone: false,
});
const is = (kind: Change['kind'], object: ApiObject): Change => ({ kind, object, isGone: false });
const gone = (change: Change): Change => ({ ...change, isGone: true });

const web = 'web.default.svc.cluster.local';

describe('ZoneUpdater', () => {
  it('publishes a Service once its namespace exists, whichever is added first', () => {
    const cluster = new Cluster();
    cluster.set(is('Service', service()));
    cluster.set(is('EndpointSlice', slice([endpoint('10.0.0.1')])));
    assert.equal(cluster.changed.length, 0);
    assert.equal(cluster.zones.find('1.0.0.10.in-addr.arpa'), undefined);
    cluster.set(namespace('default'));
    assert.equal(cluster.changed.length, 1);
    assert.ok(cluster.changed[0]?.includes(`10-0-0-1.${web}`));
    assert.ok(cluster.zones.find(web));
    cluster.set(gone(namespace('default')));
    assert.equal(cluster.zones.find('default.svc.cluster.local'), undefined);
    assert.equal(cluster.zones.find('1.0.0.10.in-addr.arpa'), undefined);
  });

  it('reports exactly the names whose answers changed', () => {
    const cluster = new Cluster();
    cluster.set(namespace('default'));
    cluster.set(is('Service', headless()));
    cluster.set(is('EndpointSlice', slice([endpoint('10.0.0.1'), endpoint('10.0.0.2')])));
    cluster.changed.length = 0;
    cluster.set(is('EndpointSlice', slice([endpoint('10.0.0.1'), endpoint('10.0.0.3')])));
    assert.deepEqual(cluster.changed.flat().toSorted(), [
      `10-0-0-2.${web}`,
      `10-0-0-3.${web}`,
      '2.0.0.10.in-addr.arpa',
      '3.0.0.10.in-addr.arpa',
      `_http._tcp.${web}`,
      web,
    ]);
    cluster.changed.length = 0;
    cluster.set(is('Service', headless({ sessionAffinity: 'ClientIP' })));
    assert.deepEqual(cluster.changed, []);
    cluster.set(gone(is('Service', headless())));
    assert.equal(cluster.zones.find(web), undefined);
  });

  it('reports SRV owners of one slice when another slice changes the addresses of their target', () => {
    const cluster = new Cluster();
    cluster.set(namespace('default'));
    cluster.set(is('Service', headless()));
    cluster.set(is('EndpointSlice', slice([endpoint('10.0.0.1', { hostname: 'web-0' })])));
    const other = (address: string): Change =>
      is('EndpointSlice', slice([endpoint(address, { hostname: 'web-0' })], { name: 'web-2', ports: [] }));
    cluster.set(other('fd00::1'));
    cluster.changed.length = 0;
    cluster.set(other('fd00::2'));
    assert.ok(cluster.changed.flat().includes(`_http._tcp.${web}`));
  });

  it('builds the answer for a topology zone on demand once the zone has no endpoints', () => {
    const cluster = new Cluster({ ...base, zonal: true });
    cluster.set(namespace('default'));
    cluster.set(is('Service', headless()));
    cluster.set(is('EndpointSlice', slice([endpoint('10.0.0.1', { zone: 'z1' })])));
    const name = `z1.prefer._zone.${web}`;
    assert.ok(prepare(cluster.zones, name));
    cluster.changed.length = 0;
    cluster.set(is('EndpointSlice', slice([endpoint('10.0.0.1', { zone: 'z2' })])));
    assert.ok(cluster.changed.flat().includes(name));
    assert.equal(prepare(cluster.zones, name), undefined);
    assert.equal(cluster.zones.find(name)?.sets.get('A')?.data.length, 1);
  });

  it('publishes no records, PTR records included, of namespaces that are not selected by name or label', () => {
    for (const choice of [
      { namespaces: new Set(['shop']) },
      { namespaceLabels: parseLabelSelector('dns=yes') },
    ] satisfies Partial<ZoneUpdaterOptions>[]) {
      const cluster = new Cluster({ ...base, ...choice });
      cluster.set(namespace('default'));
      cluster.set(namespace('shop', { dns: 'yes' }));
      cluster.set(is('Service', service()));
      cluster.set(is('Service', service({ clusterIP: '10.96.0.2' }, { namespace: 'shop' })));
      assert.equal(cluster.zones.find('default.svc.cluster.local'), undefined);
      assert.equal(cluster.zones.find('1.0.96.10.in-addr.arpa'), undefined);
      assert.ok(cluster.zones.find('web.shop.svc.cluster.local'));
      assert.ok(cluster.zones.find('2.0.96.10.in-addr.arpa'));
    }
  });

  it('publishes and removes a namespace when its labels start or stop matching', () => {
    const cluster = new Cluster({ ...base, namespaceLabels: parseLabelSelector('dns=yes') });
    cluster.set(namespace('default'));
    cluster.set(is('Service', service()));
    assert.equal(cluster.zones.find(web), undefined);
    cluster.set(namespace('default', { dns: 'yes' }));
    assert.ok(cluster.zones.find(web));
    cluster.set(namespace('default'));
    assert.equal(cluster.zones.find(web), undefined);
  });

  it('SRV-9 uses port names instead of SRV names while the gate is off', () => {
    const ports = [{ name: 'kerberos-tcp', port: 88, srvServiceName: 'kerberos' }];
    for (const srvServiceNames of [true, false]) {
      const cluster = new Cluster({ ...base, srvServiceNames });
      cluster.set(namespace('default'));
      cluster.set(is('Service', service({ ports })));
      assert.equal(cluster.zones.find(`_kerberos._tcp.${web}`) !== undefined, srvServiceNames);
      assert.equal(cluster.zones.find(`_kerberos-tcp._tcp.${web}`) !== undefined, !srvServiceNames);
    }
  });

  it('EXT-6 replaces all records when a Service becomes an ExternalName and back', () => {
    const cluster = new Cluster();
    const types = (): readonly string[] => [...(cluster.zones.find(web)?.sets.keys() ?? [])];
    cluster.set(namespace('default'));
    cluster.set(is('Service', service()));
    cluster.set(is('EndpointSlice', slice([endpoint('10.0.0.1')])));
    assert.deepEqual(types(), ['A', 'SRV']);
    cluster.set(is('Service', service({ type: 'ExternalName', clusterIP: '', externalName: 'db.example.org' })));
    assert.deepEqual(types(), ['CNAME']);
    assert.equal(cluster.zones.find(`10-0-0-1.${web}`), undefined);
    assert.equal(cluster.zones.find('1.0.0.10.in-addr.arpa'), undefined);
    cluster.set(is('Service', service()));
    assert.deepEqual(types(), ['A', 'SRV']);
    assert.ok(cluster.zones.find(`10-0-0-1.${web}`));
  });

  it('publishes a Service with --ignore-empty-service only while its slices have ready endpoints', () => {
    const cluster = new Cluster({ ...base, ignoreEmptyService: true });
    cluster.set(namespace('default'));
    cluster.set(is('Service', service()));
    assert.equal(cluster.zones.find(web), undefined);
    cluster.set(is('EndpointSlice', slice([endpoint('10.0.0.1')])));
    assert.ok(cluster.zones.find(web));
    cluster.set(is('EndpointSlice', slice([], { metadata: { labels: { [serviceNameLabel]: 'other' } } })));
    assert.equal(cluster.zones.find(web), undefined);
  });

  it('publishes imported slices in both multi-cluster zones and not in cluster.local', () => {
    const cluster = new Cluster();
    cluster.set(namespace('default'));
    const labels = { [importNameLabel]: 'web', [importedServiceNameLabel]: 'web', [sourceClusterLabel]: 'east' };
    cluster.set(
      is('EndpointSlice', slice([endpoint('10.0.0.1', { conditions: { ready: false } })], { metadata: { labels } })),
    );
    const metadata = { name: 'web', namespace: 'default' };
    cluster.set(is('ServiceImport', { metadata, spec: { type: 'Headless', ports: [] } } as ApiObject));
    const clusters = [{ cluster: 'east', publishNotReadyAddresses: true }];
    cluster.set(is('ImportedService', { metadata, spec: { ipFamily: 'IPv4', ports: [], clusters } } as ApiObject));
    assert.equal(cluster.zones.find('web.default.svc.clusterset.local'), undefined);
    assert.ok(cluster.zones.find('10-0-0-1.east.web.default.svc.supercluster.local'));
    assert.equal(cluster.zones.find(web), undefined);
    assert.equal(cluster.zones.find('1.0.0.10.in-addr.arpa'), undefined);
    cluster.set(is('EndpointSlice', slice([endpoint('10.0.0.1')], { metadata: { labels } })));
    assert.ok(cluster.zones.find('10-0-0-1.east.web.default.svc.clusterset.local'));
  });
});

describe('zones after random changes', () => {
  const address = fc.integer({ min: 1, max: 6 }).map((last) => (last > 4 ? `fd00::${last}` : `10.0.0.${last}`));
  const name = fc.constantFrom('a', 'b');
  const inNamespace = fc.constantFrom('n', 'm');
  const port = fc.record(
    {
      name: fc.constantFrom('http', 'dns'),
      port: fc.constantFrom(53, 80),
      protocol: fc.constantFrom('TCP' as const, 'UDP' as const),
      srvServiceName: fc.constantFrom('web', 'http'),
    },
    { requiredKeys: ['name', 'port'] },
  );
  const ports = fc.uniqueArray(port, { maxLength: 2, selector: (each) => each.name });
  const metadata = fc.record({ name, namespace: inNamespace });
  const aService = fc
    .tuple(metadata, ports, fc.constantFrom('10.96.0.1', '10.96.0.2', 'None', ''))
    .map(([meta, some, clusterIP]) =>
      clusterIP === ''
        ? service({ type: 'ExternalName', clusterIP, externalName: 'db.example.org', ports: some }, meta)
        : service({ clusterIP, ports: some }, meta),
    );
  const anEndpoint = fc
    .tuple(
      address,
      fc.option(fc.constantFrom('h0', 'h1'), { nil: undefined }),
      fc.boolean(),
      fc.constantFrom('z1', 'z2'),
    )
    .map(([at, hostname, ready, zone]) =>
      endpoint(at, { conditions: { ready }, zone, ...(hostname === undefined ? {} : { hostname }) }),
    );
  const aSlice = fc
    .tuple(
      fc.constantFrom('s1', 's2', 's3'),
      inNamespace,
      fc.oneof(
        fc.dictionary(fc.constantFrom(serviceNameLabel, importNameLabel, importedServiceNameLabel), name),
        fc.constant({ [serviceNameLabel]: 'a' }),
      ),
      fc.tuple(fc.array(anEndpoint, { maxLength: 4 }), ports, fc.constantFrom('east', 'west.example')),
    )
    .map(([own, space, labels, [endpoints, some, cluster]]) =>
      slice(endpoints, {
        ports: some,
        metadata: { name: own, namespace: space, labels: { ...labels, [sourceClusterLabel]: cluster } },
      }),
    );
  const anImport = fc
    .tuple(metadata, fc.constantFrom('Headless', 'ClusterSetIP'), ports)
    .map(([meta, type, some]) => ({ metadata: meta, spec: { type, ports: some, ips: ['10.98.0.1'] } }));
  const anImported = fc
    .tuple(metadata, fc.constantFrom({}, { ip: '10.98.0.2' }), fc.boolean())
    .map(([meta, ip, publishNotReadyAddresses]) => ({
      metadata: meta,
      spec: { ipFamily: 'IPv4', ports: [], clusters: [{ cluster: 'east', publishNotReadyAddresses }], ...ip },
    }));
  const aPod = fc.tuple(metadata, address).map(([meta, podIP]) => ({ metadata: meta, status: { podIP } }));
  const change: fc.Arbitrary<Change> = fc
    .tuple(
      fc.oneof(
        fc.tuple(inNamespace, fc.boolean()).map(([each, yes]) => namespace(each, yes ? { dns: 'yes' } : {})),
        aService.map((object) => is('Service', object)),
        aSlice.map((object) => is('EndpointSlice', object)),
        // Casts since only the fields that are read are written out.
        anImport.map((object) => is('ServiceImport', object as ApiObject)),
        anImported.map((object) => is('ImportedService', object as ApiObject)),
        aPod.map((object) => is('Pod', object as ApiObject)),
      ),
      fc.integer({ min: 0, max: 3 }),
    )
    .map(([each, dice]) => ({ ...each, isGone: dice === 0 }));
  const settings: fc.Arbitrary<ZoneUpdaterOptions> = fc
    .record(
      {
        pods: fc.constantFrom('disabled' as const, 'insecure' as const, 'verified' as const),
        ignoreEmptyService: fc.boolean(),
        zonal: fc.boolean(),
        noEndpoints: fc.boolean(),
        srvServiceNames: fc.boolean(),
        namespaceLabels: fc.constant(parseLabelSelector('dns=yes')),
      },
      { requiredKeys: [] },
    )
    .map((some) => ({ ...base, ...some }));

  /** Without these most random changes concern objects in namespaces that do not exist. */
  const initial: readonly Change[] = [
    namespace('n', { dns: 'yes' }),
    namespace('m', { dns: 'yes' }),
    is('Service', headless({}, { name: 'a', namespace: 'n' })),
    is('Service', headless({}, { name: 'a', namespace: 'm' })),
  ];

  const apexes = ['cluster.local', 'clusterset.local', 'supercluster.local', 'in-addr.arpa', 'ip6.arpa'];
  const linesOf = (zones: Zones): readonly string[] => apexes.flatMap((apex) => zoneLines(zones, apex));

  it('report every answer that changed, additional addresses included', () => {
    fc.assert(
      fc.property(fc.array(change, { maxLength: 30 }), settings, (changes, options) => {
        const cluster = new Cluster(options);
        const every = (): readonly Name[] => apexes.flatMap((apex) => [...cluster.zones.names(apex)]);
        /** Name → its answer, updated only for names that are reported as changed. */
        const held = new Map(every().map((name) => [name, prepare(cluster.zones, name)]));
        for (const each of [...initial, ...changes]) {
          cluster.set(each);
          for (const name of cluster.changed.splice(0).flat()) {
            const answer = prepare(cluster.zones, name);
            if (answer === undefined) held.delete(name);
            else held.set(name, answer);
          }
        }
        const now = new Map(every().map((name) => [name, prepare(cluster.zones, name)]));
        // The serial of an apex is published with its zone, not with its name.
        for (const apex of apexes) held.set(apex, now.get(apex));
        assert.deepEqual(held, now);
      }),
      { numRuns: 150 },
    );
  });

  it('equal the zones built from scratch from the final objects', () => {
    fc.assert(
      fc.property(fc.array(change, { maxLength: 40 }), settings, (changes, options) => {
        const updated = new Cluster(options);
        for (const each of [...initial, ...changes]) updated.set(each);
        const zones = zonesBy(options);
        const fresh = new ZoneUpdater(updated.caches, { zones, options, changed: () => {} });
        for (const namespaceObject of updated.caches.namespaces.list()) fresh.namespaceChanged(keyOf(namespaceObject));
        assert.deepEqual(linesOf(updated.zones), linesOf(zones));
      }),
      { numRuns: 200 },
    );
  });
});
