import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';

import { openMemoryStore } from '../../store/memory/memory.ts';
import type { Store } from '../../store/store.ts';
import type { TestServer } from '../testing/server.ts';
import { testServer } from '../testing/server.ts';
import { until } from '../testing/until.ts';

const maps = '/api/v1/namespaces/shop/configmaps';

/** A server with the ConfigMaps a to e in the namespace shop; a, c and e have the label odd. */
async function shop(store: Store): Promise<TestServer> {
  const server = await testServer({ store, cache: { waitMs: 10 } });
  await server.ask('POST', '/api/v1/namespaces', { body: { metadata: { name: 'shop' } } });
  await until('the namespace has its ConfigMap', async () => {
    const { status } = await server.ask('GET', `${maps}/kube-root-ca.crt`);
    return status === 200;
  });
  for (const [index, name] of ['a', 'b', 'c', 'd', 'e'].entries()) {
    const labels = index % 2 === 0 ? { odd: '' } : { even: '' };
    await server.ask('POST', maps, { body: { metadata: { name, labels } } });
  }
  return server;
}

interface List {
  readonly metadata: {
    readonly resourceVersion: string;
    readonly continue?: string;
    readonly remainingItemCount?: number;
  };
  readonly items: readonly { readonly metadata: { readonly name: string; readonly resourceVersion: string } }[];
}

const names = ({ items }: List): string => items.map(({ metadata }) => metadata.name).join(' ');

/** The server creates kube-root-ca.crt in every namespace. */
const own = 'fieldSelector=metadata.name!%3Dkube-root-ca.crt';

suite('one page', () => {
  let [store, server]: [Store, TestServer] = [openMemoryStore(), undefined as never];
  before(async () => {
    store = openMemoryStore();
    server = await shop(store);
  });
  after(async () => {
    await server[Symbol.asyncDispose]();
    await store.close();
  });

  const table: readonly [query: string, want: string, remaining: number | undefined, more: boolean][] = [
    ['', 'a b c d e kube-root-ca.crt', undefined, false],
    ['limit=2', 'a b', 4, true],
    ['limit=6', 'a b c d e kube-root-ca.crt', undefined, false],
    ['limit=0', 'a b c d e kube-root-ca.crt', undefined, false],
    ['limit=2&resourceVersion=0', 'a b c d e kube-root-ca.crt', undefined, false],
    ['labelSelector=odd', 'a c e', undefined, false],
    ['labelSelector=odd&limit=2', 'a c', undefined, true],
    ['labelSelector=odd&limit=3', 'a c e', undefined, false],
    ['labelSelector=none&limit=1', '', undefined, false],
    ['fieldSelector=metadata.name%3Dc', 'c', undefined, false],
    ['fieldSelector=metadata.name%3Dc&labelSelector=even', '', undefined, false],
    ['fieldSelector=metadata.name%3Dc,metadata.name%3Dd', '', undefined, false],
    ['fieldSelector=metadata.name%3Dc&limit=1', 'c', undefined, false],
    ['fieldSelector=metadata.name%3Dnone', '', undefined, false],
  ];
  for (const [query, want, remaining, more] of table) {
    test(`?${query}`, async () => {
      const { body } = await server.ask('GET', `${maps}?${query}`);
      assert.equal(names(body), want);
      assert.equal(body.metadata.remainingItemCount, remaining);
      assert.equal(body.metadata.continue !== undefined, more);
      assert.equal(body.metadata.resourceVersion, String(server.context.watchCache.revision));
    });
  }

  test('of all namespaces is in the order of the keys, in which - comes before /', async () => {
    await server.ask('POST', '/api/v1/namespaces', { body: { metadata: { name: 'shop-b' } } });
    await server.ask('POST', '/api/v1/namespaces/shop-b/configmaps', { body: { metadata: { name: 'a' } } });
    const { body } = await server.ask('GET', '/api/v1/configmaps?fieldSelector=metadata.name%3Da');
    const places = body.items.map(({ metadata }: { metadata: { namespace: string } }) => metadata.namespace);
    assert.deepEqual(places, ['shop-b', 'shop']);
  });
});

