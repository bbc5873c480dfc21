import assert from 'node:assert/strict';
import { test } from 'node:test';
import { decode } from '../../../schema/decode.ts';
import { cells, created, createErrors, plainContext } from '../../testing/validation.ts';
import type { PersistentVolumeClaim } from '../pod/claim.ts';
import { persistentVolumeClaimKind } from './kind.ts';

const good = { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } };
const table: readonly { name: string; given: object; want: readonly string[] }[] = [
  { name: 'accepts a size', given: good, want: [] },
  {
    name: 'requires modes and a size',
    given: {},
    want: [
      'spec.accessModes: Required value: at least 1 access mode is required',
      'spec.resources[storage]: Required value',
    ],
  },
  {
    name: 'rejects sizes that are not positive',
    given: { ...good, resources: { requests: { storage: '0' } } },
    want: ['spec.resources[storage]: Invalid value: "0": must be greater than zero'],
  },
  {
    name: 'validates the data source',
    given: { ...good, dataSourceRef: { kind: 'Snapshot', name: '' } },
    want: [
      'spec.dataSource.name: Required value',
      'spec.dataSource: Invalid value: "Snapshot": must be \'PersistentVolumeClaim\' when referencing the default apiGroup',
      'spec.dataSourceRef.name: Required value',
      'spec.dataSourceRef: Invalid value: "Snapshot": must be \'PersistentVolumeClaim\' when referencing the default apiGroup',
    ],
  },
];
for (const { name, given, want } of table) {
  test(name, () => assert.deepEqual(createErrors(persistentVolumeClaimKind, { spec: given }), want));
}

const claim = { kind: 'PersistentVolumeClaim', name: 'other' };
const sources: readonly { name: string; given: object; want: object }[] = [
  { name: 'copies the source', given: { dataSource: claim }, want: { dataSource: claim, dataSourceRef: claim } },
  { name: 'copies the reference', given: { dataSourceRef: claim }, want: { dataSource: claim, dataSourceRef: claim } },
  { name: 'drops a source of another kind', given: { dataSource: { kind: 'Node', name: 'a' } }, want: {} },
  { name: 'drops a reference to another namespace', given: { dataSourceRef: { ...claim, namespace: 'x' } }, want: {} },
];
for (const { name, given, want } of sources) {
  test(name, () => {
    const { spec } = created(persistentVolumeClaimKind, { spec: { ...good, ...given } });
    assert.deepEqual(spec, { ...good, volumeMode: 'Filesystem', ...want });
  });
}

const updateErrors = (old: object, next: object, status: object = {}): readonly string[] => {
  const make = (spec: object): PersistentVolumeClaim =>
    persistentVolumeClaimKind.applyDefaults(
      decode<PersistentVolumeClaim>(persistentVolumeClaimKind.schema, {
        metadata: { name: 'a', namespace: 'shop' },
        spec: { ...good, ...spec },
        status,
      }).object,
    );
  return persistentVolumeClaimKind
    .validateUpdate(make(next), make(old), plainContext)
    .map(({ path, body }) => `${path}: ${body}`);
};
const sized = (storage: string): object => ({ resources: { requests: { storage } } });
const bound = { phase: 'Bound', capacity: { storage: '1Gi' } };

test('a claim is bound once, and gets a class once', () => {
  assert.deepEqual(updateErrors({}, { volumeName: 'one', storageClassName: 'fast' }), []);
  assert.deepEqual(updateErrors({ volumeName: 'one' }, { volumeName: 'two' }), [
    'spec: Forbidden: spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims\n- volumeName: "one"\n+ volumeName: "two"',
  ]);
});

test('only bound claims can be enlarged, and not below their volume', () => {
  assert.deepEqual(updateErrors({}, sized('2Gi'), bound), []);
  assert.equal(updateErrors({}, sized('2Gi')).length, 1);
  assert.deepEqual(updateErrors({}, sized('1Mi'), bound), [
    'spec.resources.requests.storage: Forbidden: field can not be less than status.capacity',
  ]);
});

test('warns about fractions of a byte', () => {
  const object = created(persistentVolumeClaimKind, { spec: { ...good, ...sized('1500m') } });
  assert.deepEqual(persistentVolumeClaimKind.warnings(object, undefined, plainContext), [
    'spec.resources.requests[storage]: fractional byte value "1500m" is invalid, must be an integer',
  ]);
});

test('uses quotas of all classes and of its own', () => {
  const { quota } = persistentVolumeClaimKind;
  assert.ok(quota !== undefined && quota !== 'none');
  const usage = quota.usage?.(created(persistentVolumeClaimKind, { spec: { ...good, storageClassName: 'fast' } }));
  assert.deepEqual(
    [...(usage ?? [])].map(([name]) => name),
    [
      'count/persistentvolumeclaims',
      'persistentvolumeclaims',
      'requests.storage',
      'fast.storageclass.storage.k8s.io/persistentvolumeclaims',
      'fast.storageclass.storage.k8s.io/requests.storage',
    ],
  );
  assert.ok([...(usage ?? [])].every(([name]) => quota.counts(name)));
});

test('the row of a claim', () => {
  assert.deepEqual(cells(persistentVolumeClaimKind, { spec: good }), [
    'a',
    'Pending',
    '',
    '',
    '',
    '',
    '<unset>',
    '<unknown>',
    'Filesystem',
  ]);
});
