// What clients get while etcd does not serve, and that everything works again afterwards without a restart.

import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';

import { Connection } from '../harness/connection.ts';
import type { Answer } from '../harness/connection.ts';
import { unlessInstalled } from '../harness/needs.ts';
import { startSharedCluster } from './cluster.ts';
import { eventually } from './eventually.ts';
import { callEtcd } from './gateway.ts';
import type { Link } from './link.ts';

const collection = '/api/v1/namespaces/default/configmaps';
const skip = unlessInstalled('etcd');

suite('outages of etcd', { skip }, () => {
  test('without a quorum, writes and consistent reads fail in time, and cached reads work', async () => {
    await using cluster = await startSharedCluster({ members: 3, servers: 1 });
    using client = new Connection(cluster.servers[0]?.port ?? 0, cluster.credentials);
    using seen = await Watched.open(client);
    await seen.create('before');
    const stopped = cluster.etcd.members.slice(1);
    for (const member of stopped) member.kill('SIGSTOP');
    const [write, read, list] = await Promise.all([
      client.ask('POST', collection, { metadata: { name: 'during' } }),
      client.ask('GET', `${collection}/before`),
      client.ask('GET', collection),
    ]);
    // The write may have been sent before the member knew that it has no leader.
    assert.match(`${write.status}`, /^50[34]$/);
    assert.match(write.body.message, /etcd http:.* (?:the write may or may not be done|is not available)/);
    for (const { status, body } of [read, list]) {
      assert.equal(status, 503);
      assert.match(body.message, /^etcd http:.* is not available: /);
    }
    assert.equal((await client.ask('GET', `${collection}/before?resourceVersion=0`)).status, 200);
    assert.equal((await client.ask('GET', '/readyz/etcd-readiness')).status, 500);
    assert.equal((await client.ask('GET', '/livez')).status, 200);
    for (const member of stopped) member.kill('SIGCONT');
    await works(client);
    await seen.create('after');
    assert.deepEqual(seen.namesOnce(['before', 'after']), ['before', 'after']);
  });

  test('a full etcd rejects writes with the message of etcd, serves reads and deletes, and recovers', async () => {
    await using cluster = await startSharedCluster({
      members: 1,
      servers: 1,
      etcdFlags: ['--quota-backend-bytes', `${16 << 20}`],
    });
    const url = cluster.etcd.urls[0] ?? '';
    using client = new Connection(cluster.servers[0]?.port ?? 0, cluster.credentials);
    const data = { text: 'x'.repeat(1 << 20) };
    const names: string[] = [];
    let refused: Answer | undefined;
    while (refused === undefined) {
      const name = `large-${names.length}`;
      assert.ok(names.length < 32, 'etcd has a quota');
      const answer = await client.ask('POST', collection, { metadata: { name }, data });
      if (answer.status === 201) names.push(name);
      else refused = answer;
    }
    assert.equal(refused.status, 500);
    assert.match(
      refused.body.message,
      /^etcdserver: mvcc: database space exceeded: etcd has the alarm NOSPACE: delete/,
    );
    assert.equal((await client.ask('POST', collection, { metadata: { name: 'small' } })).status, 500);
    assert.equal((await client.ask('GET', `${collection}/large-0`)).status, 200);
    assert.match((await client.ask('GET', '/readyz?verbose')).body, /\[-\]storage-quota failed/);
    for (const name of names) assert.equal((await client.ask('DELETE', `${collection}/${name}`)).status, 200);
    const { header } = await callEtcd(url, 'kv/range', { key: Buffer.from('/').toString('base64') });
    const { revision } = header as { readonly revision: string };
    await callEtcd(url, 'kv/compaction', { revision, physical: true });
    await callEtcd(url, 'maintenance/defragment');
    const { alarms } = await callEtcd(url, 'maintenance/alarm', { action: 'GET' });
    for (const alarm of alarms as readonly Readonly<Record<string, unknown>>[]) {
      await callEtcd(url, 'maintenance/alarm', { ...alarm, action: 'DEACTIVATE' });
    }
    await works(client);
    await eventually(async () => {
      assert.match((await client.ask('GET', '/readyz?verbose')).body, /\[\+\]storage-quota ok/);
    });
  });

  test('etcd that rejects the credentials of the server is reported with its message', async () => {
    await using cluster = await startSharedCluster({ members: 1, servers: 1 });
    const url = cluster.etcd.urls[0] ?? '';
    using client = new Connection(cluster.servers[0]?.port ?? 0, cluster.credentials);
    using seen = await Watched.open(client);
    await seen.create('before');
    const root = { name: 'root', password: 'secret' };
    await callEtcd(url, 'auth/user/add', root);
    await callEtcd(url, 'auth/role/add', { name: 'root' });
    await callEtcd(url, 'auth/user/grant', { user: 'root', role: 'root' });
    await callEtcd(url, 'auth/enable');
    for (const answer of [
      await client.ask('POST', collection, { metadata: { name: 'during' } }),
      await client.ask('GET', `${collection}/before`),
    ]) {
      assert.equal(answer.status, 503);
      assert.match(answer.body.message, /etcd rejects the credentials of this server: etcdserver: user name is empty/);
    }
    assert.equal((await client.ask('GET', `${collection}/before?resourceVersion=0`)).status, 200);
    const { token } = await callEtcd(url, 'auth/authenticate', root);
    await callEtcd(url, 'auth/disable', {}, String(token));
    await works(client);
    await seen.create('after');
    assert.deepEqual(seen.namesOnce(['before', 'after']), ['before', 'after']);
  });

  test('slow members delay writes, and none is done twice or lost', async () => {
    const links: Link[] = [];
    await using cluster = await startSharedCluster({ members: 1, servers: 1, linked: [[0, links]] });
    using client = new Connection(cluster.servers[0]?.port ?? 0, cluster.credentials);
    using seen = await Watched.open(client);
    const acknowledged: string[] = [];
    const writers = Array.from({ length: 8 }, async (_, writer) => {
      for (let count = 0; count < 6; count++) {
        const name = `w${writer}-${count}`;
        const { status, body } = await client.ask('POST', collection, { metadata: { name } });
        if (status === 201) acknowledged.push(name);
        // The repetition of a write with a lost answer must not find the first attempt and report a conflict.
        else assert.match(`${status}`, /^50[034]$/, JSON.stringify(body));
        await delay(count === 2 ? 400 : 0);
      }
    });
    for (const ms of [200, 1500, 2500, 100, 0]) {
      for (const link of links) link.delay(ms);
      await delay(700);
    }
    await Promise.all(writers);
    await works(client);
    await seen.create('after');
    assert.deepEqual(seen.namesOnce(acknowledged).toSorted(), acknowledged.toSorted());
  });

  test('a server without a connection to etcd does not serve stale reads as consistent, and catches up', async () => {
    const links: Link[] = [];
    await using cluster = await startSharedCluster({ members: 3, servers: 2, linked: [[1, links]] });
    using first = new Connection(cluster.servers[0]?.port ?? 0, cluster.credentials);
    using second = new Connection(cluster.servers[1]?.port ?? 0, cluster.credentials);
    using seen = await Watched.open(second);
    await seen.create('before');
    for (const link of links) link.cut();
    const written: string[] = [];
    for (let count = 0; count < 20; count++) {
      const { status, body } = await first.ask('POST', collection, { metadata: { name: `c${count}` } });
      assert.equal(status, 201, JSON.stringify(body));
      written.push(`c${count}`);
    }
    const [get, create] = await Promise.all([
      second.ask('GET', `${collection}/c0`),
      second.ask('POST', collection, { metadata: { name: 'during' } }),
    ]);
    assert.equal(get.status, 503);
    assert.match(`${create.status}`, /^50[34]$/);
    assert.equal((await second.ask('GET', `${collection}/c0?resourceVersion=0`)).status, 404);
    await eventually(async () => assert.equal((await second.ask('GET', '/readyz')).status, 500));
    for (const link of links) link.heal();
    await works(second);
    await seen.create('after');
    assert.deepEqual(seen.namesOnce(['before', ...written, 'after']), ['before', ...written, 'after']);
  });

  test('a server that has missed compacted history reads nothing that is older than an acknowledged write', async () => {
    const links: Link[] = [];
    const flags = ['--etcd-compaction-interval', '0s'];
    await using cluster = await startSharedCluster({ members: 1, servers: 2, linked: [[1, links]], flags });
    using first = new Connection(cluster.servers[0]?.port ?? 0, cluster.credentials);
    using second = new Connection(cluster.servers[1]?.port ?? 0, cluster.credentials);
    for (const link of links) link.cut();
    const create = async (name: string): Promise<void> => {
      assert.equal((await first.ask('POST', collection, { metadata: { name } })).status, 201);
    };
    for (let count = 0; count < 20; count++) await create(`missed-${count}`);
    const url = cluster.etcd.urls[0] ?? '';
    const { header } = await callEtcd(url, 'kv/range', { key: Buffer.from('/').toString('base64') });
    await callEtcd(url, 'kv/compaction', { revision: (header as { readonly revision: string }).revision });
    for (let count = 0; count < 20; count++) await create(`kept-${count}`);
    await eventually(async () => assert.equal((await second.ask('GET', '/readyz')).status, 500));
    for (const link of links) link.heal();
    let revision = 0;
    for (let answers = 0; answers < 20;) {
      const [get, list, cached] = await Promise.all([
        second.ask('GET', `${collection}/kept-19`),
        second.ask('GET', collection),
        second.ask('GET', `${collection}?resourceVersion=0`),
      ]);
      assert.match(`${get.status} ${list.status}`, /^(?:200|503) (?:200|503)$/, JSON.stringify([get.body, list.body]));
      assert.ok(Number(cached.body.metadata.resourceVersion) >= revision, 'no read goes back');
      revision = Number(cached.body.metadata.resourceVersion);
      if (list.status !== 200) continue;
      assert.equal((list.body.items as readonly unknown[]).length, 41);
      if (get.status === 200) answers++;
    }
  });

  test('writes do not fail with the lease of an Event that is written at the same time', async () => {
    await using cluster = await startSharedCluster({ members: 1, servers: 1 });
    const url = cluster.etcd.urls[0] ?? '';
    using client = new Connection(cluster.servers[0]?.port ?? 0, cluster.credentials);
    const event = (name: string): Promise<Answer> =>
      client.ask('POST', '/api/v1/namespaces/default/events', {
        metadata: { name },
        involvedObject: { kind: 'Pod', name: 'pod', namespace: 'default' },
        reason: 'Test',
      });
    assert.equal((await event('before')).status, 201);
    const { leases } = await callEtcd(url, 'lease/leases');
    for (const { ID } of leases as readonly { readonly ID: string }[]) await callEtcd(url, 'lease/revoke', { ID });
    const [during, ...maps] = await Promise.all([
      event('during'),
      ...['a', 'b', 'c'].map((name) => client.ask('POST', collection, { metadata: { name } })),
    ]);
    assert.deepEqual(
      maps.map(({ status }) => status),
      [201, 201, 201],
      JSON.stringify(maps),
    );
    assert.match(`${during.status}`, /^(?:201|503)$/, JSON.stringify(during.body));
    await eventually(async () => assert.equal((await event('after')).status, 201));
  });

  test('a watch moves to another member when its member is silent or cut off from the others', async () => {
    const links: Link[] = [];
    await using cluster = await startSharedCluster({ members: 3, servers: 1, linked: [[0, links]] });
    using client = new Connection(cluster.servers[0]?.port ?? 0, cluster.credentials);
    using seen = await Watched.open(client);
    const created: string[] = [];
    for (const link of links) {
      link.cut();
      for (let count = 0; count < 3; count++) {
        const name = `c${created.length}`;
        await seen.create(name);
        created.push(name);
      }
      link.heal();
    }
    assert.deepEqual(seen.namesOnce(created), created);
  });
});

