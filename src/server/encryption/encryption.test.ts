import assert from 'node:assert/strict';
import { suite, test } from 'node:test';

import { kinds } from '../../api/kinds/registry.ts';
import { openMemoryStore } from '../../store/memory/memory.ts';
import type { Store } from '../../store/store.ts';
import type { Answer, TestServer } from '../testing/server.ts';
import { testServer } from '../testing/server.ts';
import { until } from '../testing/until.ts';
import { aescbc, aesgcm, configurationOf, identity, keyOf, secretbox } from './testing/configuration.ts';
import { Encryption } from './encryption.ts';

const secretsIn = (namespace: string): string => `/api/v1/namespaces/${namespace}/secrets`;
const secrets = secretsIn('default');
const merge = 'application/merge-patch+json';
const [one, two] = [keyOf('one', 1), keyOf('two', 2)];

const start = async (store: Store, ...providers: readonly object[]): Promise<TestServer> =>
  testServer({
    store,
    ...(providers.length === 0 ? {} : { encryption: await Encryption.create(configurationOf(providers), kinds) }),
  });

const put = async (server: TestServer, namespace: string, name: string): Promise<void> => {
  const body = { metadata: { name }, stringData: { password: `hidden-${name}` } };
  const answer = await server.ask('POST', secretsIn(namespace), { body });
  assert.equal(answer.status, 201, answer.text);
};

