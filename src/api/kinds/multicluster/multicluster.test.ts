import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Kind, WriteContext } from '../../kind.ts';
import type { ApiObject } from '../../metadata.ts';
import { decode } from '../../schema/decode.ts';
import { clusterPropertyKind } from '../about/clusterproperty/kind.ts';
import { exportWarnings } from './validate.ts';
import { serviceExportAlphaKind, serviceExportKind } from './serviceexport/kind.ts';
import { serviceImportAlphaKind, serviceImportKind } from './serviceimport/kind.ts';
import { superclusterExportKind } from './supercluster/export.ts';
import { importedServiceKind } from './supercluster/import.ts';

const context: WriteContext = { gates: { enabled: () => false }, loopbackEndpoints: [] };
const made = <T extends ApiObject>(kind: Kind<T>, fields: object): T =>
  decode<T>(kind.schema, { metadata: { name: 'cart', namespace: 'shop' }, ...fields }).object;

const specs: readonly { name: string; kind: Kind; given: object; want: readonly string[] }[] = [
  {
    name: 'a valid import',
    kind: serviceImportKind,
    given: { spec: { type: 'ClusterSetIP', ports: [{ port: 80 }], ips: ['10.0.0.1'] } },
    want: [],
  },
  {
    name: 'an import without type and ports',
    kind: serviceImportKind,
    given: { spec: {} },
    want: ['spec.ports: Required value', 'spec.type: Required value'],
  },
  {
    name: 'an import of an unknown type with too many addresses',
    kind: serviceImportAlphaKind,
    given: { spec: { type: 'Magic', ports: [], ips: ['10.0.0.1', '10.0.0.2', '10.0.0.3'] } },
    want: [
      'spec.ips: Too many: 3: must have at most 2 items',
      'spec.type: Unsupported value: "Magic": supported values: "ClusterSetIP", "Headless"',
    ],
  },
  {
    name: 'the ImportedService of the proposal',
    kind: importedServiceKind,
    given: {
      spec: {
        ipFamily: 'IPv4',
        ip: '203.0.113.42',
        ports: [{ name: 'http', protocol: 'TCP', port: 80 }],
        clusters: [{ cluster: 'us-west2-a', topologyKeys: ['topology.kubernetes.io/zone'], sessionAffinity: 'None' }],
      },
    },
    want: [],
  },
  {
    name: 'an imported service with a cluster twice and no family',
    kind: importedServiceKind,
    given: { spec: { ports: [], clusters: [{ cluster: 'a' }, { cluster: 'a' }] } },
    want: ['spec.ipFamily: Required value', 'spec.clusters[1]: Duplicate value: {"cluster":"a"}'],
  },
  { name: 'a property', kind: clusterPropertyKind, given: { spec: { value: 'east' } }, want: [] },
  {
    name: 'a property without value',
    kind: clusterPropertyKind,
    given: { spec: {} },
    want: ['spec.value: Required value'],
  },
  {
    name: 'a property that is empty',
    kind: clusterPropertyKind,
    given: { spec: { value: '' } },
    want: ['spec.value: Invalid value: "": spec.value in body should be at least 1 chars long'],
  },
  {
    name: 'a property that is too long',
    kind: clusterPropertyKind,
    given: { spec: { value: 'x'.repeat(128001) } },
    want: ['spec.value: Too long: may not be more than 128000 bytes'],
  },
];
for (const { name, kind, given, want } of specs) {
  test(`create: ${name}`, () => {
    assert.deepEqual(
      kind.validateCreate(made(kind, given), context).map(({ path, body }) => `${path}: ${body}`),
      want,
    );
  });
}

