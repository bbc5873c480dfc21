import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { ApiObject } from '../../api/metadata.ts';
import type { Handler } from '../../client/informer.ts';
import { ManualClock } from '../../client/testing/clocks.ts';
import { MutationCache } from './mutation-cache.ts';

const object = (resourceVersion: string, uid = 'a'): ApiObject => ({
  metadata: { namespace: 'shop', name: 'web', uid, resourceVersion },
});

describe('the mutation cache', () => {
  const key = 'shop/web';

  /** A mutation cache over a fake informer, and the revisions of the events that it passes on. */
  function overFakeInformer(clock = new ManualClock()) {
    const mutations = new MutationCache(clock);
    const passed: string[] = [];
    const handlers: Required<Handler<ApiObject>>[] = [];
    const note = ({ metadata }: ApiObject): void => void passed.push(metadata.resourceVersion ?? '');
    mutations.follow({ subscribe: (own) => handlers.push(own) }, { added: note, updated: note, deleted: note });
    return {
      mutations,
      passed,
      observe: (event: ApiObject) => handlers[0]?.updated(event, event),
      observeDeletion: (event: ApiObject) => handlers[0]?.deleted(event),
      write: (written: ApiObject) => mutations.write(written, async () => written),
      remove: (deleted: ApiObject) => mutations.write(deleted, async () => undefined),
      revisions: (...cached: readonly ApiObject[]) =>
        mutations.merged(key, cached).map(({ metadata }) => metadata.resourceVersion),
    };
  }

  test('adds a write until the cache shows it', async () => {
    const { write, observe, revisions } = overFakeInformer();
    await write(object('5'));
    assert.deepEqual(revisions(), ['5']);
    assert.deepEqual(revisions(object('4')), ['5']);
    assert.deepEqual(revisions(object('6')), ['6']);
    observe(object('4'));
    assert.deepEqual(revisions(), ['5'], 'an older event changes nothing');
    observe(object('5'));
    assert.deepEqual(revisions(), []);
  });

  test('hides a deleted object, but not its successor', async () => {
    const { remove, observeDeletion, revisions } = overFakeInformer();
    await remove(object('5'));
    assert.deepEqual(revisions(object('5')), []);
    assert.deepEqual(revisions(object('9', 'b')), ['9']);
    observeDeletion(object('6'));
    assert.deepEqual(revisions(object('5')), ['5']);
  });

  test('keeps a deleted object that has finalizers', async () => {
    const { remove, revisions } = overFakeInformer();
    await remove({ metadata: { ...object('5').metadata, finalizers: ['x/y'] } });
    assert.deepEqual(revisions(object('5')), ['5']);
  });

  test('drops a write without an event after 30 seconds', async () => {
    const clock = new ManualClock();
    const { write, revisions } = overFakeInformer(clock);
    await write(object('5'));
    await clock.advance(30_001);
    assert.deepEqual(revisions(), []);
  });

  test('passes on events of other clients only', async () => {
    const { write, remove, observe, observeDeletion, passed } = overFakeInformer();
    await write(object('5'));
    observe(object('4'));
    observe(object('5'));
    observe(object('6'));
    await remove(object('6'));
    observeDeletion(object('7'));
    observeDeletion(object('9', 'b'));
    assert.deepEqual(passed, ['4', '6', '9']);
  });

  test('holds events until the response of a write in progress', async () => {
    const { mutations, observe, passed, revisions } = overFakeInformer();
    const answer = Promise.withResolvers<ApiObject>();
    const writing = mutations.write(object('4'), () => answer.promise);
    observe(object('5'));
    observe(object('6'));
    assert.deepEqual(passed, []);
    answer.resolve(object('5'));
    await writing;
    assert.deepEqual(passed, ['6']);
    assert.deepEqual(revisions(), [], 'the cache shows a later revision');
  });

  test('passes on events that arrived while a write failed', async () => {
    const { mutations, observe, passed } = overFakeInformer();
    const answer = Promise.withResolvers<ApiObject>();
    const writing = mutations.write(object('4'), () => answer.promise);
    observe(object('5'));
    answer.reject(new Error('a conflict'));
    await assert.rejects(writing, /a conflict/);
    assert.deepEqual(passed, ['5']);
  });
});
