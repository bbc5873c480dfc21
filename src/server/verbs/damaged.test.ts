import assert from 'node:assert/strict';
import { DatabaseSync } from 'node:sqlite';
import { suite, test } from 'node:test';

import { folder } from '../../store/sqlite/testing/folder.ts';
import { openSqliteStore } from '../../store/sqlite/sqlite.ts';
import type { TestServer } from '../testing/server.ts';
import { testServer } from '../testing/server.ts';

const services = '/api/v1/namespaces/default/services';
const maps = '/api/v1/namespaces/default/configmaps';
const merge = 'application/merge-patch+json';

/** Runs `before` on a server, corrupts a byte of the last value of each key in the store, and runs `after`. */
async function withDamage(
  keys: readonly string[],
  before: (server: TestServer) => Promise<void>,
  after: (server: TestServer) => Promise<void>,
): Promise<void> {
  await using directory = await folder();
  const path = `${directory.path}/store.db`;
  {
    await using store = await openSqliteStore({ path });
    await using server = await testServer({ store });
    await before(server);
  }
  {
    using database = new DatabaseSync(path);
    for (const key of keys) {
      const { changes } = database
        .prepare(
          `UPDATE log SET value = replace(value, '"name"', '"nam')
           WHERE id = (SELECT max(id) FROM log WHERE key = '/registry/' || ?)`,
        )
        .run(key);
      assert.equal(changes, 1, key);
    }
  }
  await using store = await openSqliteStore({ path });
  await using server = await testServer({ store });
  await after(server);
}

const web = (name: string): object => ({ metadata: { name }, spec: { type: 'NodePort', ports: [{ port: 80 }] } });

const createServices = async (server: TestServer): Promise<void> => {
  for (const name of ['api', 'web', 'zoo']) {
    assert.equal((await server.ask('POST', services, { body: web(name) })).status, 201);
  }
};