test('conditions of an export require status, reason and time', () => {
  const given = { status: { conditions: [{ type: 'Ready', status: 'Maybe', reason: 'x' }, { type: 'Ready' }] } };
  const texts = (kind: Kind): readonly string[] =>
    kind.validateStatus(made(kind, given), made(kind, {}), context).map(({ path, body }) => `${path}: ${body}`);
  const shared = [
    'status.conditions[0].status: Unsupported value: "Maybe": supported values: "True", "False", "Unknown"',
    'status.conditions[1]: Duplicate value: {"type":"Ready"}',
    'status.conditions[1].status: Required value',
  ];
  assert.deepEqual(texts(superclusterExportKind), shared);
  assert.deepEqual(texts(serviceExportKind), [
    shared[0],
    'status.conditions[0].lastTransitionTime: Required value',
    shared[1],
    shared[2],
    'status.conditions[1].reason: Required value',
    'status.conditions[1].lastTransitionTime: Required value',
  ]);
});

test('converts between both versions of an export', () => {
  const given = made(serviceExportAlphaKind, { spec: { exportedLabels: { a: 'b' } } });
  const stored = serviceExportAlphaKind.storage?.toStorage({
    ...given,
    apiVersion: 'x/v1alpha1',
    kind: 'ServiceExport',
  });
  assert.deepEqual(stored, given);
  assert.equal(serviceExportAlphaKind.storage?.kind, serviceExportKind);
  assert.deepEqual(serviceExportAlphaKind.storage?.fromStorage(stored ?? given), given);
});

test('drops the status of a new export', () => {
  const claimed = made(serviceExportKind, { status: { conditions: [] } });
  assert.equal(serviceExportKind.prepareForCreate(claimed, context).status, undefined);
});

test('warns about an unknown loss policy when it is set, and not again', () => {
  const withPolicy = (policy: string): ApiObject => ({
    metadata: { name: 'cart', namespace: 'shop', annotations: { 'fairlead.dev/on-source-loss': policy } },
  });
  assert.deepEqual(exportWarnings(withPolicy('Keep'), undefined), []);
  const warnings = ['annotation fairlead.dev/on-source-loss: "keep" has no effect: expected Remove, Demote, Keep'];
  assert.deepEqual(exportWarnings(withPolicy('keep'), undefined), warnings);
  assert.deepEqual(exportWarnings(withPolicy('keep'), withPolicy('Keep')), warnings);
  assert.deepEqual(exportWarnings(withPolicy('keep'), withPolicy('keep')), []);
});

test('custom resources keep zero values', () => {
  const given = {
    metadata: { name: 'a' },
    spec: { clusters: [{ cluster: 'a', publishNotReadyAddresses: false }], ip: '' },
  };
  assert.deepEqual(decode(importedServiceKind.schema, given), { object: given, unknown: [] });
});

test('columns', () => {
  const cells = <T extends ApiObject>(kind: Kind<T>, given: object): readonly (string | number | boolean | null)[] =>
    kind.columns.map((column) => column.cell(made(kind, given), 0));
  const serviceImport = {
    spec: { type: 'ClusterSetIP', ips: ['10.0.0.1'] },
    status: { clusters: [{ cluster: 'a' }, { cluster: 'b' }] },
  };
  assert.deepEqual(cells(serviceImportKind, serviceImport), [
    'cart',
    'ClusterSetIP',
    '["10.0.0.1"]',
    'a,b',
    '<unknown>',
  ]);
  const imported = { spec: { ip: '10.0.0.1', ports: [{ port: 80 }], clusters: [{ cluster: 'a' }, { cluster: 'b' }] } };
  assert.deepEqual(cells(importedServiceKind, imported), ['cart', '10.0.0.1', '80/TCP', 'a,b', '<unknown>']);
  const conditions = [
    { type: 'Initialized', status: 'True' },
    { type: 'Ready', status: 'False' },
    { type: 'Conflict', status: 'True' },
  ];
  assert.deepEqual(cells(superclusterExportKind, { status: { conditions } }), [
    'cart',
    'True',
    '',
    'True',
    '<unknown>',
  ]);
  assert.deepEqual(cells(serviceExportKind, { status: { conditions } }), ['cart', '', 'False', 'True', '<unknown>']);
});