suite('pages', () => {
  test('are consistent, whatever is written in between', async () => {
    await using store = openMemoryStore();
    await using server = await shop(store);
    const first = (await server.ask('GET', `${maps}?limit=2`)).body as List;
    await server.ask('DELETE', `${maps}/c`);
    await server.ask('POST', maps, { body: { metadata: { name: 'bb' } } });
    await server.ask('PUT', `${maps}/d`, { body: { metadata: { name: 'd' }, data: { new: 'yes' } } });
    const second = (await server.ask('GET', `${maps}?limit=2&continue=${first.metadata.continue}`)).body;
    assert.equal(names(second), 'c d');
    assert.equal(second.items[1].data, undefined);
    assert.equal(second.metadata.remainingItemCount, 2);
    const third = (await server.ask('GET', `${maps}?limit=2&continue=${second.metadata.continue}`)).body;
    assert.equal(names(third), 'e kube-root-ca.crt');
    assert.equal(third.metadata.continue, undefined);
    for (const page of [second, third]) assert.equal(page.metadata.resourceVersion, first.metadata.resourceVersion);
  });

  test('of a selection skip other objects, before and after a change', async () => {
    await using store = openMemoryStore();
    await using server = await shop(store);
    const first = (await server.ask('GET', `${maps}?labelSelector=odd&limit=2`)).body as List;
    const rest = `${maps}?labelSelector=odd&limit=2&continue=${first.metadata.continue}`;
    assert.equal(names((await server.ask('GET', rest)).body), 'e');
    await server.ask('DELETE', `${maps}/e`);
    const late = (await server.ask('GET', rest)).body;
    assert.equal(names(late), 'e');
    assert.equal(late.metadata.remainingItemCount, undefined);
  });

  test('that are too old return a 410 with a token to continue', async () => {
    await using store = openMemoryStore();
    await using server = await shop(store);
    const first = (await server.ask('GET', `${maps}?limit=2&${own}`)).body as List;
    await server.ask('DELETE', `${maps}/c`);
    await store.compact(store.revision);
    const { status, body } = await server.ask('GET', `${maps}?limit=2&${own}&continue=${first.metadata.continue}`);
    assert.equal(status, 410);
    assert.equal(body.reason, 'Expired');
    assert.match(body.message, /^The provided continue parameter is too old to display a consistent list result\./);
    const again = await server.ask('GET', `${maps}?limit=1&${own}&continue=${body.metadata.continue}`);
    assert.equal(names(again.body), 'd');
    assert.equal(again.body.metadata.resourceVersion, String(server.context.watchCache.revision));
    const last = await server.ask('GET', `${maps}?${own}&continue=${again.body.metadata.continue}`);
    assert.equal(names(last.body), 'e');
  });

  test('continue after a restart unless they are too old', async () => {
    await using store = openMemoryStore();
    let token: string | undefined;
    {
      await using server = await shop(store);
      token = ((await server.ask('GET', `${maps}?limit=2`)).body as List).metadata.continue;
      await server.ask('DELETE', `${maps}/c`);
    }
    {
      await using server = await testServer({ store });
      assert.equal(names((await server.ask('GET', `${maps}?limit=1&continue=${token}`)).body), 'c');
    }
    await store.compact(store.revision);
    await using server = await testServer({ store });
    assert.equal((await server.ask('GET', `${maps}?limit=1&continue=${token}`)).status, 410);
  });

  test('reject a token with a revision, and an invalid token', async () => {
    await using store = openMemoryStore();
    await using server = await shop(store);
    const { body } = await server.ask('GET', `${maps}?limit=1`);
    const { continue: token } = (body as List).metadata;
    assert.equal((await server.ask('GET', `${maps}?continue=${token}&resourceVersion=5`)).status, 400);
    assert.equal((await server.ask('GET', `${maps}?continue=${token}&resourceVersion=0`)).status, 200);
    assert.equal((await server.ask('GET', `${maps}?continue=nonsense`)).status, 400);
  });

  test('do not return objects of the namespace of another token', async () => {
    await using store = openMemoryStore();
    await using server = await shop(store);
    const { body } = await server.ask('GET', `/api/v1/configmaps?limit=1`);
    const other = await server.ask('GET', `${maps}?limit=1&continue=${(body as List).metadata.continue}`);
    assert.equal(names(other.body), 'a');
  });
});

