import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { merge } from '../merge/merge.ts';
import type { ClusterExport } from '../record.ts';
import {
  serviceExport,
  endpoint,
  headless,
  http,
  member,
  record,
  service,
  sourceSlice,
  web,
} from '../testing/records.ts';
import type { VipState } from '../vip/allocator.ts';
import { emptyMember, settle } from './testing/actual.ts';
import type { Actual } from './desired.ts';

// Both APIs of the same records, by topic.

const reserved: VipState = { state: 'reserved', ips: ['241.0.0.7'], families: ['IPv4'] };
const two: VipState = { state: 'reserved', ips: ['fd00::7', '241.0.0.7'], families: ['IPv6', 'IPv4'] };
const six = { ipFamilies: ['IPv6', 'IPv4'] } as const;
const other = { ...http, port: 8080 };
const topology = { annotations: { 'fairlead.dev/topology-keys': 'kubernetes.io/hostname' } };
const oldSlice = sourceSlice('a', {
  endpoints: [endpoint('10.0.0.1', { zone: 'eu-1a', deprecatedTopology: { 'topology.kubernetes.io/region': 'eu-1' } })],
});

const rows: readonly {
  readonly topic: string;
  readonly records: readonly ClusterExport[];
  readonly vip?: VipState;
  readonly supercluster: (actual: Actual) => unknown;
  readonly wantSupercluster: unknown;
  readonly clusterset: (actual: Actual) => unknown;
  readonly wantClusterset: unknown;
}[] = [
  {
    topic: 'MCS-100 kind and group',
    records: [record('east')],
    supercluster: ({ importedService }) => [importedService?.kind, importedService?.apiVersion],
    wantSupercluster: ['ImportedService', 'multicluster.k8s.io/v1alpha1'],
    clusterset: ({ serviceImport }) => [serviceImport?.kind, serviceImport?.apiVersion],
    wantClusterset: ['ServiceImport', 'multicluster.x-k8s.io/v1beta1'],
  },
  {
    topic: 'MCS-10 exported labels and annotations, and none of the Service or the export themselves',
    records: [
      record('east', {
        service: service({}, { labels: { own: 'x' }, annotations: { own: 'x' } }),
        serviceExport: serviceExport(
          { labels: { own: 'x' } },
          { exportedLabels: { tier: 'a' }, exportedAnnotations: { note: 'b' } },
        ),
      }),
    ],
    supercluster: ({ importedService }) => importedService?.metadata.labels,
    wantSupercluster: { 'app.kubernetes.io/managed-by': 'mcsd-controller.fairlead.dev' },
    clusterset: ({ serviceImport }) => [serviceImport?.metadata.labels, serviceImport?.metadata.annotations],
    wantClusterset: [{ tier: 'a', 'app.kubernetes.io/managed-by': 'mcsd-controller.fairlead.dev' }, { note: 'b' }],
  },
  {
    topic: 'MCS-43 address: the first of the primary family, or one a family',
    records: [record('east', { spec: six })],
    vip: two,
    supercluster: ({ importedService }) => importedService?.spec?.ip,
    wantSupercluster: 'fd00::7',
    clusterset: ({ serviceImport }) => serviceImport?.spec?.ips,
    wantClusterset: ['fd00::7', '241.0.0.7'],
  },
  {
    topic: 'MCS-105 family: the first, or all',
    records: [record('east', { spec: six })],
    vip: two,
    supercluster: ({ importedService }) => importedService?.spec?.ipFamily,
    wantSupercluster: 'IPv6',
    clusterset: ({ serviceImport }) => serviceImport?.spec?.ipFamilies,
    wantClusterset: ['IPv6', 'IPv4'],
  },
  {
    topic: 'MCS-94 type: an empty address, or Headless',
    records: [record('east', { spec: headless })],
    supercluster: ({ importedService }) => importedService?.spec && 'ip' in importedService.spec,
    wantSupercluster: false,
    clusterset: ({ serviceImport }) => serviceImport?.spec?.type,
    wantClusterset: 'Headless',
  },
  {
    topic: 'MCS-106 clusters: with their settings, or by name',
    records: [record('east', { spec: { publishNotReadyAddresses: true } }), record('west', { day: 2 })],
    supercluster: ({ importedService }) => importedService?.spec?.clusters,
    wantSupercluster: [
      { cluster: 'east', publishNotReadyAddresses: true, sessionAffinity: 'None' },
      { cluster: 'west', sessionAffinity: 'None' },
    ],
    clusterset: ({ serviceImport }) => serviceImport?.status?.clusters,
    wantClusterset: [{ cluster: 'east' }, { cluster: 'west' }],
  },
  {
    topic: 'MCS-131 session affinity: of each cluster, or of the first',
    records: [record('east', { spec: { sessionAffinity: 'ClientIP' } }), record('west', { day: 2 })],
    supercluster: ({ importedService }) =>
      importedService?.spec?.clusters?.map(({ sessionAffinity }) => sessionAffinity),
    wantSupercluster: ['ClientIP', 'None'],
    clusterset: ({ serviceImport }) => serviceImport?.spec?.sessionAffinity,
    wantClusterset: 'ClientIP',
  },
  {
    topic: 'MCS-132 topology: keys of each cluster, or trafficDistribution of the first',
    records: [
      record('east', { spec: { trafficDistribution: 'PreferSameZone' } }),
      record('west', { day: 2, service: service({}, topology) }),
    ],
    supercluster: ({ importedService }) => importedService?.spec?.clusters?.map(({ topologyKeys }) => topologyKeys),
    wantSupercluster: [['topology.kubernetes.io/zone', '*'], ['kubernetes.io/hostname']],
    clusterset: ({ serviceImport }) => serviceImport?.spec?.trafficDistribution,
    wantClusterset: 'PreferSameZone',
  },
  {
    topic: 'MCS-124 conflict: withdrawn, or the first wins',
    records: [record('east'), record('west', { day: 2, spec: { ports: [other] } })],
    supercluster: ({ importedService }) => importedService,
    wantSupercluster: undefined,
    clusterset: ({ serviceImport }) => serviceImport?.spec?.ports?.map(({ port }) => port),
    wantClusterset: [80],
  },
  {
    topic: 'MCS-63 label of slices: both on each',
    records: [record('east')],
    supercluster: ({ slices }) =>
      slices.map(({ metadata }) => metadata.labels?.['multicluster.kubernetes.io/imported-service-name']),
    wantSupercluster: ['web'],
    clusterset: ({ slices }) =>
      slices.map(({ metadata }) => metadata.labels?.['multicluster.kubernetes.io/service-name']),
    wantClusterset: ['web'],
  },
  {
    topic: 'MCS-66 owner of slices: both of each',
    records: [record('east')],
    supercluster: ({ slices, importedService }) =>
      slices[0]?.metadata.ownerReferences?.[0]?.uid === importedService?.metadata.uid,
    wantSupercluster: true,
    clusterset: ({ slices, serviceImport }) =>
      slices[0]?.metadata.ownerReferences?.[1]?.uid === serviceImport?.metadata.uid,
    wantClusterset: true,
  },
  {
    topic: 'MCS-68 slices are of discovery v1: region in an annotation, and what v1 cannot write left out',
    records: [record('east', { slices: [oldSlice], region: 'eu-1' })],
    supercluster: ({ slices }) => slices[0]?.metadata.annotations?.['fairlead.dev/region'],
    wantSupercluster: 'eu-1',
    clusterset: ({ slices }) => [
      slices[0]?.apiVersion,
      slices[0]?.endpoints?.[0]?.zone,
      slices[0]?.endpoints?.[0]?.deprecatedTopology,
    ],
    wantClusterset: ['discovery.k8s.io/v1', 'eu-1a', undefined],
  },
];

describe('one merge, two APIs', () => {
  for (const { topic, records, vip = reserved, supercluster, wantSupercluster, clusterset, wantClusterset } of rows) {
    test(topic, () => {
      const { actual } = settle(merge(web, records), { member: member('north'), actual: emptyMember, vip });
      assert.deepEqual(supercluster(actual), wantSupercluster);
      assert.deepEqual(clusterset(actual), wantClusterset);
    });
  }
});
