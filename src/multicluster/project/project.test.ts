import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { managedByLabel, serviceNameLabel } from '../../api/kinds/discovery/endpointslice/labels.ts';
import type { EndpointSlice } from '../../api/kinds/discovery/endpointslice/schema.ts';
import { sourceClusterLabel } from '../../api/kinds/multicluster/labels.ts';
import { merge } from '../merge/merge.ts';
import { endpoint, headless, http, member, record, service, sourceSlice, web } from '../testing/records.ts';
import type { VipState } from '../vip/allocator.ts';
import { emptyMember, settle } from './testing/actual.ts';
import { derivedName, importNameLabels, managedBy, sliceName } from './labels.ts';
import { incumbentsIn, project } from './project.ts';

const vip: VipState = { state: 'reserved', ips: ['241.0.0.7'], families: ['IPv4'] };
const unneeded: VipState = { state: 'unneeded' };
const target = { member: member('north'), actual: emptyMember, vip };
const east = record('east');
const west = record('west', { day: 2 });
const conflicting = record('west', { day: 2, spec: { ports: [{ ...http, port: 8080 }] } });

const bySource = (slices: readonly EndpointSlice[], cluster: string): readonly EndpointSlice[] =>
  slices.filter(({ metadata }) => metadata.labels?.[sourceClusterLabel] === cluster);