suite('an object whose stored record is damaged', () => {
  test('is in no list, but every other object is', async () => {
    await withDamage(['services/default/web'], createServices, async (server) => {
      const lists = [services, '/api/v1/services', `${services}?limit=1`, `${services}?resourceVersion=0`];
      for (const url of lists) {
        const names = (await server.ask('GET', url)).body.items.map(
          ({ metadata }: { metadata: { name: string } }) => metadata.name,
        );
        assert.deepEqual(names, url.includes('limit') ? ['api'] : ['api', 'kubernetes', 'zoo'], url);
      }
      const watch = await server.watch(`${services}?watch=1`);
      await server.ask('PATCH', `${services}/zoo`, { type: merge, body: { metadata: { labels: { a: 'b' } } } });
      assert.deepEqual(
        (await watch.take(4)).map(({ type, object }) => `${type} ${object.metadata.name}`),
        ['ADDED api', 'ADDED kubernetes', 'ADDED zoo', 'MODIFIED zoo'],
      );
      watch.close();
    });
  });

  test('returns 500 for reads and updates and 409 for creates, and is reported by health and metrics', async () => {
    await withDamage(['services/default/web'], createServices, async (server) => {
      const message =
        /^Internal error occurred: the stored record of services "web" is damaged \(\/registry\/services\/default\/web, revision \d+\): delete the object and create it again/;
      const patches = ['merge-patch+json', 'strategic-merge-patch+json'].map((type) => `application/${type}`);
      const answers = [
        await server.ask('GET', `${services}/web`),
        await server.ask('GET', `${services}/web/status`),
        await server.ask('PUT', `${services}/web`, { body: web('web') }),
        ...(await Promise.all(patches.map((type) => server.ask('PATCH', `${services}/web`, { type, body: {} })))),
        await server.ask('PATCH', `${services}/web?fieldManager=m`, {
          type: 'application/apply-patch+yaml',
          body: { apiVersion: 'v1', kind: 'Service', ...web('web') },
        }),
      ];
      for (const { status, body } of answers) {
        assert.deepEqual([status, body.reason], [500, 'InternalError']);
        assert.match(body.message, message);
      }
      const created = await server.ask('POST', services, { body: web('web') });
      assert.equal(created.status, 409);
      assert.match(
        created.body.message,
        /^the stored record is damaged, delete the object first: services "web" already/,
      );
      const ready = await server.ask('GET', '/readyz');
      assert.equal(ready.status, 500);
      assert.match(ready.text, /^\[-\]storage-integrity failed: reason withheld$/m);
      assert.equal((await server.ask('GET', '/livez')).status, 200);
      assert.equal((await server.ask('GET', '/readyz?exclude=storage-integrity')).status, 200);
      const metrics = await server.ask('GET', '/metrics');
      assert.match(metrics.text, /^fairlead_store_damaged_records 1$/m);
      assert.match(metrics.text, /^fairlead_store_alarm{alarm="CORRUPT"} 1$/m);
    });
  });

  test('is deleted with its addresses and ports, and can be created again', async () => {
    await withDamage(['services/default/web'], createServices, async (server) => {
      const { allocator } = server.context;
      const allocated = (): number[] => {
        const { clusterIps, nodePorts } = allocator.metrics();
        return [clusterIps[0]?.allocated ?? 0, nodePorts.allocated];
      };
      assert.deepEqual(allocated(), [4, 3]);
      const uid = await server.ask('DELETE', `${services}/web`, { body: { preconditions: { uid: 'x' } } });
      assert.equal(uid.status, 409);
      assert.equal((await server.ask('DELETE', `${services}/web?dryRun=All`)).status, 200);
      assert.equal((await server.ask('GET', `${services}/web`)).status, 500);
      const deleted = await server.ask('DELETE', `${services}/web`);
      const { status, details } = deleted.body;
      assert.deepEqual([deleted.status, status, details], [200, 'Success', { name: 'web', kind: 'services' }]);
      assert.deepEqual(allocated(), [3, 2]);
      assert.equal((await server.ask('GET', `${services}/web`)).status, 404);
      assert.equal((await server.ask('DELETE', `${services}/web`)).status, 404);
      assert.equal((await server.ask('GET', '/readyz')).status, 200);
      assert.equal((await server.ask('POST', services, { body: web('web') })).status, 201);
    });
  });

  test('does not prevent the start of a server', async () => {
    const keys = [
      'namespaces/default',
      'services/default/kubernetes',
      'serviceaccounts/default/default',
      'networking.k8s.io/servicecidrs/kubernetes',
      'rbac.authorization.k8s.io/clusterroles/cluster-admin',
      'rbac.authorization.k8s.io/clusterrolebindings/cluster-admin',
    ];
    await withDamage(keys, createServices, async (server) => {
      assert.equal(server.context.store.status().damaged.size, keys.length);
      const { items } = (await server.ask('GET', services)).body;
      assert.equal(items.length, 3);
      assert.equal((await server.ask('GET', '/api/v1/namespaces/default')).status, 500);
      assert.equal((await server.ask('DELETE', '/api/v1/namespaces/default')).status, 200);
    });
  });

  test('is ignored by deletions of a collection', async () => {
    const create = async (server: TestServer): Promise<void> => {
      for (const name of ['a', 'b']) await server.ask('POST', maps, { body: { metadata: { name } } });
    };
    await withDamage(['configmaps/default/a'], create, async (server) => {
      assert.equal((await server.ask('DELETE', maps)).status, 200);
      assert.equal((await server.ask('GET', `${maps}/b`)).status, 404);
      assert.equal((await server.ask('GET', `${maps}/a`)).status, 500);
    });
  });
});

test('a damaged claim is restored from its Service', async () => {
  let [address, port] = ['', 0];
  const create = async (server: TestServer): Promise<void> => {
    const { spec } = (await server.ask('POST', services, { body: web('web') })).body;
    [address, port] = [spec.clusterIP, spec.ports[0].nodePort];
  };
  // The keys are only known after `before` ran.
  const keys = {
    *[Symbol.iterator]() {
      yield `networking.k8s.io/ipaddresses/${address}`;
      yield `nodeports/${port}`;
    },
  };
  await withDamage(keys as readonly string[] & typeof keys, create, async (server) => {
    assert.equal(server.context.store.status().damaged.size, 0);
    const taken = await server.ask('POST', services, {
      body: { ...web('other'), spec: { clusterIP: address, ports: [{ port: 80 }] } },
    });
    assert.equal(taken.status, 422);
    assert.match(taken.body.message, /provided IP is already allocated/);
    const ipAddress = await server.ask('GET', `/apis/networking.k8s.io/v1/ipaddresses/${address}`);
    assert.equal(ipAddress.body.spec.parentRef.name, 'web');
    assert.equal((await server.ask('DELETE', `${services}/web`)).status, 200);
    assert.equal(server.context.allocator.metrics().nodePorts.allocated, 0);
  });
});
