import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { merge } from '../merge/merge.ts';
import type { ClusterExport } from '../record.ts';
import {
  currentExport,
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
import { nothingThere, settle } from './testing/actual.ts';
import type { Actual } from './desired.ts';

// Both API shapes of the same records, by topic.

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
  readonly seed: (actual: Actual) => unknown;
  readonly wantSeed: unknown;
  readonly current: (actual: Actual) => unknown;
  readonly wantCurrent: unknown;
}[] = [
  {
    topic: 'MCS-100 kind and group',
    records: [record('east')],
    seed: ({ importedService }) => [importedService?.kind, importedService?.apiVersion],
    wantSeed: ['ImportedService', 'multicluster.k8s.io/v1alpha1'],
    current: ({ serviceImport }) => [serviceImport?.kind, serviceImport?.apiVersion],
    wantCurrent: ['ServiceImport', 'multicluster.x-k8s.io/v1beta1'],
  },
  {
    topic: 'MCS-10 exported labels and annotations, and none of the Service or the export themselves',
    records: [
      record('east', {
        service: service({}, { labels: { own: 'x' }, annotations: { own: 'x' } }),
        currentExport: currentExport(
          { labels: { own: 'x' } },
          { exportedLabels: { tier: 'a' }, exportedAnnotations: { note: 'b' } },
        ),
      }),
    ],
    seed: ({ importedService }) => importedService?.metadata.labels,
    wantSeed: { 'app.kubernetes.io/managed-by': 'mcsd-controller.fairlead.dev' },
    current: ({ serviceImport }) => [serviceImport?.metadata.labels, serviceImport?.metadata.annotations],
    wantCurrent: [{ tier: 'a', 'app.kubernetes.io/managed-by': 'mcsd-controller.fairlead.dev' }, { note: 'b' }],
  },
  {
    topic: 'MCS-43 address: the first of the primary family, or one a family',
    records: [record('east', { spec: six })],
    vip: two,
    seed: ({ importedService }) => importedService?.spec?.ip,
    wantSeed: 'fd00::7',
    current: ({ serviceImport }) => serviceImport?.spec?.ips,
    wantCurrent: ['fd00::7', '241.0.0.7'],
  },
  {
    topic: 'MCS-105 family: the first, or all',
    records: [record('east', { spec: six })],
    vip: two,
    seed: ({ importedService }) => importedService?.spec?.ipFamily,
    wantSeed: 'IPv6',
    current: ({ serviceImport }) => serviceImport?.spec?.ipFamilies,
    wantCurrent: ['IPv6', 'IPv4'],
  },
  {
    topic: 'MCS-94 type: an empty address, or Headless',
    records: [record('east', { spec: headless })],
    seed: ({ importedService }) => importedService?.spec && 'ip' in importedService.spec,
    wantSeed: false,
    current: ({ serviceImport }) => serviceImport?.spec?.type,
    wantCurrent: 'Headless',
  },
  {
    topic: 'MCS-106 clusters: with their settings, or by name',
    records: [record('east', { spec: { publishNotReadyAddresses: true } }), record('west', { day: 2 })],
    seed: ({ importedService }) => importedService?.spec?.clusters,
    wantSeed: [
      { cluster: 'east', publishNotReadyAddresses: true, sessionAffinity: 'None' },
      { cluster: 'west', sessionAffinity: 'None' },
    ],
    current: ({ serviceImport }) => serviceImport?.status?.clusters,
    wantCurrent: [{ cluster: 'east' }, { cluster: 'west' }],
  },
  {
    topic: 'MCS-131 session affinity: of each cluster, or of the first',
    records: [record('east', { spec: { sessionAffinity: 'ClientIP' } }), record('west', { day: 2 })],
    seed: ({ importedService }) => importedService?.spec?.clusters?.map(({ sessionAffinity }) => sessionAffinity),
    wantSeed: ['ClientIP', 'None'],
    current: ({ serviceImport }) => serviceImport?.spec?.sessionAffinity,
    wantCurrent: 'ClientIP',
  },
  {
    topic: 'MCS-132 topology: keys of each cluster, or trafficDistribution of the first',
    records: [
      record('east', { spec: { trafficDistribution: 'PreferSameZone' } }),
      record('west', { day: 2, service: service({}, topology) }),
    ],
    seed: ({ importedService }) => importedService?.spec?.clusters?.map(({ topologyKeys }) => topologyKeys),
    wantSeed: [['topology.kubernetes.io/zone', '*'], ['kubernetes.io/hostname']],
    current: ({ serviceImport }) => serviceImport?.spec?.trafficDistribution,
    wantCurrent: 'PreferSameZone',
  },
  {
    topic: 'MCS-124 conflict: withdrawn, or the first wins',
    records: [record('east'), record('west', { day: 2, spec: { ports: [other] } })],
    seed: ({ importedService }) => importedService,
    wantSeed: undefined,
    current: ({ serviceImport }) => serviceImport?.spec?.ports?.map(({ port }) => port),
    wantCurrent: [80],
  },
  {
    topic: 'MCS-63 label of slices: both on each',
    records: [record('east')],
    seed: ({ slices }) =>
      slices.map(({ metadata }) => metadata.labels?.['multicluster.kubernetes.io/imported-service-name']),
    wantSeed: ['web'],
    current: ({ slices }) => slices.map(({ metadata }) => metadata.labels?.['multicluster.kubernetes.io/service-name']),
    wantCurrent: ['web'],
  },
  {
    topic: 'MCS-66 owner of slices: both of each',
    records: [record('east')],
    seed: ({ slices, importedService }) =>
      slices[0]?.metadata.ownerReferences?.[0]?.uid === importedService?.metadata.uid,
    wantSeed: true,
    current: ({ slices, serviceImport }) =>
      slices[0]?.metadata.ownerReferences?.[1]?.uid === serviceImport?.metadata.uid,
    wantCurrent: true,
  },
  {
    topic: 'MCS-68 slices are of discovery v1: region in an annotation, and what v1 cannot write left out',
    records: [record('east', { slices: [oldSlice], region: 'eu-1' })],
    seed: ({ slices }) => slices[0]?.metadata.annotations?.['fairlead.dev/region'],
    wantSeed: 'eu-1',
    current: ({ slices }) => [
      slices[0]?.apiVersion,
      slices[0]?.endpoints?.[0]?.zone,
      slices[0]?.endpoints?.[0]?.deprecatedTopology,
    ],
    wantCurrent: ['discovery.k8s.io/v1', 'eu-1a', undefined],
  },
];

describe('one merge, two shapes', () => {
  for (const { topic, records, vip = reserved, seed, wantSeed, current, wantCurrent } of rows) {
    test(topic, () => {
      const { actual } = settle(merge(web, records), { member: member('north'), actual: nothingThere, vip });
      assert.deepEqual(seed(actual), wantSeed);
      assert.deepEqual(current(actual), wantCurrent);
    });
  }
});