describe('imports', () => {
  test('MCS-100 MCS-105 MCS-106 MCS-43 sets ports, clusters, family and address of an ImportedService', () => {
    const { actual } = settle(merge(web, [east, west]), target);
    assert.deepEqual(actual.importedService?.spec, {
      ports: [{ name: 'http', protocol: 'TCP', port: 80 }],
      clusters: [
        { cluster: 'east', sessionAffinity: 'None' },
        { cluster: 'west', sessionAffinity: 'None' },
      ],
      ipFamily: 'IPv4',
      ip: '241.0.0.7',
    });
    assert.equal(actual.importedService?.apiVersion, 'multicluster.k8s.io/v1alpha1');
  });

  test('projects the same merge as a ServiceImport', () => {
    const { actual } = settle(merge(web, [east, west]), target);
    assert.deepEqual(actual.serviceImport?.spec, {
      type: 'ClusterSetIP',
      ports: [{ name: 'http', protocol: 'TCP', port: 80 }],
      ips: ['241.0.0.7'],
      ipFamilies: ['IPv4'],
      sessionAffinity: 'None',
    });
    assert.deepEqual(actual.serviceImport?.status, {
      endpointSliceObjects: 'Present',
      clusters: [{ cluster: 'east' }, { cluster: 'west' }],
      conditions: [
        {
          type: 'Ready',
          status: 'True',
          reason: 'Ready',
          message: 'the service can be used in this cluster',
          lastTransitionTime: '2026-03-01T00:00:00Z',
        },
      ],
    });
    assert.deepEqual(incumbentsIn(actual), ['east', 'west']);
  });

  test('MCS-92 omits node ports and load balancers from imports', () => {
    const spec = { type: 'LoadBalancer', ports: [{ ...http, nodePort: 30_080 }], loadBalancerIP: '192.0.2.1' } as const;
    const { actual } = settle(merge(web, [record('east', { spec })]), target);
    const text = JSON.stringify([actual.importedService, actual.serviceImport, actual.slices]);
    assert.doesNotMatch(text, /nodePort|30080|192\.0\.2\.1|targetPort/);
  });

  test('MCS-94 imports a headless service without an address in both views', () => {
    const { actual } = settle(merge(web, [record('east', { spec: headless })]), { ...target, vip: unneeded });
    assert.equal(actual.importedService?.spec?.ip, undefined);
    assert.deepEqual([actual.serviceImport?.spec?.type, actual.serviceImport?.spec?.ips], ['Headless', undefined]);
    assert.equal(actual.slices.length, 1);
  });

  test('MCS-45 writes no supercluster import without an address, because it would be headless', () => {
    const full: VipState = { state: 'exhausted', family: 'IPv4', message: 'all are in use' };
    const { actual, desired } = settle(merge(web, [east]), { ...target, vip: full });
    assert.equal(actual.importedService, undefined);
    assert.equal(actual.serviceImport?.spec?.ips, undefined);
    assert.deepEqual(desired.refusals, [{ reason: 'NoAddress', message: 'cluster north: all are in use' }]);
  });

  test('MCS-101 MCS-102 imports a service with endpoints in other clusters, in all, only here, and in none', () => {
    for (const records of [[east], [east, record('north')], [record('north')], [record('east', { slices: [] })]]) {
      const { actual } = settle(merge(web, records), target);
      assert.ok(actual.importedService && actual.serviceImport);
    }
  });

  test('MCS-104 removes import and slices with the last export', () => {
    const { actual } = settle(merge(web, [east]), target);
    assert.deepEqual(settle(merge(web, []), { ...target, actual }).actual, {
      slices: [],
      importedService: undefined,
      serviceImport: undefined,
    });
  });

  test('MCS-109 writes nothing to a cluster without the namespace', () => {
    const away = { ...target, member: member('north', { namespaces: new Set() }) };
    const { writes, desired } = settle(merge(web, [east]), away);
    assert.deepEqual(writes, []);
    assert.equal(desired.refusals[0]?.reason, 'NamespaceAbsent');
  });

  test('MCS-162 reports a member that rejects the name, and imports the service into others', () => {
    const key = { namespace: 'shop', name: '2fa' };
    const merged = merge(key, [{ ...east, ...key }]);
    const strict = project(merged, { ...target, member: member('old', { acceptsRelaxedNames: false }) });
    assert.deepEqual(strict.refusals, [
      {
        reason: 'NameRefused',
        message: 'cluster old rejects the name 2fa: enable its feature gate RelaxedServiceNameValidation',
      },
    ]);
    assert.equal(strict.importedService, undefined);
    assert.equal(settle(merged, target).actual.importedService?.metadata.name, '2fa');
  });

  test('writes only kinds that the member serves, and reports a member without any', () => {
    const serving = (supercluster: boolean, clusterset: boolean) =>
      settle(merge(web, [east]), { ...target, member: member('north', { serves: { supercluster, clusterset } }) });
    const onlyCurrent = serving(false, true).actual;
    assert.deepEqual([onlyCurrent.importedService, onlyCurrent.slices.length], [undefined, 1]);
    const onlySeed = serving(true, false).actual;
    assert.deepEqual([onlySeed.serviceImport, onlySeed.slices.length], [undefined, 1]);
    assert.equal(serving(false, false).desired.refusals[0]?.reason, 'KindNotServed');
  });

  test('omits fields that the definition of the member lacks, without repeated writes', () => {
    const importFields = { spec: new Set(['ports', 'ips', 'type']), status: new Set(['clusters']) };
    const older = { ...target, member: member('old', { importFields, mcsVersion: 'v1alpha1' }) };
    const { actual } = settle(merge(web, [east]), older);
    assert.ok(actual.serviceImport);
    assert.deepEqual(Object.keys(actual.serviceImport.spec ?? {}).toSorted(), ['ips', 'ports', 'type']);
    assert.equal(actual.slices[0]?.metadata.ownerReferences?.at(-1)?.apiVersion, 'multicluster.x-k8s.io/v1alpha1');
    const serviceImport = { ...actual.serviceImport, status: { clusters: [{ cluster: 'east' }] } };
    assert.deepEqual(settle(merge(web, [east]), { ...older, actual: { ...actual, serviceImport } }).writes, []);
  });

  test('MCS-161 writes SRV names to an annotation of imports and to ports of slices', () => {
    const ports = [{ ...http, name: 'kdc', srvServiceName: 'kerberos' }];
    const slices = [
      sourceSlice('a', { ports: [{ name: 'kdc', protocol: 'TCP', port: 88, srvServiceName: 'kerberos' }] }),
    ];
    const merged = merge(web, [record('east', { spec: { ports }, slices })]);
    const { actual } = settle(merged, target);
    assert.deepEqual(actual.importedService?.metadata.annotations, {
      'fairlead.dev/srv-service-names': 'kdc=kerberos',
    });
    assert.equal(actual.slices[0]?.ports?.[0]?.srvServiceName, 'kerberos');
    const dropping = settle(merged, { ...target, member: member('north', { keepsSrvNames: false }) });
    assert.equal(dropping.actual.slices[0]?.ports?.[0]?.srvServiceName, undefined);
  });
});

