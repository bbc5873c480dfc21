import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { Vips } from '../member/vips.ts';
import { MemberInMemory, webKey } from '../testing/member.ts';
import { serviceExport, record, superclusterExport } from '../testing/records.ts';
import { Reconcilers } from './testing/reconcilers.ts';

const firstWrites = [
  'create ImportedService',
  'create ServiceImport',
  'updateStatus ServiceImport',
  'create EndpointSlice',
];

/** A set in which east exports the service; west imports it. */
function setUp({ isReadOnly = false, vips = new Vips(['241.0.0.0/30']) } = {}) {
  const east = new MemberInMemory('east', { vips });
  const west = new MemberInMemory('west', { vips, isReadOnly });
  east.exports.set(webKey, record('east'));
  return { east, west, vips, reconcilers: new Reconcilers([east, west]) };
}

describe('the reconcile of an import', () => {
  test('writes the objects of an exported service once', async () => {
    const { west, reconcilers } = setUp();
    const outcome = await reconcilers.import('west');
    assert.deepEqual(west.takeWrites().toSorted(), firstWrites.toSorted());
    assert.deepEqual([outcome.affectsExports, outcome.mayBeWithdrawn, outcome.requeueAfterMs], [true, true, 0]);
    const again = await reconcilers.import('west');
    assert.deepEqual(west.takeWrites(), []);
    assert.deepEqual([again.affectsExports, again.mayBeWithdrawn], [false, false]);
  });

  test('rejects when a write fails, and completes the state in the next run', async () => {
    const { west, reconcilers } = setUp();
    west.onWrite = ({ kind }) => {
      if (kind.kind === 'EndpointSlice') throw new Error('forbidden');
    };
    await assert.rejects(reconcilers.import('west'), /forbidden/);
    assert.equal(reconcilers.states.get(webKey, 'west').phase, 'Writing');
    west.onWrite = () => undefined;
    west.takeWrites();
    await reconcilers.import('west');
    assert.deepEqual(west.takeWrites(), ['create EndpointSlice']);
    assert.equal(reconcilers.states.get(webKey, 'west').phase, 'Synced');
  });

  test('does not write a change of an endpoint into other objects, nor to the exports', async () => {
    const { east, west, reconcilers } = setUp();
    await reconcilers.import('west');
    west.takeWrites();
    const [slice] = record('east').slices;
    assert.ok(slice);
    const moved = { ...slice, endpoints: [{ addresses: ['10.0.0.9'], conditions: { ready: true } }] };
    east.exports.set(webKey, record('east', { slices: [moved] }));
    reconcilers.changed();
    const { affectsExports } = await reconcilers.import('west');
    assert.deepEqual(west.takeWrites(), ['update EndpointSlice']);
    assert.equal(affectsExports, false);
  });
});

describe('a member that another controller writes to', () => {
  test('is only checked', async () => {
    const { west, reconcilers } = setUp({ isReadOnly: true });
    const { affectsExports } = await reconcilers.import('west');
    assert.deepEqual(west.takeWrites(), []);
    assert.equal(affectsExports, true);
    assert.equal(reconcilers.states.get(webKey, 'west').last?.delivery.state, 'pending');
  });

  test('has ten seconds to write a change before the exports report it as pending', async () => {
    const { east, west, reconcilers } = setUp({ isReadOnly: true });
    const writer = new MemberInMemory('west', { vips: new Vips(['241.0.0.0/30']) });
    await new Reconcilers([east, writer]).import('west');
    west.objects.set(webKey, writer.actual(webKey));
    await reconcilers.import('west');
    const stateIn = (): string | undefined => reconcilers.states.get(webKey, 'west').last?.delivery.state;
    assert.equal(stateIn(), 'acknowledged');
    east.exports.set(webKey, record('east', { slices: [] }));
    reconcilers.changed();
    assert.equal((await reconcilers.import('west')).requeueAfterMs, 10_000);
    assert.equal(stateIn(), 'acknowledged');
    reconcilers.clock.stall(10_000);
    assert.equal((await reconcilers.import('west')).requeueAfterMs, 0);
    assert.equal(stateIn(), 'pending');
  });
});