/** The constant prefix of a Secret in the store. */
const storedAs = async (store: Store, name: string): Promise<string> =>
  /^(?:k8s:enc:\w+:v1:\w+:|\{)/.exec((await store.get(`/registry/secrets/default/${name}`))?.value ?? '')?.[0] ?? '';

/** Like `kubectl get secrets -A -o json | kubectl replace -f -`. */
async function replaceAll(server: TestServer): Promise<void> {
  const { body } = await server.ask('GET', '/api/v1/secrets');
  for (const object of body.items) {
    const { namespace, name } = object.metadata;
    const answer = await server.ask('PUT', `${secretsIn(namespace)}/${name}`, { body: object });
    assert.equal(answer.status, 200, answer.text);
  }
}

suite('encryption at rest', () => {
  for (const [type, provider] of Object.entries({ aesgcm, aescbc, secretbox })) {
    test(`${type}: Secrets are encrypted in the store, and readable after a restart with the key`, async () => {
      await using store = openMemoryStore();
      {
        await using server = await start(store, provider(one), identity);
        await put(server, 'default', 'a');
        assert.equal(await storedAs(store, 'a'), `k8s:enc:${type}:v1:one:`);
        assert.equal((await store.get('/registry/configmaps/default/kube-root-ca.crt'))?.value[0], '{');
      }
      await using server = await start(store, provider(one), identity);
      const { body } = await server.ask('GET', `${secrets}/a`);
      assert.equal(Buffer.from(body.data.password, 'base64').toString(), 'hidden-a');
    });
  }

  test('a key is rotated by adding the new one, rewriting every Secret, and removing the old one', async () => {
    await using store = openMemoryStore();
    {
      await using server = await start(store);
      await put(server, 'default', 'a');
    }
    const steps: readonly (readonly [providers: readonly object[], want: string])[] = [
      [[aesgcm(one), identity], 'k8s:enc:aesgcm:v1:one:'],
      [[aesgcm(one)], 'k8s:enc:aesgcm:v1:one:'],
      [[aesgcm(two, one)], 'k8s:enc:aesgcm:v1:two:'],
      [[secretbox(one), aesgcm(two)], 'k8s:enc:secretbox:v1:one:'],
      [[identity, secretbox(one)], '{'],
    ];
    for (const [providers, want] of steps) {
      await using server = await start(store, ...providers);
      await replaceAll(server);
      assert.equal(await storedAs(store, 'a'), want);
      const before = store.revision;
      await replaceAll(server);
      assert.equal(store.revision, before, 'entries with the current key are not rewritten');
    }
  });

  test('every kind of no-op write stores the object with the new key', async () => {
    await using store = openMemoryStore();
    const writes: Readonly<Record<string, (server: TestServer) => Promise<Answer>>> = {
      put: async (server) => {
        const { body } = await server.ask('GET', `${secrets}/put`);
        return server.ask('PUT', `${secrets}/put`, { body });
      },
      merge: (server) => server.ask('PATCH', `${secrets}/merge`, { type: merge, body: {} }),
      strategic: (server) =>
        server.ask('PATCH', `${secrets}/strategic`, { type: 'application/strategic-merge-patch+json', body: {} }),
      json: (server) => server.ask('PATCH', `${secrets}/json`, { type: 'application/json-patch+json', body: [] }),
      apply: (server) =>
        server.ask('PATCH', `${secrets}/apply?fieldManager=none`, {
          type: 'application/apply-patch+yaml',
          body: { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'apply' } },
        }),
    };
    {
      await using server = await start(store, aesgcm(one));
      for (const name of Object.keys(writes)) await put(server, 'default', name);
      await writes['apply']?.(server);
    }
    await using server = await start(store, aesgcm(two, one));
    for (const [name, write] of Object.entries(writes)) {
      const dry = await server.ask('PATCH', `${secrets}/${name}?dryRun=All`, { type: merge, body: {} });
      assert.equal(dry.status, 200, dry.text);
      assert.equal(await storedAs(store, name), 'k8s:enc:aesgcm:v1:one:', 'a dry run writes nothing');
      const answer = await write(server);
      assert.equal(answer.status, 200, answer.text);
      assert.equal(await storedAs(store, name), 'k8s:enc:aesgcm:v1:two:', name);
    }
  });

  test('resources are selected by name, by group and all', async () => {
    const table: readonly (readonly [resources: readonly string[], want: string])[] = [
      [['secrets'], 'secrets'],
      [['*.'], 'secrets configmaps'],
      [['*.networking.k8s.io'], 'ingresses'],
      [['ingresses.networking.k8s.io', 'configmaps'], 'configmaps ingresses'],
      [['*.*'], 'secrets configmaps ingresses'],
    ];
    for (const [resources, want] of table) {
      const encryption = await Encryption.create(configurationOf([aesgcm(one)], resources), kinds);
      const keys = { secrets: 'secrets', configmaps: 'configmaps', ingresses: 'networking.k8s.io/ingresses' };
      const covered = Object.entries(keys).filter(
        ([, prefix]) => encryption.transformerFor(`/registry/${prefix}/default/a`) !== undefined,
      );
      assert.equal(covered.map(([name]) => name).join(' '), want);
    }
  });

  test('a server works with everything encrypted', async () => {
    await using store = openMemoryStore();
    const everything = configurationOf([secretbox(one)], ['*.*']);
    for (const pass of [1, 2]) {
      await using server = await testServer({ store, encryption: await Encryption.create(everything, kinds) });
      const body = { metadata: { name: `web-${pass}` }, spec: { ports: [{ port: 80 }] } };
      assert.equal((await server.ask('POST', '/api/v1/namespaces/default/services', { body })).status, 201);
      assert.equal((await server.ask('GET', '/readyz')).status, 200);
      const { entries } = await store.range('/registry/');
      assert.deepEqual(
        entries.filter(({ value }) => !value.startsWith('k8s:enc:secretbox:v1:one:')),
        [],
      );
    }
  });
});

