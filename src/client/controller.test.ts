import assert from 'node:assert/strict';
import { test } from 'node:test';
import { configMapKind } from '../api/kinds/core/configmap/kind.ts';
import { Client } from './client.ts';
import { runController } from './controller.ts';
import { Informer } from './informer.ts';
import { keyOf } from './key.ts';
import { WorkQueue } from './queue.ts';
import { settled } from './testing/clocks.ts';
import { Feed } from './testing/feed.ts';

test('a controller starts when its caches have synced, receives every change, and stops with its signal', async () => {
  const feed = new Feed();
  feed.put('a', '1');
  const informer = new Informer(new Client(feed.transport({ hasWatchList: true })), configMapKind);
  const seen: string[] = [];
  const queue = new WorkQueue({
    work: async (key) => void seen.push(`${key} ${informer.get(key)?.data?.['value'] ?? 'gone'}`),
  });
  const enqueue = (object: { readonly metadata: object }): void => queue.add(keyOf(object));
  informer.subscribe({ added: enqueue, updated: enqueue, deleted: enqueue });
  const stop = new AbortController();
  queue.add('default/early');
  const controller = runController({ queue, caches: [informer] }, stop.signal);
  await settled();
  assert.deepEqual(seen, []);
  const following = informer.run(stop.signal);
  await settled();
  feed.put('a', '2');
  await settled();
  feed.remove('a');
  await settled();
  assert.deepEqual(seen, ['default/early gone', 'default/a 1', 'default/a 2', 'default/a gone']);
  stop.abort();
  await Promise.all([controller, following]);
});

test('a controller that is stopped before its caches have synced never reconciles', async () => {
  const informer = new Informer(new Client(new Feed().transport({ hasWatchList: true })), configMapKind);
  const queue = new WorkQueue({ work: () => assert.fail('no key was added') });
  queue.add('a');
  const stop = new AbortController();
  const controller = runController({ queue, caches: [informer] }, stop.signal);
  stop.abort();
  await controller;
});