describe('deletions of slices', () => {
  const withoutSlices = record('east', { slices: [] });
  const leaving = { deletionTimestamp: '2026-01-02T00:00:00Z' };
  const deletedExport = record('east', {
    superclusterExport: superclusterExport(leaving),
    serviceExport: serviceExport(leaving),
  });

  test('are delayed when a source seems to lose most of its slices at once', async () => {
    const { east, west, reconcilers } = setUp();
    await reconcilers.import('west');
    west.takeWrites();
    east.exports.set(webKey, withoutSlices);
    reconcilers.changed();
    const { requeueAfterMs } = await reconcilers.import('west');
    assert.equal(requeueAfterMs, 60_000);
    assert.deepEqual(west.takeWrites(), []);
    assert.deepEqual(reconcilers.imports.heldIn(west.member), ['east']);
    reconcilers.clock.stall(60_000);
    assert.equal((await reconcilers.import('west')).requeueAfterMs, 0);
    assert.deepEqual(west.takeWrites(), ['delete EndpointSlice']);
  });

  test('are not delayed when the export is deleted', async () => {
    const { east, west, reconcilers } = setUp();
    await reconcilers.import('west');
    west.takeWrites();
    east.exports.set(webKey, deletedExport);
    reconcilers.changed();
    const { requeueAfterMs, mayBeWithdrawn } = await reconcilers.import('west');
    assert.deepEqual([requeueAfterMs, mayBeWithdrawn], [0, true]);
    assert.deepEqual(west.takeWrites().toSorted(), [
      'delete EndpointSlice',
      'delete ImportedService',
      'delete ServiceImport',
    ]);
  });

  test('are not delayed when the source has left the set', async () => {
    const { west, reconcilers } = setUp();
    await reconcilers.import('west');
    west.takeWrites();
    reconcilers.membership.remove('east');
    reconcilers.changed();
    assert.equal((await reconcilers.import('west')).requeueAfterMs, 0);
    assert.ok(west.takeWrites().includes('delete EndpointSlice'));
  });
});

describe('a service without exports', () => {
  test('MCS-45 releases its address once no member holds it, and names the services that wait for one', async () => {
    const vips = new Vips(['241.0.0.7/32']);
    const { east, west, reconcilers } = setUp({ vips });
    for (const member of [east, west]) member.slicesOfSource = 10;
    for (const id of ['east', 'west']) await reconcilers.import(id);
    const free = vips.preview('shop/other', reconcilers.services.get(webKey).views.clusterset);
    assert.equal(free.state, 'exhausted');
    vips.addressesFor('shop/other', reconcilers.services.get(webKey).views.clusterset, { slices: [] });
    east.exports.delete(webKey);
    reconcilers.changed();
    const first = await reconcilers.import('west');
    assert.deepEqual([first.isDeleted, first.unblocked.keys], [false, []], 'east holds it');
    const last = await reconcilers.import('east');
    assert.deepEqual([last.isDeleted, last.unblocked.keys], [true, ['shop/other']]);
    assert.deepEqual(last.unblocked.members, ['east', 'west']);
    assert.deepEqual([...reconcilers.services.known()], []);
    assert.equal(west.actual(webKey).serviceImport, undefined);
  });

  test('MCS-44 keeps its address while a member that may use it cannot be read', async () => {
    const { east, west, vips, reconcilers } = setUp();
    for (const member of [east, west]) member.slicesOfSource = 10;
    for (const id of ['east', 'west']) await reconcilers.import(id);
    east.exports.delete(webKey);
    reconcilers.changed();
    west.isSynced = false;
    reconcilers.changed();
    const { isDeleted } = await reconcilers.import('east');
    assert.equal(isDeleted, false);
    assert.equal(vips.has(webKey), true);
    west.isSynced = true;
    reconcilers.changed();
    assert.equal((await reconcilers.import('west')).isDeleted, true);
    assert.equal(vips.has(webKey), false);
  });
});
