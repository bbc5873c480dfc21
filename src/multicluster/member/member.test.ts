import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { ApiObject } from '../../api/metadata.ts';
import type { Handler } from '../../client/informer.ts';
import { ManualClock } from '../../client/testing/clocks.ts';
import type { View } from '../merge/merged.ts';
import { managedBy, objectManagedByLabel } from '../project/marks.ts';
import { Unseen } from './unseen.ts';
import { Vips } from './vips.ts';

const object = (resourceVersion: string, uid = 'a'): ApiObject => ({
  metadata: { namespace: 'shop', name: 'web', uid, resourceVersion },
});

describe('what was written and not seen yet', () => {
  const key = 'shop/web';

  /** A cache that tells what it is told to, and the news that are left of it. */
  function followed(clock = new ManualClock()) {
    const unseen = new Unseen(clock);
    const news: string[] = [];
    const handlers: Required<Handler<ApiObject>>[] = [];
    const note = ({ metadata }: ApiObject): void => void news.push(metadata.resourceVersion ?? '');
    unseen.follow({ subscribe: (own) => handlers.push(own) }, { added: note, updated: note, deleted: note });
    return {
      unseen,
      news,
      saw: (seen: ApiObject) => handlers[0]?.updated(seen, seen),
      sawGone: (seen: ApiObject) => handlers[0]?.deleted(seen),
      wrote: (left: ApiObject) => unseen.write(left, async () => left),
      removed: (gone: ApiObject) => unseen.write(gone, async () => undefined),
      revisions: (...cached: readonly ApiObject[]) =>
        unseen.latest(key, cached).map(({ metadata }) => metadata.resourceVersion),
    };
  }

  test('counts until the cache has it, and no longer', async () => {
    const { wrote, saw, revisions } = followed();
    await wrote(object('5'));
    assert.deepEqual(revisions(), ['5']);
    assert.deepEqual(revisions(object('4')), ['5']);
    assert.deepEqual(revisions(object('6')), ['6']);
    saw(object('4'));
    assert.deepEqual(revisions(), ['5'], 'an older event says nothing');
    saw(object('5'));
    assert.deepEqual(revisions(), []);
  });

  test('a removal hides what the cache still has, but not what came after', async () => {
    const { removed, sawGone, revisions } = followed();
    await removed(object('5'));
    assert.deepEqual(revisions(object('5')), []);
    assert.deepEqual(revisions(object('9', 'b')), ['9']);
    sawGone(object('6'));
    assert.deepEqual(revisions(object('5')), ['5']);
  });

  test('what has finalizers is not gone', async () => {
    const { removed, revisions } = followed();
    await removed({ metadata: { ...object('5').metadata, finalizers: ['x/y'] } });
    assert.deepEqual(revisions(object('5')), ['5']);
  });

  test('what never comes back is forgotten', async () => {
    const clock = new ManualClock();
    const { wrote, revisions } = followed(clock);
    await wrote(object('5'));
    await clock.advance(30_001);
    assert.deepEqual(revisions(), []);
  });

  test('what comes back is no news, what somebody else did is', async () => {
    const { wrote, removed, saw, sawGone, news } = followed();
    await wrote(object('5'));
    saw(object('4'));
    saw(object('5'));
    saw(object('6'));
    await removed(object('6'));
    sawGone(object('7'));
    sawGone(object('9', 'b'));
    assert.deepEqual(news, ['4', '6', '9']);
  });

  test('what comes back before the answer is held until that says what it was', async () => {
    const { unseen, saw, news, revisions } = followed();
    const answer = Promise.withResolvers<ApiObject>();
    const writing = unseen.write(object('4'), () => answer.promise);
    saw(object('5'));
    saw(object('6'));
    assert.deepEqual(news, []);
    answer.resolve(object('5'));
    await writing;
    assert.deepEqual(news, ['6']);
    assert.deepEqual(revisions(), [], 'the cache is beyond it');
  });

  test('what came while a write failed is news', async () => {
    const { unseen, saw, news } = followed();
    const answer = Promise.withResolvers<ApiObject>();
    const writing = unseen.write(object('4'), () => answer.promise);
    saw(object('5'));
    answer.reject(new Error('a conflict'));
    await assert.rejects(writing, /a conflict/);
    assert.deepEqual(news, ['5']);
  });
});

describe('addresses of imports', () => {
  const view: View = { type: 'ClusterSetIP', ports: [], families: ['IPv4'], clusters: [], labels: {}, annotations: {} };
  const importWith = (ip: string, ours = true) => ({
    metadata: {
      namespace: 'shop',
      name: 'web',
      creationTimestamp: '2026-01-01T00:00:00Z',
      ...(ours ? { labels: { [objectManagedByLabel]: managedBy } } : {}),
    },
    spec: { type: 'ClusterSetIP' as const, ports: [], ips: [ip] },
  });

  test('MCS-44 what an import says when it is first seen is kept, what it says later is not', () => {
    const vips = new Vips(['241.0.0.0/24']);
    const first = vips.addressesFor('shop/web', view, { slices: [], serviceImport: importWith('241.0.0.9') });
    assert.deepEqual(first, { state: 'reserved', ips: ['241.0.0.9'], families: ['IPv4'] });
    assert.deepEqual(
      vips.addressesFor('shop/web', view, { slices: [], serviceImport: importWith('241.0.0.10') }),
      first,
    );
  });

  test("somebody else's import is not believed", () => {
    const vips = new Vips(['241.0.0.0/24']);
    const vip = vips.addressesFor('shop/web', view, { slices: [], serviceImport: importWith('241.0.0.9', false) });
    assert.notDeepEqual(vip.state === 'reserved' && vip.ips, ['241.0.0.9']);
  });

  test('another controller that was quicker is followed', () => {
    const vips = new Vips(['241.0.0.0/24']);
    vips.addressesFor('shop/web', view, { slices: [] });
    const vip = vips.addressesFor('shop/web', view, { slices: [], serviceImport: importWith('241.0.0.9') });
    assert.deepEqual(vip, { state: 'reserved', ips: ['241.0.0.9'], families: ['IPv4'] });
  });

  test('MCS-94 a headless service has none', () => {
    const vips = new Vips(['241.0.0.0/24']);
    assert.deepEqual(vips.addressesFor('shop/web', { ...view, type: 'Headless' }, { slices: [] }), {
      state: 'unneeded',
    });
  });

  test('MCS-45 who waits is told of what is freed', () => {
    const vips = new Vips(['241.0.0.1/32']);
    vips.addressesFor('shop/web', view, { slices: [] });
    assert.equal(vips.addressesFor('shop/cart', view, { slices: [] }).state, 'exhausted');
    assert.deepEqual(vips.release('shop/web'), ['shop/cart']);
  });
});