describe('conflicts in a member', () => {
  test('MCS-122 MCS-124 MCS-136 withdraws the ImportedService until the conflict is fixed, and keeps the ServiceImport', () => {
    const before = settle(merge(web, [east, west]), target).actual;
    const during = settle(merge(web, [east, conflicting]), { ...target, actual: before }).actual;
    assert.equal(during.importedService, undefined);
    assert.deepEqual(during.serviceImport?.spec?.ports, [{ name: 'http', protocol: 'TCP', port: 80 }]);
    for (const { metadata } of during.slices) {
      assert.equal(metadata.labels?.[importNameLabels.supercluster], undefined);
      assert.deepEqual(
        metadata.ownerReferences?.map(({ kind }) => kind),
        ['ServiceImport'],
      );
    }
    const after = settle(merge(web, [east, west]), { ...target, actual: during }).actual;
    assert.deepEqual(after.importedService?.spec, before.importedService?.spec);
    assert.equal(after.slices.length, 2);
  });

  test('MCS-126 routes a port only to clusters that have it', () => {
    const { actual } = settle(merge(web, [east, conflicting], { conflictPolicy: 'OldestWins' }), target);
    assert.equal(bySource(actual.slices, 'east').length, 1);
    assert.deepEqual(bySource(actual.slices, 'west'), []);
    const more = [
      { ...http, port: 8080 },
      { ...http, name: 'admin', port: 9090 },
    ];
    const slices = [
      sourceSlice('web-w', {
        ports: [
          { name: 'http', protocol: 'TCP', port: 8080 },
          { name: 'admin', protocol: 'TCP', port: 9090 },
        ],
      }),
    ];
    const partly = settle(merge(web, [east, record('west', { day: 2, spec: { ports: more }, slices })]), target).actual;
    assert.deepEqual(bySource(partly.slices, 'west')[0]?.ports, [{ name: 'admin', protocol: 'TCP', port: 9090 }]);
  });

  test('shows a quarantined cluster in the clusterset view only', () => {
    const other = record('west', { day: 2, spec: headless });
    const { actual } = settle(merge(web, [east, other], { conflictPolicy: 'Quarantine' }), target);
    assert.deepEqual(
      actual.importedService?.spec?.clusters?.map(({ cluster }) => cluster),
      ['east'],
    );
    const [slice] = bySource(actual.slices, 'west');
    assert.deepEqual(
      [slice?.metadata.labels?.[importNameLabels.supercluster], slice?.metadata.labels?.[importNameLabels.clusterset]],
      [undefined, 'web'],
    );
  });
});

