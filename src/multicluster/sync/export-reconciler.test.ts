import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { Vips } from '../member/vips.ts';
import { exportFinalizer } from '../project/labels.ts';
import { emptyMember } from '../project/testing/actual.ts';
import { MemberInMemory, webKey } from '../testing/member.ts';
import { serviceExport, record, superclusterExport } from '../testing/records.ts';
import { Reconcilers } from './testing/reconcilers.ts';

const leaving = { deletionTimestamp: '2026-01-02T00:00:00Z', finalizers: [exportFinalizer] };
const deletedExport = record('east', {
  superclusterExport: superclusterExport(leaving),
  serviceExport: serviceExport(leaving),
});

/** A set in which east exports the service. Imports are reconciled in the given members. */
async function setUp(imported: readonly string[] = ['east', 'west'], options: { isLeaving?: boolean } = {}) {
  const vips = new Vips(['241.0.0.0/24']);
  const east = new MemberInMemory('east', { vips, ...options });
  const west = new MemberInMemory('west', { vips });
  east.exports.set(webKey, record('east'));
  const reconcilers = new Reconcilers([east, west]);
  reconcilers.clock.stall(20_000);
  for (const id of imported) await reconcilers.import(id);
  return { east, west, reconcilers };
}

/** `Type=Status Reason` of the supercluster export. */
const conditionsOf = (member: MemberInMemory): readonly string[] =>
  (member.exports.get(webKey)?.superclusterExport?.status?.conditions ?? []).map(
    ({ type, status, reason }) => `${type}=${status} ${reason}`,
  );

describe('the reconcile of an export', () => {
  test('MCS-19 MCS-20 writes the finalizers, then the conditions, and nothing afterwards', async () => {
    const { east, reconcilers } = await setUp();
    east.takeWrites();
    assert.equal(await reconcilers.export('east'), 0);
    assert.deepEqual(east.takeWrites(), [
      'update ServiceExport',
      'update ServiceExport',
      'updateStatus ServiceExport',
      'updateStatus ServiceExport',
    ]);
    assert.deepEqual(conditionsOf(east), [
      'Initialized=True Initialized',
      'Exported=True Exported',
      'Conflict=False NoConflicts',
    ]);
    assert.equal(await reconcilers.export('east'), 0);
    assert.deepEqual(east.takeWrites(), []);
  });

  test('MCS-23 waits a second for a member without a result, then names it, and retries', async () => {
    const { east, reconcilers } = await setUp(['east']);
    east.takeWrites();
    assert.equal(await reconcilers.export('east'), 1000);
    assert.deepEqual(east.takeWrites(), []);
    reconcilers.clock.stall(1000);
    assert.equal(await reconcilers.export('east'), 1000);
    assert.ok(conditionsOf(east).includes('Exported=False Pending'));
  });

  for (const [what, change] of [
    ['does not answer', (west: MemberInMemory) => void (west.probe.state = 'lost')],
    ['has not been read', (west: MemberInMemory) => void (west.isSynced = false)],
  ] as const) {
    test(`MCS-23 does not wait for a member that ${what}`, async () => {
      const { east, west, reconcilers } = await setUp(['east']);
      change(west);
      reconcilers.changed();
      assert.equal(await reconcilers.export('east'), 0);
      assert.ok(conditionsOf(east).includes('Exported=False Pending'));
    });
  }

  test('MCS-109 does not wait for a member without the namespace', async () => {
    const { east, west, reconcilers } = await setUp(['east']);
    west.namespaces.clear();
    assert.equal(await reconcilers.export('east'), 0);
    assert.ok(conditionsOf(east).includes('Exported=True Exported'));
  });

  test('MCS-20 is pending while the cluster has slices that the watch has not delivered', async () => {
    const { east, reconcilers } = await setUp();
    const [slice] = record('east').slices;
    assert.ok(slice);
    east.listedSlices = [{ ...slice, metadata: { ...slice.metadata, resourceVersion: '12' } }];
    assert.equal(await reconcilers.export('east'), 1000);
    assert.ok(conditionsOf(east).includes('Exported=False Pending'));
    east.listedSlices = undefined;
    assert.equal(await reconcilers.export('east'), 0);
    assert.ok(conditionsOf(east).includes('Exported=True Exported'));
  });

  test('does nothing for a member without an export', async () => {
    const { west, reconcilers } = await setUp();
    west.takeWrites();
    assert.equal(await reconcilers.export('west'), 0);
    assert.deepEqual(west.takeWrites(), []);
  });
});

describe('MCS-21 the finalizer of a deleted export', () => {
  const cases: readonly (readonly [name: string, isKept: boolean, change: (west: MemberInMemory) => void])[] = [
    ['stays while a member holds its slices', true, () => undefined],
    ['stays while a silent member holds its slices', true, (west) => void (west.probe.state = 'silent')],
    ['is removed when only a lost member holds its slices', false, (west) => void (west.probe.state = 'lost')],
    ['is removed when no member holds anything', false, (west) => west.objects.clear()],
    [
      'stays while a member that answers has not been read',
      true,
      (west) => {
        west.objects.set(webKey, emptyMember);
        west.isSynced = false;
      },
    ],
    ['is removed when the member has no namespace for it', false, (west) => west.namespaces.clear()],
  ];
  for (const [name, isKept, change] of cases) {
    test(name, async () => {
      const { east, west, reconcilers } = await setUp();
      east.exports.set(webKey, deletedExport);
      reconcilers.changed();
      await reconcilers.import('east');
      change(west);
      reconcilers.changed();
      await reconcilers.export('east');
      assert.equal(east.exports.has(webKey), isKept);
    });
  }
});

describe('a cluster that leaves the set', () => {
  test('gets last conditions, then loses the finalizers', async () => {
    const { east, reconcilers } = await setUp([], { isLeaving: true });
    const withFinalizer = { finalizers: [exportFinalizer] };
    east.exports.set(
      webKey,
      record('east', { superclusterExport: superclusterExport(withFinalizer), serviceExport: undefined }),
    );
    reconcilers.changed();
    assert.equal(await reconcilers.export('east'), 0);
    assert.deepEqual(east.takeWrites(), ['updateStatus ServiceExport', 'update ServiceExport']);
    assert.equal(conditionsOf(east)[0], 'Initialized=False NotAMember');
    assert.deepEqual(east.exports.get(webKey)?.superclusterExport?.metadata.finalizers ?? [], []);
  });
});

describe('whether exports are reconciled after an import', () => {
  const outcome = (affectsExports: boolean, mayBeWithdrawn: boolean) => ({
    affectsExports,
    mayBeWithdrawn,
    requeueAfterMs: 0,
    unblocked: { keys: [], members: [] },
    isDeleted: false,
  });

  test('after the result of the last member only', async () => {
    const { reconcilers } = await setUp(['east']);
    const { exports } = reconcilers;
    assert.equal(exports.dependsOn(webKey, outcome(true, true)), false, 'west has no result');
    await reconcilers.import('west');
    assert.equal(exports.dependsOn(webKey, outcome(true, true)), true);
    assert.equal(exports.dependsOn(webKey, outcome(false, true)), false, 'the same result as before');
  });

  test('after each removal while an export is deleted', async () => {
    const { east, reconcilers } = await setUp(['east']);
    east.exports.set(webKey, deletedExport);
    reconcilers.changed();
    await reconcilers.import('east');
    assert.equal(reconcilers.exports.dependsOn(webKey, outcome(false, true)), true);
    assert.equal(reconcilers.exports.dependsOn(webKey, outcome(false, false)), false);
  });
});
