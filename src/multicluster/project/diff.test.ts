import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { managedByLabel } from '../../api/kinds/discovery/endpointslice/labels.ts';
import { sourceClusterLabel } from '../../api/kinds/multicluster/labels.ts';
import { merge } from '../merge/merge.ts';
import { endpoint, http, member, record, sourceSlice, web } from '../testing/records.ts';
import type { VipState } from '../vip/allocator.ts';
import { afterWrites, emptyMember, now, settle } from './testing/actual.ts';
import type { Actual, Difference } from './desired.ts';
import { diff } from './diff.ts';
import { project } from './project.ts';

const vip: VipState = { state: 'reserved', ips: ['241.0.0.7'], families: ['IPv4'] };
const target = { member: member('north'), actual: emptyMember, vip };
const both = merge(web, [record('east'), record('west', { day: 2 })]);
const settled = settle(both, target).actual;

const textOf = ({ writes }: Difference): readonly string[] => writes.map(({ verb, kind }) => `${verb} ${kind.kind}`);

/** The writes from `actual` to the objects of exports of both clusters. */
const repair = (actual: Actual, merged = both): Difference =>
  diff(project(merged, { ...target, actual }), actual, { now });

describe('writes', () => {
  test('none in the steady state', () => {
    assert.deepEqual(repair(settled), { writes: [], foreignObjects: [], isPartial: false });
  });

  test('MCS-67 writes imports before objects that refer to them', () => {
    const { writes } = settle(both, target);
    assert.deepEqual(
      writes.map(({ verb, kind }) => `${verb} ${kind.kind}`),
      [
        'create ImportedService',
        'create ServiceImport',
        'updateStatus ServiceImport',
        ...Array<string>(2).fill('create EndpointSlice'),
      ],
    );
  });

  test('MCS-68 writes one slice for a changed endpoint', () => {
    const slices = [sourceSlice('web-abc', { endpoints: [endpoint('10.0.0.2')] })];
    const changed = merge(web, [record('east', { slices }), record('west', { day: 2 })]);
    assert.deepEqual(textOf(repair(settled, changed)), ['update EndpointSlice']);
  });

  test('writes new objects before it removes old ones', () => {
    const changed = merge(web, [record('east', { slices: [sourceSlice('web-new')] }), record('west', { day: 2 })]);
    assert.deepEqual(textOf(repair(settled, changed)), ['create EndpointSlice', 'delete EndpointSlice']);
  });

  test('sends UID and revision with deletions, and the revision with updates', () => {
    for (const write of repair(settled, merge(web, [])).writes) {
      const { uid, resourceVersion } = write.object.metadata;
      assert.ok(uid !== undefined && resourceVersion !== undefined);
      assert.deepEqual(write.verb === 'delete' && write.preconditions, { uid, resourceVersion });
    }
    const [first, ...rest] = settled.slices;
    assert.ok(first);
    const [update] = repair({ ...settled, slices: [{ ...first, endpoints: [] }, ...rest] }).writes;
    assert.equal(update?.object.metadata.resourceVersion, first.metadata.resourceVersion);
  });
});

describe('drift', () => {
  const [slice, ...others] = settled.slices;
  assert.ok(slice && settled.importedService && settled.serviceImport);
  const { importedService, serviceImport } = settled;
  const tables: readonly { readonly name: string; readonly actual: Actual; readonly writes: readonly string[] }[] = [
    {
      name: 'MCS-71 a slice that was edited is restored',
      actual: { ...settled, slices: [{ ...slice, endpoints: [endpoint('6.6.6.6')] }, ...others] },
      writes: ['update EndpointSlice'],
    },
    {
      name: 'MCS-71 a slice whose label was removed is restored',
      actual: {
        ...settled,
        slices: [
          { ...slice, metadata: { ...slice.metadata, labels: { [managedByLabel]: 'mcsd-controller.fairlead.dev' } } },
          ...others,
        ],
      },
      writes: ['update EndpointSlice'],
    },
    {
      name: 'MCS-71 a slice that was deleted is restored',
      actual: { ...settled, slices: others },
      writes: ['create EndpointSlice'],
    },
    {
      name: 'MCS-71 a slice of ours that mirrors nothing is removed',
      actual: { ...settled, slices: [...settled.slices, { ...slice, metadata: { ...slice.metadata, name: 'stray' } }] },
      writes: ['delete EndpointSlice'],
    },
    {
      name: 'MCS-71 a foreign slice with our labels is left alone',
      actual: {
        ...settled,
        slices: [
          ...settled.slices,
          {
            ...slice,
            metadata: {
              ...slice.metadata,
              name: 'foreign',
              labels: { ...slice.metadata.labels, [managedByLabel]: 'x' },
            },
          },
        ],
      },
      writes: [],
    },
    {
      name: 'MCS-108 an edited ImportedService is restored',
      actual: { ...settled, importedService: { ...importedService, spec: { ...importedService.spec, ip: '6.6.6.6' } } },
      writes: ['update ImportedService'],
    },
    {
      name: 'MCS-108 a deleted ImportedService is restored, and with it the owners of slices',
      actual: { ...settled, importedService: undefined },
      writes: ['create ImportedService', ...Array<string>(2).fill('update EndpointSlice')],
    },
    {
      name: 'an edited label of a ServiceImport is restored',
      actual: {
        ...settled,
        serviceImport: {
          ...serviceImport,
          metadata: { ...serviceImport.metadata, labels: { ...serviceImport.metadata.labels, own: 'x' } },
        },
      },
      writes: ['update ServiceImport'],
    },
    {
      name: 'an edited status of a ServiceImport is restored',
      actual: { ...settled, serviceImport: { ...serviceImport, status: { clusters: [] } } },
      writes: ['updateStatus ServiceImport'],
    },
    {
      name: 'waits for an object that is being deleted',
      actual: {
        ...settled,
        slices: [{ ...slice, endpoints: [], metadata: { ...slice.metadata, deletionTimestamp: now } }, ...others],
      },
      writes: [],
    },
  ];
  for (const { name, actual, writes } of tables) {
    test(name, () => assert.deepEqual(textOf(repair(actual)), writes));
  }

  test('reports objects of another implementation and does not adopt them', () => {
    const labels = { 'app.kubernetes.io/managed-by': 'submariner' };
    const foreign = { ...serviceImport, metadata: { ...serviceImport.metadata, labels } };
    const { writes, foreignObjects } = repair({ ...settled, serviceImport: foreign });
    assert.ok(writes.every(({ kind }) => kind.kind !== 'ServiceImport'));
    assert.match(
      foreignObjects[0]?.message ?? '',
      /ServiceImport shop\/web is managed by submariner and is left alone/,
    );
    const gone = repair({ ...settled, serviceImport: foreign }, merge(web, []));
    assert.ok(gone.writes.every(({ kind }) => kind.kind !== 'ServiceImport'));
  });

  test('reports a slice of another owner with a needed name', () => {
    const foreign = { ...slice, metadata: { ...slice.metadata, labels: { [managedByLabel]: 'x' } } };
    const { writes, foreignObjects } = repair({ ...settled, slices: [foreign, ...others] });
    assert.deepEqual(writes, []);
    assert.equal(foreignObjects[0]?.object, foreign);
  });
});