/** A watch of the collection from its first object on. */
class Watched implements Disposable {
  readonly #client: Connection;
  readonly #names: string[] = [];
  readonly #close: () => void;

  private constructor(client: Connection, revision: string) {
    this.#client = client;
    const watch = client.watch(`${collection}?watch=1&resourceVersion=${revision}`, ({ type, object }) => {
      assert.match(type, /^(?:ADDED|MODIFIED|DELETED|BOOKMARK)$/, JSON.stringify(object));
      if (type === 'ADDED') this.#names.push(object.metadata.name);
    });
    this.#close = () => watch.close();
  }

  static async open(client: Connection): Promise<Watched> {
    const { body } = await client.ask('GET', collection);
    return new Watched(client, body.metadata.resourceVersion);
  }

  /** Creates an object, and resolves when the watch has delivered it. */
  async create(name: string): Promise<void> {
    await eventually(async () => {
      const { status, body } = await this.#client.ask('POST', collection, { metadata: { name } });
      assert.ok(status === 201 || status === 409, JSON.stringify(body));
    });
    await eventually(async () => assert.ok(this.#names.includes(name)));
  }

  /** The names that the watch has delivered of these. Fails if one was delivered twice. */
  namesOnce(of: readonly string[]): readonly string[] {
    assert.equal(new Set(this.#names).size, this.#names.length, this.#names.join());
    return this.#names.filter((name) => of.includes(name));
  }

  [Symbol.dispose](): void {
    this.#close();
  }
}

/** Resolves when the server is ready, and writes and reads work. */
async function works(client: Connection): Promise<void> {
  await eventually(async () => {
    const { status, body } = await client.ask('POST', collection, { metadata: { generateName: 'works-' } });
    assert.equal(status, 201, JSON.stringify(body));
    assert.equal((await client.ask('GET', `${collection}/${body.metadata.name}`)).status, 200);
    assert.equal((await client.ask('GET', '/readyz')).status, 200);
  });
}