describe('slices', () => {
  const [slice] = settle(merge(web, [east]), target).actual.slices;

  test('MCS-62 MCS-63 MCS-64 MCS-66 MCS-67 sets labels and owners of slices', () => {
    assert.deepEqual(slice?.metadata.labels, {
      [managedByLabel]: managedBy,
      'multicluster.kubernetes.io/source-cluster': 'east',
      'multicluster.kubernetes.io/imported-service-name': 'web',
      'multicluster.kubernetes.io/service-name': 'web',
    });
    assert.notEqual(managedBy, 'endpointslice-controller.k8s.io');
    const owners = slice?.metadata.ownerReferences?.map(({ uid, ...rest }) => ({ ...rest, hasUid: uid !== '' }));
    assert.deepEqual(owners, [
      {
        apiVersion: 'multicluster.k8s.io/v1alpha1',
        kind: 'ImportedService',
        controller: false,
        name: 'web',
        hasUid: true,
      },
      {
        apiVersion: 'multicluster.x-k8s.io/v1beta1',
        kind: 'ServiceImport',
        controller: false,
        name: 'web',
        hasUid: true,
      },
    ]);
  });

  test('MCS-67 writes slices after the import, whose UID they need', () => {
    assert.equal(project(merge(web, [east]), target).slices, 'later');
  });

  test('MCS-7 MCS-53 never labels an imported slice with the name of the Service', () => {
    assert.equal(slice?.metadata.labels?.[serviceNameLabel], undefined);
  });

  test('MCS-60 MCS-61 MCS-69 mirrors slices of each source into every cluster, also the exporting one', () => {
    const many = record('east', { slices: [sourceSlice('a'), sourceSlice('b')] });
    const { actual } = settle(merge(web, [many, record('north', { day: 2 })]), target);
    assert.deepEqual([bySource(actual.slices, 'east').length, bySource(actual.slices, 'north').length], [2, 1]);
  });

  test('MCS-68 copies type, ports, addresses, conditions, hostname, zone and node', () => {
    const given = sourceSlice('six', {
      addressType: 'IPv6',
      ports: [{ name: 'http', protocol: 'TCP', port: 8080, appProtocol: 'http' }],
      endpoints: [
        endpoint('fd00::1', {
          conditions: { ready: false, serving: true, terminating: true },
          hostname: 'web-0',
          zone: 'eu-1a',
          nodeName: 'n1',
          targetRef: { kind: 'Pod', name: 'web-0', namespace: 'shop' },
        }),
      ],
    });
    const [mirrored] = settle(merge(web, [record('east', { slices: [given], region: 'eu-1' })]), target).actual.slices;
    const [first] = given.endpoints ?? [];
    const { targetRef: _pod, ...endpointWithoutPod } = first ?? endpoint('');
    assert.deepEqual(
      [mirrored?.addressType, mirrored?.ports, mirrored?.endpoints],
      ['IPv6', given.ports, [endpointWithoutPod]],
    );
    assert.deepEqual(mirrored?.metadata.annotations, {
      'fairlead.dev/source-slice': 'six',
      'fairlead.dev/region': 'eu-1',
    });
  });

  for (const { onLoss, isSilent, annotation, conditions } of [
    { onLoss: 'Remove', isSilent: true, annotation: undefined, conditions: { ready: true } },
    { onLoss: 'Keep', isSilent: true, annotation: 'Keep', conditions: { ready: true } },
    { onLoss: 'Demote', isSilent: false, annotation: undefined, conditions: { ready: true } },
    {
      onLoss: 'Demote',
      isSilent: true,
      annotation: undefined,
      conditions: { ready: false, serving: true, terminating: true },
    },
  ] as const) {
    test(`endpoints of a cluster that ${isSilent ? 'is silent' : 'answers'}, where they are to ${onLoss}`, () => {
      const slices = [sourceSlice('a', { endpoints: [endpoint('10.0.0.1', { conditions: { ready: true } })] })];
      const silentClusters = new Set(isSilent ? ['east'] : []);
      const [mirrored] = settle(merge(web, [record('east', { slices, onLoss })]), { ...target, silentClusters }).actual
        .slices;
      assert.equal(mirrored?.metadata.annotations?.['fairlead.dev/on-source-loss'], annotation);
      assert.deepEqual(mirrored?.endpoints?.[0]?.conditions, conditions);
    });
  }

  const hints = { forZones: [{ name: 'eu-1a' }], forNodes: [{ name: 'n1' }] };
  for (const { name, trafficDistribution, zone, want } of [
    {
      name: 'kept where they prefer the own zone',
      trafficDistribution: 'PreferSameZone',
      zone: 'eu-1a',
      want: hints.forZones,
    },
    { name: 'dropped where they were worked out', trafficDistribution: undefined, zone: 'eu-1a', want: undefined },
    {
      name: 'dropped where they name another zone',
      trafficDistribution: 'PreferSameZone',
      zone: 'eu-1b',
      want: undefined,
    },
  ]) {
    test(`MCS-142 hints are ${name}`, () => {
      const spec = trafficDistribution === undefined ? {} : { trafficDistribution };
      const slices = [sourceSlice('a', { endpoints: [endpoint('10.0.0.1', { zone, hints })] })];
      const { actual } = settle(merge(web, [record('east', { spec, slices })]), target);
      assert.deepEqual(actual.slices[0]?.endpoints?.[0]?.hints, want && { forZones: want });
    });
  }

  test('MCS-134 MCS-135 marks all endpoints of a cluster that publishes them as ready', () => {
    const slices = [sourceSlice('a', { endpoints: [endpoint('10.0.0.1', { conditions: { ready: false } })] })];
    const open = record('east', { slices, spec: { publishNotReadyAddresses: true } });
    const { actual } = settle(merge(web, [open, record('west', { day: 2, slices })]), target);
    const conditionsOf = (cluster: string): unknown => bySource(actual.slices, cluster)[0]?.endpoints?.[0]?.conditions;
    assert.deepEqual(conditionsOf('east'), { ready: true, serving: false });
    assert.deepEqual(conditionsOf('west'), { ready: false });
  });

  test('does not mirror a slice that is being deleted', () => {
    const going = sourceSlice('a');
    const metadata = { ...going.metadata, deletionTimestamp: '2026-02-01T00:00:00Z' };
    assert.deepEqual(
      settle(merge(web, [record('east', { slices: [{ ...going, metadata }] })]), target).actual.slices,
      [],
    );
  });

  test('MCS-85 keeps the import of an export without slices', () => {
    const before = settle(merge(web, [east]), target).actual;
    const after = settle(merge(web, [record('east', { slices: [] })]), { ...target, actual: before }).actual;
    assert.deepEqual(after.slices, []);
    assert.deepEqual(after.importedService?.spec, before.importedService?.spec);
    assert.equal(after.importedService?.metadata.uid, before.importedService?.metadata.uid);
  });
});