suite('a Secret without its key', () => {
  /** Two namespaces with a Secret each; that of `shop` was written with a key that the server no longer has. */
  const startWithout = async (store: Store, ...providers: readonly object[]): Promise<TestServer> => {
    {
      await using server = await start(store, aesgcm(one));
      await server.ask('POST', '/api/v1/namespaces', { body: { metadata: { name: 'shop' } } });
      await put(server, 'shop', 'lost');
    }
    {
      await using server = await start(store, aesgcm(two, one));
      await put(server, 'default', 'good');
    }
    return start(store, ...providers);
  };
  const lost = `${secretsIn('shop')}/lost`;
  const message = (why: string): string =>
    `Internal error occurred: unable to transform key "/registry/secrets/shop/lost": ${why}`;
  const noKey = message('no matching key was found for the provided AES transformer');

  test('fails with a Status that names it and does not affect other objects', async () => {
    await using store = openMemoryStore();
    await using server = await startWithout(store, aesgcm(two));
    const failing: readonly (readonly [method: string, url: string, body?: object])[] = [
      ['GET', lost],
      ['GET', secretsIn('shop')],
      ['GET', '/api/v1/secrets'],
      ['GET', '/api/v1/secrets?limit=1'],
      ['GET', '/api/v1/secrets?labelSelector=a=b'],
      ['GET', `${secretsIn('shop')}?fieldSelector=metadata.name=lost`],
      ['GET', '/api/v1/secrets?watch=1'],
      ['GET', `${secretsIn('shop')}?watch=1&fieldSelector=metadata.name=lost`],
      ['PUT', lost, { metadata: { name: 'lost' }, data: {} }],
      ['PATCH', lost, {}],
      ['DELETE', lost],
      ['DELETE', secretsIn('shop')],
    ];
    for (const [method, url, body] of failing) {
      const answer = await server.ask(method, url, { body, ...(method === 'PATCH' ? { type: merge } : {}) });
      assert.equal(answer.status, 500, `${method} ${url}: ${answer.text}`);
      assert.equal(answer.body.reason, 'InternalError');
      assert.equal(answer.body.message, noKey, `${method} ${url}`);
    }
    const working: readonly string[] = [
      `${secrets}/good`,
      secrets,
      `${secretsIn('shop')}?fieldSelector=metadata.name=los`,
      `${secretsIn('shop')}/missing`,
      '/api/v1/configmaps',
      '/api/v1/namespaces/shop',
    ];
    for (const url of working) assert.notEqual((await server.ask('GET', url)).status, 500, url);
    const watch = await server.watch(`${secrets}?watch=1`);
    await watch.take(1);
    await put(server, 'shop', 'new');
    assert.equal((await server.ask('GET', `${secretsIn('shop')}/new`)).status, 200);
    const taken = await server.ask('POST', secretsIn('shop'), { body: { metadata: { name: 'lost' } } });
    assert.equal(taken.status, 409, taken.text);
  });

  test('is reported by its own health check and a metric', async () => {
    await using store = openMemoryStore();
    await using server = await startWithout(store, aesgcm(two));
    const { status, text } = await server.ask('GET', '/readyz?verbose');
    assert.equal(status, 500);
    assert.match(text, /\[-\]encryption-at-rest failed: reason withheld/);
    assert.equal((await server.ask('GET', '/livez')).status, 200);
    assert.equal((await server.ask('GET', '/readyz?exclude=encryption-at-rest')).status, 200);
    const metrics = (await server.ask('GET', '/metrics')).text;
    assert.match(metrics, /fairlead_storage_unreadable_objects\{resource="secrets"\} 1/);
    assert.match(
      metrics,
      /apiserver_storage_transformation_operations_total\{transformation_type="from_storage",transformer_prefix="unknown",status="Internal"\} [1-9]/,
    );
  });

  const reasons: readonly (readonly [what: string, providers: readonly object[], why: string])[] = [
    ['a wrong key of its name', [aesgcm(keyOf('one', 9), two)], 'cipher: message authentication failed'],
    ['another provider', [secretbox(two), aesgcm(two)], 'no matching key was found for the provided AES transformer'],
    ['no provider that encrypts', [identity], 'no matching prefix found'],
    ['no configuration', [], 'identity transformer tried to read encrypted data'],
  ];
  for (const [what, providers, why] of reasons) {
    test(`fails with the reason: ${what}`, async () => {
      await using store = openMemoryStore();
      await using server = await startWithout(store, ...providers);
      assert.equal((await server.ask('GET', lost)).body.message, message(why));
      assert.equal((await server.ask('GET', '/readyz')).status, 500);
    });
  }

  test('cannot be read from history either', async () => {
    await using store = openMemoryStore();
    let revision = '';
    {
      await using server = await start(store, aesgcm(one));
      await put(server, 'default', 'a');
      revision = (await server.ask('GET', secrets)).body.metadata.resourceVersion;
    }
    {
      await using server = await start(store, aesgcm(two, one));
      await replaceAll(server);
    }
    await using server = await start(store, aesgcm(two));
    assert.equal((await server.ask('GET', secrets)).status, 200, 'the current value has the new key');
    const old = await server.ask('GET', `${secrets}?resourceVersion=${revision}&resourceVersionMatch=Exact`);
    assert.equal(old.status, 500, old.text);
    const watch = await server.watch(`${secrets}?watch=1&resourceVersion=${revision}`);
    const [event] = await watch.take(1);
    assert.deepEqual([event?.type, event?.object.code], ['ERROR', 410], 'watches begin again with a list');
  });

  test('blocks the deletion of its namespace', async () => {
    await using store = openMemoryStore();
    await using server = await startWithout(store, aesgcm(two));
    await server.ask('DELETE', '/api/v1/namespaces/shop');
    await until('the Secret remains', async () =>
      (await server.ask('GET', '/api/v1/namespaces/shop')).text.includes(
        'Some resources are remaining: secrets. has 1 resource instances',
      ),
    );
    assert.ok((await store.get('/registry/secrets/shop/lost')) !== undefined);
  });

  test('can be deleted by a user with the right to delete unreadable objects', async () => {
    await using store = openMemoryStore();
    await using server = await startWithout(store, aesgcm(two));
    const unsafe = { body: { ignoreStoreReadErrorWithClusterBreakingPotential: true } };
    await server.ask('POST', '/apis/rbac.authorization.k8s.io/v1/clusterrolebindings', {
      body: {
        metadata: { name: 'admins' },
        subjects: [{ kind: 'User', name: 'alice', apiGroup: 'rbac.authorization.k8s.io' }],
        roleRef: { kind: 'ClusterRole', name: 'admin', apiGroup: 'rbac.authorization.k8s.io' },
      },
    });
    const refused = await server.as({ name: 'alice' }).ask('DELETE', lost, unsafe);
    assert.equal(refused.status, 403, refused.text);
    assert.match(refused.body.message, /User "alice" cannot unsafe-delete-ignore-read-errors resource "secrets"/);
    const wrong = { ...unsafe.body, preconditions: { uid: 'any' } };
    assert.equal((await server.ask('DELETE', lost, { body: wrong })).status, 409);
    assert.equal((await server.ask('DELETE', lost, { body: { ...unsafe.body, dryRun: ['All'] } })).status, 200);
    assert.equal((await server.ask('GET', lost)).status, 500);
    const deleted = await server.ask('DELETE', `${lost}?ignoreStoreReadErrorWithClusterBreakingPotential=true`);
    assert.equal(deleted.status, 200, deleted.text);
    assert.equal((await server.ask('GET', lost)).status, 404);
    assert.equal((await server.ask('GET', '/api/v1/secrets')).status, 200);
    assert.equal((await server.ask('GET', '/readyz')).status, 200);
    const { status, body } = await server.ask('DELETE', `${secrets}/good`, unsafe);
    assert.deepEqual([status, body.status], [200, 'Success'], 'readable objects are deleted normally');
  });

  test('can be read when a reload adds its key', async () => {
    await using store = openMemoryStore();
    await (await startWithout(store, aesgcm(two)))[Symbol.asyncDispose]();
    const encryption = await Encryption.create(configurationOf([aesgcm(two)]), kinds);
    await using server = await testServer({ store, encryption });
    assert.equal((await server.ask('GET', lost)).status, 500);
    await assert.rejects(encryption.reload('damaged: [', 5000));
    assert.equal((await server.ask('GET', `${secrets}/good`)).status, 200, 'an invalid file changes nothing');
    await encryption.reload(configurationOf([aesgcm(keyOf('three', 3), two, one)]), 7000);
    await until('it is read', async () => (await server.ask('GET', lost)).status === 200);
    assert.equal((await server.ask('GET', '/readyz')).status, 200);
    await replaceAll(server);
    assert.equal(await storedAs(store, 'good'), 'k8s:enc:aesgcm:v1:three:');
    const { text } = await server.ask('GET', '/metrics');
    assert.match(text, /automatic_reloads_total\{status="success"\} 1\n/);
    assert.match(text, /automatic_reloads_total\{status="failure"\} 1\n/);
    assert.match(text, /automatic_reload_last_timestamp_seconds 7\n/);
  });

  test('ends open watches that would deliver it', async () => {
    await using store = openMemoryStore();
    await using server = await start(store, aesgcm(two));
    const watch = await server.watch('/api/v1/secrets?watch=1');
    const foreign = await Encryption.create(configurationOf([aesgcm(one)]), kinds);
    const key = '/registry/secrets/default/foreign';
    const value = foreign.transformerFor(key)?.toStorage('{}', key);
    await store.commit([{ key, value }]);
    await until('the watch has ended', () => watch.ended);
    assert.equal((await server.ask('GET', secrets)).status, 500);
    await store.commit([{ key, value: undefined }]);
    await until('all is readable again', async () => (await server.ask('GET', secrets)).status === 200);
  });
});
