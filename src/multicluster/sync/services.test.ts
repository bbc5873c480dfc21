import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { Vips } from '../member/vips.ts';
import { MemberInMemory, webKey } from '../testing/member.ts';
import { record } from '../testing/records.ts';
import { Reconcilers } from './testing/reconcilers.ts';

function setUp(options: ConstructorParameters<typeof MemberInMemory>[1] = {}) {
  const east = new MemberInMemory('east', options);
  const west = new MemberInMemory('west');
  const reconcilers = new Reconcilers([east, west]);
  return { east, west, reconcilers, services: reconcilers.services };
}

describe('merged services', () => {
  test('are computed once after each change of their records', () => {
    const { east, reconcilers, services } = setUp();
    east.exports.set(webKey, record('east'));
    reconcilers.changed();
    const first = services.get(webKey);
    const version = services.version(webKey);
    assert.equal(services.get(webKey), first);
    assert.equal(services.version(webKey), version);
    reconcilers.changed();
    assert.notEqual(services.get(webKey), first);
    assert.ok(services.version(webKey) > version);
  });

  test('have an increasing version, also when a service is deleted in between', () => {
    const { east, reconcilers, services } = setUp();
    east.exports.set(webKey, record('east'));
    services.get(webKey);
    const version = services.version(webKey);
    east.exports.clear();
    reconcilers.changed();
    services.get(webKey);
    services.delete(webKey);
    assert.deepEqual([...services.keys()], []);
    services.get(webKey);
    assert.ok(services.version(webKey) > version);
  });

  test('are not deleted while a cluster exports them', () => {
    const { east, services } = setUp();
    east.exports.set(webKey, record('east'));
    services.get(webKey);
    services.delete(webKey);
    assert.deepEqual([...services.keys()], [webKey]);
  });

  test('keep no key of a service without exports, however often it changes', () => {
    const { reconcilers, services } = setUp();
    reconcilers.changed();
    assert.deepEqual([...services.known()], []);
  });

  test('exclude members that leave', () => {
    const { east, services } = setUp({ isLeaving: true });
    east.exports.set(webKey, record('east'));
    assert.deepEqual(services.get(webKey).exporters, []);
  });

  test('keep their order of clusters, whatever the timestamps of later records', () => {
    const { east, west, reconcilers, services } = setUp();
    west.exports.set(webKey, record('west', { day: 2 }));
    assert.deepEqual(services.get(webKey).order, ['west']);
    east.exports.set(webKey, record('east', { day: 1 }));
    reconcilers.changed();
    assert.deepEqual(services.get(webKey).order, ['west', 'east']);
  });

  test('take the order of clusters from an existing import after a restart', async () => {
    const vips = new Vips(['241.0.0.0/24']);
    const [east, west] = [new MemberInMemory('east', { vips }), new MemberInMemory('west', { vips })];
    west.exports.set(webKey, record('west', { day: 2 }));
    const before = new Reconcilers([east, west]);
    await before.import('west');
    east.exports.set(webKey, record('east', { day: 1 }));
    const restarted = new Reconcilers([east, west]);
    assert.deepEqual(restarted.services.get(webKey).order, ['west', 'east']);
  });

  test('follow the order in an import while other controllers write to the set', async () => {
    const vips = new Vips(['241.0.0.0/24']);
    const [east, west] = [new MemberInMemory('east', { vips }), new MemberInMemory('west', { vips })];
    for (const { id, exports } of [east, west]) exports.set(webKey, record(id, { day: id === 'east' ? 1 : 2 }));
    const hasOtherWriters = true;
    const { services } = new Reconcilers([east, west], hasOtherWriters);
    assert.deepEqual(services.get(webKey).order, ['east', 'west']);
    const other = new Reconcilers([west]);
    await other.import('west');
    assert.equal(services.isOutOfOrder(webKey), false, 'the import has one cluster only');
    west.objects.clear();
    const reversed = new Reconcilers([west, east]);
    east.exports.delete(webKey);
    await reversed.import('west');
    east.exports.set(webKey, record('east', { day: 1 }));
    reversed.changed();
    await reversed.import('west');
    assert.equal(services.isOutOfOrder(webKey), true);
  });
});

describe('dropped parts of records', () => {
  test('is counted for each member, until the record is accepted', () => {
    const { east, reconcilers, services } = setUp({ policy: { maxEndpointsPerService: 0 } });
    east.exports.set(webKey, record('east'));
    services.get(webKey);
    assert.deepEqual([...services.droppedOf()], [['east', 1]]);
    assert.equal(services.dropped(webKey)[0]?.what, 'slice');
    east.exports.set(webKey, record('east', { slices: [] }));
    reconcilers.changed();
    services.get(webKey);
    assert.deepEqual([...services.droppedOf()], []);
  });

  test('an export over a quota is counted again a second after a change', async () => {
    const { east, reconcilers, services } = setUp({ policy: { maxEndpoints: 0 } });
    east.exports.set(webKey, record('east'));
    const verdict = (): string | undefined => services.get(webKey).exporters[0]?.verdict.state;
    assert.equal(verdict(), 'invalid');
    east.exports.set(webKey, record('east', { slices: [] }));
    reconcilers.changed();
    assert.equal(verdict(), 'invalid', 'the last count applies');
    await reconcilers.clock.advance(1000);
    assert.equal(verdict(), 'valid');
  });
});
