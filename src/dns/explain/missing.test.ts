import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Namespace } from '../../api/kinds/core/namespace/schema.ts';
import type { Pod } from '../../api/kinds/core/pod/schema.ts';
import type { Service } from '../../api/kinds/core/service/schema.ts';
import type { EndpointSlice } from '../../api/kinds/discovery/endpointslice/schema.ts';
import type { ServiceImport } from '../../api/kinds/multicluster/serviceimport/schema.ts';
import type { ImportedService } from '../../api/kinds/multicluster/supercluster/import.ts';
import { parseName } from '../../dnswire/name.ts';
import { ObjectCache } from '../../client/object-cache.ts';
import type { ZoneUpdaterOptions } from '../controller/zone-updater.ts';
import { byNamespace, sliceIndexes } from '../controller/caches.ts';
import { endpoint, headless, service, slice } from '../records/testing/records.ts';
import { whyMissing } from './missing.ts';

const caches = {
  namespaces: new ObjectCache<Namespace>({}),
  services: new ObjectCache<Service, 'namespace'>(byNamespace),
  slices: new ObjectCache<EndpointSlice, 'namespace' | 'owner'>(sliceIndexes),
  pods: new ObjectCache<Pod, 'namespace'>(byNamespace),
  imports: new ObjectCache<ServiceImport, 'namespace'>(byNamespace),
  importedServices: new ObjectCache<ImportedService, 'namespace'>(byNamespace),
};

for (const name of ['default', 'hidden']) caches.namespaces.set({ metadata: { name }, spec: {}, status: {} });
caches.services.set(service());
caches.services.set(headless({}, { name: 'db' }));
caches.services.set(headless({}, { name: 'none' }));
caches.services.set(service({ type: 'ExternalName', externalName: '192.0.2.1' }, { name: 'literal' }));
caches.services.set(service({ clusterIP: '' }, { name: 'pending' }));
const notReady = endpoint('10.1.0.1', { conditions: { ready: false } });
const ofDb = {
  name: 'db-1',
  metadata: { name: 'db-1', namespace: 'default', labels: { 'kubernetes.io/service-name': 'db' } },
};
caches.slices.set(slice([notReady, notReady], ofDb));

const base: ZoneUpdaterOptions = {
  clusterDomain: 'cluster.local',
  clustersetDomain: 'clusterset.local',
  superclusterDomain: 'supercluster.local',
  namespaces: new Set(['default', 'absent']),
};

const cases: readonly {
  readonly name: string;
  readonly options?: Partial<ZoneUpdaterOptions>;
  readonly want: readonly string[];
}[] = [
  { name: 'web.absent.svc.cluster.local', want: ['Namespace "absent" does not exist'] },
  { name: 'web.hidden.svc.cluster.local', want: ['Namespace "hidden" exists, but is not published (--namespaces)'] },
  { name: 'nobody.default.svc.cluster.local', want: ['Service "default/nobody" does not exist'] },
  {
    name: 'db.default.svc.cluster.local',
    want: ['Service "default/db" is headless and has 2 endpoints, none of them ready'],
  },
  { name: 'none.default.svc.cluster.local', want: ['Service "default/none" is headless and has no endpoints'] },
  {
    name: 'db.default.svc.cluster.local',
    options: { noEndpoints: true },
    want: ['Service "default/db" is headless, and --no-endpoints hides endpoints'],
  },
  {
    name: 'web.default.svc.cluster.local',
    options: { ignoreEmptyService: true },
    want: ['Service "default/web" has no endpoints, and --ignore-empty-service hides such Services'],
  },
  {
    name: '_https._tcp.web.default.svc.cluster.local',
    want: ['Service "default/web" has no tcp port named "https": it has 80/tcp "http"'],
  },
  {
    name: '_udp.web.default.svc.cluster.local',
    want: ['Service "default/web" has no udp port with a name: it has 80/tcp "http"'],
  },
  {
    name: '10-1-0-9.web.default.svc.cluster.local',
    want: ['Service "default/web" has no ready endpoint named "10-1-0-9"'],
  },
  {
    name: 'literal.default.svc.cluster.local',
    want: ['Service "default/literal" has no record: its externalName "192.0.2.1" is not a domain name'],
  },
  {
    name: 'x.literal.default.svc.cluster.local',
    want: ['Service "default/literal" is an alias of "192.0.2.1", and an alias has no names below it'],
  },
  { name: 'pending.default.svc.cluster.local', want: ['Service "default/pending" has no cluster IP yet'] },
  {
    name: 'web.default.svc.clusterset.local',
    want: ['ServiceImport "default/web" does not exist: no cluster exports that Service here'],
  },
  {
    name: 'web.default.svc.supercluster.local',
    want: ['ImportedService "default/web" does not exist: no cluster exports that Service here'],
  },
  {
    name: '10-1-0-9.default.pod.cluster.local',
    want: ['records of Pods are disabled: pass --pods insecure or --pods verified'],
  },
  {
    name: '10-1-0-9.default.pod.cluster.local',
    options: { pods: 'verified' },
    want: ['Namespace "default" has no running Pod with the address "10-1-0-9"'],
  },
  {
    name: 'ten.default.pod.cluster.local',
    options: { pods: 'insecure' },
    want: ['"ten" is not an IP address with dashes instead of dots or colons'],
  },
  { name: 'nothing.cluster.local', want: [] },
  { name: 'example.org', want: [] },
];

for (const { name, options = {}, want } of cases) {
  test(`explains why ${name} is missing${Object.keys(options)
    .map((each) => ` (${each})`)
    .join()}`, () => {
    const queryName = parseName(name) ?? assert.fail(name);
    assert.deepEqual(whyMissing(queryName, { caches, options: { ...base, ...options } }), want);
  });
}
