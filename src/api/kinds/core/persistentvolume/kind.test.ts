import assert from 'node:assert/strict';
import { test } from 'node:test';
import { cells, created, createErrors, plainContext, updateErrors } from '../../testing/validation.ts';
import { persistentVolumeKind } from './kind.ts';

const good = { capacity: { storage: '1Gi' }, accessModes: ['ReadWriteOnce'], hostPath: { path: '/data' } };
const { hostPath: _, ...nowhere } = good;
const table: readonly { name: string; given: object; want: readonly string[] }[] = [
  { name: 'accepts a path of the host', given: good, want: [] },
  {
    name: 'requires modes, capacity and a source',
    given: {},
    want: [
      'spec.accessModes: Required value',
      'spec.capacity: Required value',
      'spec.capacity: Unsupported value: {}: supported values: "storage"',
      'spec: Required value: must specify a volume type',
    ],
  },
  {
    name: 'rejects a flexVolume without a driver, also beside another volume',
    given: { ...good, flexVolume: { driver: '' } },
    want: ['spec.flexVolume.driver: Required value'],
  },
  {
    name: 'rejects unknown words and several sources',
    given: {
      ...good,
      accessModes: ['ReadWriteOncePod', 'ReadWriteMany', 'X'],
      persistentVolumeReclaimPolicy: 'Keep',
      volumeMode: 'X',
      nfs: { server: 'nfs.example.org', path: '/data' },
    },
    want: [
      'spec.accessModes: Unsupported value: "X": supported values: "ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"',
      'spec.accessModes: Forbidden: may not use ReadWriteOncePod with other access modes',
      'spec.persistentVolumeReclaimPolicy: Unsupported value: "Keep": supported values: "Delete", "Recycle", "Retain"',
      'spec.nfs: Forbidden: may not specify more than 1 volume type',
      'spec.volumeMode: Unsupported value: "X": supported values: "Block", "Filesystem"',
    ],
  },
  {
    name: 'a local volume needs a node affinity',
    given: { ...nowhere, local: { path: '../x' } },
    want: [
      'spec.local.path: Invalid value: "../x": must not contain \'..\'',
      'spec.nodeAffinity: Required value: Local volume requires node affinity',
    ],
  },
  {
    name: 'validates the node affinity',
    given: {
      ...good,
      nodeAffinity: {
        required: {
          nodeSelectorTerms: [
            { matchExpressions: [{ key: 'zone', operator: 'In' }], matchFields: [{ key: 'uid', operator: 'Exists' }] },
          ],
        },
      },
    },
    want: [
      "spec.nodeAffinity.required.nodeSelectorTerms[0].matchExpressions[0].values: Required value: must be specified when `operator` is 'In' or 'NotIn'",
      'spec.nodeAffinity.required.nodeSelectorTerms[0].matchFields[0].operator: Invalid value: "Exists": not a valid selector operator',
      'spec.nodeAffinity.required.nodeSelectorTerms[0].matchFields[0].key: Invalid value: "uid": not a valid field selector key',
    ],
  },
  {
    name: 'a CSI volume has a driver and a handle',
    given: { ...nowhere, csi: { driver: '', nodePublishSecretRef: { name: 'a' } } },
    want: [
      'spec.csi.driver: Required value',
      'spec.csi.volumeHandle: Required value',
      'spec.csi.nodePublishSecretRef.namespace: Required value',
    ],
  },
];
for (const { name, given, want } of table) {
  test(name, () => assert.deepEqual(createErrors(persistentVolumeKind, { spec: given }), want));
}

test('the source cannot be changed, the reclaim policy can', () => {
  const change = (more: object): readonly string[] =>
    updateErrors(persistentVolumeKind, { spec: good }, { spec: { ...good, ...more } });
  assert.deepEqual(change({ persistentVolumeReclaimPolicy: 'Delete' }), []);
  assert.deepEqual(change({ hostPath: { path: '/other' }, volumeMode: 'Block' }), [
    'spec.persistentvolumesource: Forbidden: spec.persistentvolumesource is immutable after creation',
    'volumeMode: Invalid value: "Block": field is immutable',
  ]);
});

test('a new volume is pending since its creation', () => {
  const metadata = { name: 'a', creationTimestamp: '2026-01-01T00:00:00Z' };
  assert.deepEqual(created(persistentVolumeKind, { metadata, spec: good, status: { phase: 'Bound' } }).status, {
    phase: 'Pending',
    lastPhaseTransitionTime: '2026-01-01T00:00:00Z',
  });
});

test('warns about deprecated fields', () => {
  const object = created(persistentVolumeKind, {
    spec: {
      ...good,
      persistentVolumeReclaimPolicy: 'Recycle',
      nodeAffinity: {
        required: {
          nodeSelectorTerms: [{ matchExpressions: [{ key: 'beta.kubernetes.io/os', operator: 'Exists' }] }],
        },
      },
    },
  });
  assert.deepEqual(persistentVolumeKind.warnings(object, undefined, plainContext), [
    'spec.persistentVolumeReclaimPolicy: The Recycle reclaim policy is deprecated. Instead, the recommended approach is to use dynamic provisioning.',
    'spec.nodeAffinity.required.nodeSelectorTerms[0].matchExpressions[0].key: beta.kubernetes.io/os is deprecated since v1.14; use "kubernetes.io/os" instead',
  ]);
});

test('the row of a bound volume', () => {
  const claimRef = { namespace: 'shop', name: 'data' };
  const content = { spec: { ...good, claimRef, storageClassName: 'fast' }, status: { phase: 'Bound' } };
  assert.deepEqual(cells(persistentVolumeKind, content), [
    'a',
    '1Gi',
    'RWO',
    'Retain',
    'Bound',
    'shop/data',
    'fast',
    '<unset>',
    '',
    '<unknown>',
    'Filesystem',
  ]);
});