describe('a cluster that was not read', () => {
  const unknownClusters = new Set(['west']);
  const again = (merged: ReturnType<typeof merge>): Actual =>
    settle(merged, { ...target, actual: settled, unknownClusters }).actual;

  test('MCS-85 keeps slices, cluster and ports of an unread cluster', () => {
    const after = again(merge(web, [record('east')]));
    assert.deepEqual(after, settled);
  });

  test('keeps the import while no cluster has been read', () => {
    const { actual, writes } = settle(merge(web, []), {
      ...target,
      actual: settled,
      unknownClusters: new Set(['east', 'west']),
    });
    assert.deepEqual(writes, []);
    assert.deepEqual(actual, settled);
  });

  test('applies compatible changes of known clusters', () => {
    const ports = [
      { ...http, port: 81 },
      { ...http, name: 'admin', port: 9090 },
    ];
    const after = again(merge(web, [record('east', { spec: { ports } })]));
    assert.deepEqual(
      after.importedService?.spec?.ports?.map(({ name, port }) => `${name ?? ''} ${port}`),
      ['http 80', 'admin 9090'],
    );
    const gone = again(merge(web, [record('east', { service: undefined })]));
    assert.deepEqual(
      gone.importedService?.spec?.clusters?.map(({ cluster }) => cluster),
      ['west'],
    );
    assert.equal(gone.slices.length, 1);
  });

  test('withdraws the supercluster view on a conflict of known clusters', () => {
    const other = record('north', { day: 3, spec: { ports: [{ ...http, port: 81 }] } });
    assert.equal(again(merge(web, [record('east'), other])).importedService, undefined);
  });

  test('removes everything of a cluster that was read and exports nothing', () => {
    const { actual } = settle(merge(web, [record('east')]), { ...target, actual: settled });
    assert.equal(actual.slices.length, 1);
    assert.equal(actual.importedService?.spec?.clusters?.length, 1);
  });
});

describe('a lost cluster', () => {
  const lost = { ...target, lostClusters: new Set(['west']) };

  test('MCS-85 MCS-88 does not restore slices of a lost cluster, and keeps imports', () => {
    const reaped = {
      ...settled,
      slices: settled.slices.filter(({ metadata }) => metadata.labels?.[sourceClusterLabel] !== 'west'),
    };
    const { writes, actual } = settle(both, { ...lost, actual: reaped });
    assert.deepEqual(writes, []);
    assert.equal(actual.importedService?.spec?.clusters?.length, 2);
  });

  test('does not change existing slices of a lost cluster', () => {
    const fewer = merge(web, [record('east'), record('west', { day: 2, slices: [] })]);
    assert.deepEqual(settle(fewer, { ...lost, actual: settled }).writes, []);
  });

  test('MCS-86 restores slices of a returned cluster under the same names', () => {
    const reaped = { ...settled, slices: settled.slices.slice(0, 1) };
    const { actual } = settle(both, { ...target, actual: reaped });
    assert.deepEqual(
      new Set(actual.slices.map(({ metadata }) => metadata.name)),
      new Set(settled.slices.map(({ metadata }) => metadata.name)),
    );
  });
});

test('completes the writes of a controller that stopped between any two', () => {
  const { writes } = settle(both, target);
  for (let made = 0; made <= writes.length; made++) {
    const actual = afterWrites(emptyMember, writes.slice(0, made));
    const after = settle(both, { ...target, actual }).actual;
    assert.deepEqual(
      new Set(after.slices.map(({ metadata }) => metadata.name)),
      new Set(settled.slices.map(({ metadata }) => metadata.name)),
    );
    assert.deepEqual(after.importedService?.spec, settled.importedService?.spec);
    assert.ok(after.slices.every(({ metadata }) => metadata.ownerReferences?.length === 2));
  }
});