describe('names of slices', () => {
  const source = { cluster: 'east', namespace: 'shop', name: 'web', slice: 'web-abc', addressType: 'IPv4' };

  test('MCS-65 names a slice imported-<service>-<cluster>-<n>', () => {
    assert.match(sliceName(source), /^imported-web-east-[0-9a-v]{12}$/);
    assert.equal(sliceName(source), sliceName({ ...source }));
  });

  for (const [field, value] of Object.entries({
    cluster: 'west',
    namespace: 'other',
    name: 'cart',
    slice: 'web-abd',
    addressType: 'IPv6',
  })) {
    test(`MCS-65 another ${field} is another name`, () => {
      assert.notEqual(sliceName({ ...source, [field]: value }), sliceName(source));
    });
  }

  test('MCS-65 distinguishes parts whose concatenation is equal', () => {
    const left = sliceName({ ...source, name: 'a-b', cluster: 'c' });
    const right = sliceName({ ...source, name: 'a', cluster: 'b-c' });
    assert.equal(left.slice(0, -12), right.slice(0, -12));
    assert.notEqual(left, right);
  });

  test('MCS-65 truncates a long name to a valid, unique one', () => {
    const long = { ...source, cluster: `${'c'.repeat(180)}.-${'d'.repeat(60)}`.replace('.-', '.') };
    const name = sliceName(long);
    assert.ok(name.length <= 253);
    assert.match(name, /^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/);
    assert.notEqual(name, sliceName({ ...long, slice: 'other' }));
  });
});

describe('members with a stock proxy', () => {
  const stock = { ...target, member: member('north', { hasStockProxy: true }), vip: unneeded };

  test('creates a derived Service without selector, whose address the imports have and whose slices are ours', () => {
    const { actual } = settle(merge(web, [east]), stock);
    const name = derivedName(web);
    assert.match(name, /^derived-[0-9a-v]{10}$/);
    assert.equal(actual.derivedService?.metadata.name, name);
    assert.equal(actual.derivedService?.spec.selector, undefined);
    assert.equal(actual.importedService?.spec?.ip, '10.96.7.7');
    assert.deepEqual(actual.serviceImport?.spec?.ips, ['10.96.7.7']);
    assert.equal(actual.serviceImport?.metadata.annotations?.['multicluster.kubernetes.io/derived-service'], name);
    assert.equal(actual.slices[0]?.metadata.labels?.[serviceNameLabel], name);
  });

  test('MCS-44 keeps the address of imports until a deleted derived Service has a new one', () => {
    const before = settle(merge(web, [east]), stock).actual;
    const without = { ...stock, actual: { ...before, derivedService: undefined } };
    assert.deepEqual(project(merge(web, [east]), without).importedService?.spec, before.importedService?.spec);
  });

  test('a headless service has none', () => {
    const { actual } = settle(merge(web, [record('east', { spec: headless })]), stock);
    assert.equal(actual.derivedService, undefined);
    assert.equal(actual.slices[0]?.metadata.labels?.[serviceNameLabel], undefined);
  });

  test('reports an unsupported family in the status of the import', () => {
    const member4 = member('north', { hasStockProxy: true, serviceFamilies: ['IPv4'] });
    const six = record('east', { spec: { ipFamilies: ['IPv6'] } });
    const { actual, desired } = settle(merge(web, [six]), { ...stock, member: member4 });
    assert.equal(actual.derivedService, undefined);
    assert.equal(actual.serviceImport?.status?.conditions?.[0]?.reason, 'IPFamilyNotSupported');
    assert.equal(desired.refusals[0]?.reason, 'FamilyNotSupported');
  });

  test('replaces the derived Service when the first family changes', () => {
    const before = settle(merge(web, [east]), stock).actual;
    const six = record('east', { service: service({ ipFamilies: ['IPv6'] }) });
    const { actual } = settle(merge(web, [six]), { ...stock, actual: before });
    assert.deepEqual(actual.derivedService?.spec.ipFamilies, ['IPv6']);
    assert.notEqual(actual.derivedService?.metadata.uid, before.derivedService?.metadata.uid);
  });
});
