import assert from 'node:assert/strict';
import { suite, test } from 'node:test';

import { namespaceKind } from '../../api/kinds/core/namespace/kind.ts';
import { endpointSliceKind } from '../../api/kinds/discovery/endpointslice/kind.ts';
import { cacheOf, changeOf, entryOf, ampleLimits, recorder } from './testing/cache.ts';
import { registryPrefix } from './layout.ts';
import { ResourceCache } from './resource-cache.ts';

test('keys contain the group, the namespace and the name', () => {
  assert.equal(registryPrefix(namespaceKind), '/registry/namespaces/');
  assert.equal(registryPrefix(endpointSliceKind), '/registry/discovery.k8s.io/endpointslices/');
  const slices = new ResourceCache(endpointSliceKind, 0, ampleLimits);
  assert.equal(slices.key('shop', 'a'), '/registry/discovery.k8s.io/endpointslices/shop/a');
  assert.equal(slices.scope('shop'), '/registry/discovery.k8s.io/endpointslices/shop/');
  assert.equal(slices.scope(''), slices.prefix);
  const namespaces = new ResourceCache(namespaceKind, 0, ampleLimits);
  assert.equal(namespaces.key('', 'shop'), '/registry/namespaces/shop');
});

suite('the only key that a namespace and a name can select', () => {
  const [inNamespaces, inCluster] = [cacheOf(), new ResourceCache(namespaceKind, 0, ampleLimits)];
  const table: readonly [ResourceCache, namespace: string, name: string | undefined, want: string | undefined][] = [
    [inNamespaces, 'shop', 'a', '/registry/configmaps/shop/a'],
    [inNamespaces, '', 'a', undefined],
    [inNamespaces, 'shop', '', undefined],
    [inNamespaces, 'shop', undefined, undefined],
    [inCluster, '', 'a', '/registry/namespaces/a'],
    [inCluster, '', undefined, undefined],
  ];
  for (const [cache, namespace, name, want] of table) {
    test(`${cache.kind.kind} ${namespace}/${name}`, () => assert.equal(cache.singleKey(namespace, name), want));
  }
});

test('applies changes and notifies watchers in order', () => {
  const cache = cacheOf();
  const all = recorder(cache, cache.prefix);
  cache.watchers.add(all);
  const [first, second] = [entryOf('shop/a', 5), entryOf('shop/a', 7, { k: 'v' })];
  cache.apply(changeOf('shop/a', 5, first), 0);
  cache.apply(changeOf('shop/a', 7, second, first), 0);
  assert.equal(cache.get('/registry/configmaps/shop/a')?.revision, 7);
  assert.equal(cache.lastChangeRevision, 7);
  cache.apply(changeOf('shop/a', 9, undefined, second), 0);
  assert.equal(cache.size, 0);
  assert.equal(cache.lastChangeRevision, 9);
  assert.deepEqual(all.log, ['new shop/a@5', 'changed shop/a@7', 'gone shop/a@9']);
  assert.deepEqual(
    cache.since(5)?.map(({ revision }) => revision),
    [7, 9],
  );
});

test('changes before the load are added to the history only', () => {
  const cache = cacheOf(3);
  const [old, now] = [entryOf('shop/a', 4), entryOf('shop/a', 6)];
  cache.load(now);
  cache.backfill(changeOf('shop/a', 4, old), 0);
  cache.backfill(changeOf('shop/a', 6, now, old), 0);
  assert.equal(cache.get(now.key)?.revision, 6);
  assert.deepEqual(
    cache.since(3)?.map(({ item }) => item?.revision),
    [4, 6],
  );
});

test('the last change is at the start of the history if all objects are older', () => {
  const cache = cacheOf(20);
  cache.load(entryOf('shop/a', 5));
  assert.equal(cache.lastChangeRevision, 20);
});

suite('ranges', () => {
  const cache = cacheOf();
  for (const [index, path] of ['a/x', 'b/x', 'b/y', 'b/z', 'ba/x'].entries()) cache.load(entryOf(path, index + 1));
  const table: readonly [
    name: string,
    given: [scope: string, from?: string | undefined, limit?: number],
    want: string[],
    count: number,
  ][] = [
    ['everything', [cache.scope('')], ['a/x', 'b/x', 'b/y', 'b/z', 'ba/x'], 5],
    ['one namespace', [cache.scope('b')], ['b/x', 'b/y', 'b/z'], 3],
    ['from a key', [cache.scope('b'), `${cache.prefix}b/y`], ['b/y', 'b/z'], 2],
    ['after a key', [cache.scope('b'), `${cache.prefix}b/y\0`], ['b/z'], 1],
    ['a few', [cache.scope('b'), undefined, 2], ['b/x', 'b/y'], 3],
    ['nothing', [cache.scope('c')], [], 0],
  ];
  for (const [name, [scope, from, limit], want, count] of table) {
    test(name, () => {
      const keys = cache.range(scope, from, limit).map(({ key }) => key.slice(cache.prefix.length));
      assert.deepEqual(keys, want);
      assert.equal(cache.count(scope, from), count);
    });
  }
});

test('an item prints its revision, or that of its deletion, and leaves out its kind in a list', () => {
  const item = cacheOf().item(entryOf('shop/a', 5, { k: 'v' }));
  assert.equal(
    item.json(),
    '{"kind":"ConfigMap","apiVersion":"v1","metadata":{"resourceVersion":"5","name":"a","namespace":"shop"},"data":{"k":"v"}}',
  );
  assert.equal(JSON.parse(item.json(9)).metadata.resourceVersion, '9');
  assert.deepEqual(Object.keys(JSON.parse(item.listJson())), ['metadata', 'data']);
  assert.equal(item.object, item.object, 'parsed once');
  assert.equal(item.object.metadata.resourceVersion, '5');
  const dry = cacheOf().item(entryOf('shop/a', 0));
  assert.equal(dry.object.metadata.resourceVersion, undefined);
  assert.equal(JSON.parse(dry.json()).metadata.resourceVersion, undefined);
});