suite('a list at a revision', () => {
  test('is exact with a limit or resourceVersionMatch=Exact, and otherwise not older', async () => {
    await using store = openMemoryStore();
    await using server = await shop(store);
    const past = server.context.watchCache.revision;
    await server.ask('DELETE', `${maps}/a`);
    const list = async (query: string): Promise<List> => (await server.ask('GET', `${maps}?${own}&${query}`)).body;
    const table: readonly [query: string, want: string, revision: number][] = [
      [`resourceVersion=${past}`, 'b c d e', past + 1],
      [`resourceVersion=${past}&limit=2`, 'a b', past],
      [`resourceVersion=${past}&resourceVersionMatch=NotOlderThan&limit=2`, 'b c', past + 1],
      [`resourceVersion=${past}&resourceVersionMatch=Exact`, 'a b c d e', past],
      [`resourceVersion=${past + 1}&resourceVersionMatch=Exact`, 'b c d e', past + 1],
      ['resourceVersion=0', 'b c d e', past + 1],
      ['resourceVersion=0&resourceVersionMatch=NotOlderThan', 'b c d e', past + 1],
      ['resourceVersion=', 'b c d e', past + 1],
    ];
    for (const [query, want, revision] of table) {
      const page = await list(query);
      assert.equal(names(page), want, query);
      assert.equal(page.metadata.resourceVersion, String(revision), query);
    }
  });

  test('that is compacted is a 410', async () => {
    await using store = openMemoryStore();
    await using server = await shop(store);
    const past = server.context.watchCache.revision;
    await server.ask('DELETE', `${maps}/a`);
    await store.compact(past + 1);
    const { status, body } = await server.ask('GET', `${maps}?resourceVersion=${past}&resourceVersionMatch=Exact`);
    assert.equal(status, 410);
    assert.equal(body.reason, 'Expired');
    assert.match(body.message, /^The resourceVersion for the provided list is too old/);
  });

  test('that is compacted is served if the resource has not changed since', async () => {
    await using store = openMemoryStore();
    await using server = await shop(store);
    const past = server.context.watchCache.revision;
    await server.ask('POST', '/api/v1/namespaces', { body: { metadata: { name: 'other' } } });
    await store.compact(past);
    const { body } = await server.ask('GET', `/api/v1/nodes?resourceVersion=${past}&resourceVersionMatch=Exact`);
    assert.equal(body.metadata.resourceVersion, String(past));
  });

  test('in the future is a 504 that reflectors recognize', async () => {
    await using store = openMemoryStore();
    await using server = await shop(store);
    const current = server.context.watchCache.revision;
    for (const url of [`${maps}?resourceVersion=`, `${maps}?limit=1&resourceVersion=`, `${maps}/a?resourceVersion=`]) {
      const { status, body, headers } = await server.ask('GET', `${url}${current + 1000}`);
      assert.equal(status, 504, url);
      assert.deepEqual(body, {
        kind: 'Status',
        apiVersion: 'v1',
        metadata: {},
        status: 'Failure',
        message: `Timeout: Too large resource version: ${current + 1000}, current: ${current}`,
        reason: 'Timeout',
        details: {
          causes: [{ reason: 'ResourceVersionTooLarge', message: 'Too large resource version' }],
          retryAfterSeconds: 1,
        },
        code: 504,
      });
      assert.equal(headers['Retry-After'], '1');
    }
  });

  test('that is reached while the request waits is served', async () => {
    await using store = openMemoryStore();
    await using server = await testServer({ store });
    const next = server.context.watchCache.revision + 1;
    const waiting = server.ask('GET', `/api/v1/namespaces?resourceVersion=${next}`);
    await server.ask('POST', '/api/v1/namespaces', { body: { metadata: { name: 'shop' } } });
    const { status, body } = await waiting;
    assert.equal(status, 200);
    assert.ok(names(body).includes('shop'));
  });
});

test('a list with a selector reads objects in slices and is consistent despite writes in between', async () => {
  await using server = await testServer();
  const data = { text: 'x'.repeat(100_000) };
  for (let index = 0; index < 40; index++) {
    await server.ask('POST', '/api/v1/namespaces/default/configmaps', {
      body: { metadata: { name: `m${index}` }, data },
    });
  }
  const { flusher } = server.context;
  const turn = flusher.turn.bind(flusher);
  let slices = 0;
  flusher.turn = async (flow) => {
    slices++;
    await server.ask('POST', '/api/v1/namespaces/default/configmaps', { body: { metadata: { name: `z${slices}` } } });
    await turn(flow);
  };
  const { body } = await server.ask('GET', '/api/v1/configmaps?labelSelector=!none&fieldSelector=metadata.name!=none');
  const list = body as List;
  assert.ok(slices >= 40 / 3 - 1, `${slices} slices`);
  assert.equal(list.items.filter(({ metadata }) => metadata.name.startsWith('m')).length, 40);
  assert.deepEqual(
    list.items.filter(({ metadata }) => Number(metadata.resourceVersion) > Number(list.metadata.resourceVersion)),
    [],
  );
});
