import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite, test } from 'node:test';

import * as fc from 'fast-check';

import { openMemoryStore } from '../../store/memory/memory.ts';
import { openSqliteStore } from '../../store/sqlite/sqlite.ts';
import type { Store, Write } from '../../store/store.ts';
import { kinds } from '../../api/kinds/registry.ts';
import { aesgcm, configurationOf, identity, keyOf } from '../encryption/testing/configuration.ts';
import { Encryption } from '../encryption/encryption.ts';
import { pluginNames } from '../admission/plugins.ts';
import type { Answer, TestServer } from '../testing/server.ts';
import { testServer } from '../testing/server.ts';
import { until } from '../testing/until.ts';

const shop = '/api/v1/namespaces/default';
const merge = 'application/merge-patch+json';

const service = (name: string, spec: object = {}): object => ({
  metadata: { name },
  spec: { ports: [{ port: 80 }], ...spec },
});

const create = (server: TestServer, name: string, spec: object = {}): Promise<Answer> =>
  server.ask('POST', `${shop}/services`, { body: service(name, spec) });

async function limit(server: TestServer, hard: Readonly<Record<string, string>>, name = 'q', spec = {}): Promise<void> {
  const answer = await server.ask('POST', `${shop}/resourcequotas`, {
    body: { metadata: { name }, spec: { hard, ...spec } },
  });
  assert.equal(answer.status, 201, answer.text);
}

const statusOf = async (server: TestServer, name = 'q'): Promise<{ hard?: object; used?: object }> =>
  (await server.ask('GET', `${shop}/resourcequotas/${name}`)).body.status;

const hasUsed = (server: TestServer, used: object, name = 'q'): Promise<unknown> =>
  until(`${name} has used ${JSON.stringify(used)}`, async () => {
    const status = await statusOf(server, name);
    try {
      assert.deepEqual(status.used, used);
      return true;
    } catch {
      return undefined;
    }
  });

/** A store that counts the keys of each commit. */
function counting(store: Store): { readonly store: Store; readonly commits: (readonly Write[])[] } {
  const commits: (readonly Write[])[] = [];
  const counted = new Proxy(store, {
    get(target, name) {
      if (name === 'commit') {
        return (writes: readonly Write[]) => {
          commits.push(writes);
          return target.commit(writes);
        };
      }
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
  return { store: counted, commits };
}

suite('a quota', () => {
  test('rejects only writes that exceed it, with the message of Kubernetes', async () => {
    await using server = await testServer();
    await limit(server, { services: '3', 'count/configmaps': '10' });
    assert.equal((await create(server, 'a')).status, 201);
    assert.equal((await create(server, 'b')).status, 201);
    const refused = await create(server, 'c');
    assert.equal(refused.status, 403);
    assert.equal(
      refused.body.message,
      'services "c" is forbidden: exceeded quota: q, requested: services=1, used: services=3, limited: services=3',
    );
    assert.deepEqual([refused.body.reason, refused.body.details], ['Forbidden', { name: 'c', kind: 'services' }]);
    assert.deepEqual(await statusOf(server), {
      hard: { services: '3', 'count/configmaps': '10' },
      used: { 'count/configmaps': '1', services: '3' },
    });
    const elsewhere = '/api/v1/namespaces/kube-public/services';
    assert.equal((await server.ask('POST', elsewhere, { body: service('c') })).status, 201);
  });

  test('has a status when it is created, and updates it with its limits', async () => {
    await using server = await testServer();
    await create(server, 'a');
    await limit(server, { services: '1' });
    await hasUsed(server, { services: '2' });
    assert.equal((await create(server, 'b')).status, 403, 'the Service kubernetes counts, too');
    await server.ask('PATCH', `${shop}/resourcequotas/q`, {
      type: merge,
      body: { spec: { hard: { services: '3', secrets: '1' } } },
    });
    assert.equal((await create(server, 'b')).status, 201);
    await hasUsed(server, { secrets: '0', services: '3' });
    assert.deepEqual((await statusOf(server)).hard, { services: '3', secrets: '1' });
  });

  test('releases deleted objects immediately', async () => {
    await using server = await testServer();
    await limit(server, { services: '2' });
    for (let round = 0; round < 5; round++) {
      assert.equal((await create(server, 'a')).status, 201);
      assert.equal((await create(server, 'b')).status, 403);
      await server.ask('DELETE', `${shop}/services/a`);
    }
    await hasUsed(server, { services: '1' });
  });

  test('restores a status that a client has written', async () => {
    await using server = await testServer();
    await limit(server, { services: '2' });
    await create(server, 'a');
    const status = { hard: { services: '100' }, used: { services: '0' } };
    const written = await server.ask('PATCH', `${shop}/resourcequotas/q/status`, { type: merge, body: { status } });
    assert.equal(written.status, 200);
    assert.equal((await create(server, 'b')).status, 403);
    await hasUsed(server, { services: '2' });
    assert.deepEqual((await statusOf(server)).hard, { services: '2' });
  });

  test('counts node ports and load balancers of new and updated Services', async () => {
    await using server = await testServer();
    await limit(server, { 'services.nodeports': '3', 'services.loadbalancers': '1' });
    assert.equal((await create(server, 'a')).status, 201);
    const ports = [1, 2].map((port) => ({ name: `p${port}`, port }));
    assert.equal((await create(server, 'b', { type: 'NodePort', ports })).status, 201);
    const become = async (name: string, spec: object): Promise<string> => {
      const answer = await server.ask('PATCH', `${shop}/services/${name}`, { type: merge, body: { spec } });
      return answer.status === 200 ? 'ok' : answer.body.message;
    };
    assert.equal(await become('a', { type: 'LoadBalancer' }), 'ok');
    assert.equal(
      await become('b', { type: 'LoadBalancer' }),
      'services "b" is forbidden: exceeded quota: q, requested: services.loadbalancers=1, used: services.loadbalancers=1, limited: services.loadbalancers=1',
    );
    assert.equal(
      await become('b', { ports: [...ports, { name: 'p3', port: 3 }] }),
      'services "b" is forbidden: exceeded quota: q, requested: services.nodeports=1, used: services.nodeports=3, limited: services.nodeports=3',
    );
    assert.equal(
      await become('b', { externalTrafficPolicy: 'Local' }),
      'ok',
      'an update without further usage is not checked',
    );
    assert.equal(await become('a', { type: 'ClusterIP' }), 'ok');
    assert.equal(await become('b', { type: 'LoadBalancer', allocateLoadBalancerNodePorts: false }), 'ok');
    await hasUsed(server, { 'services.loadbalancers': '1', 'services.nodeports': '2' });
    const labelled = await server.ask('PATCH', `${shop}/services/b/status`, {
      type: merge,
      body: { status: { loadBalancer: { ingress: [{ ip: '192.0.2.1' }] } } },
    });
    assert.equal(labelled.status, 200);
  });

  test('counts objects of any kind, by group, except Events', async () => {
    await using server = await testServer();
    const exports = 'count/serviceexports.multicluster.x-k8s.io';
    await limit(server, { [exports]: '1', 'count/events': '0', 'count/leases.coordination.k8s.io': '0' });
    const share = (name: string, version: string): Promise<Answer> => {
      const apiVersion = `multicluster.x-k8s.io/${version}`;
      const body = { apiVersion, kind: 'ServiceExport', metadata: { name } };
      return server.ask('POST', `/apis/${apiVersion}/namespaces/default/serviceexports`, { body });
    };
    assert.equal((await share('a', 'v1alpha1')).status, 201);
    const refused = await share('b', 'v1beta1');
    assert.equal(
      refused.body.message,
      `serviceexports.multicluster.x-k8s.io "b" is forbidden: exceeded quota: q, requested: ${exports}=1, used: ${exports}=1, limited: ${exports}=1`,
    );
    const lease = '/apis/coordination.k8s.io/v1/namespaces/default/leases';
    assert.equal((await server.ask('POST', lease, { body: { metadata: { name: 'b' } } })).status, 403);
    const event = { metadata: { name: 'e' }, involvedObject: { namespace: 'default' } };
    assert.equal((await server.ask('POST', `${shop}/events`, { body: event })).status, 201);
    await hasUsed(server, { 'count/leases.coordination.k8s.io': '0', [exports]: '1' });
  });

  test('checks dry runs and charges nothing for them', async () => {
    await using server = await testServer();
    await limit(server, { services: '2' });
    const dry = `${shop}/services?dryRun=All`;
    assert.equal((await server.ask('POST', dry, { body: service('a') })).status, 201);
    assert.equal((await create(server, 'a')).status, 201);
    assert.equal((await server.ask('POST', dry, { body: service('b') })).status, 403);
    assert.deepEqual((await statusOf(server)).used, { services: '2' });
  });

  test('is enforced together with the other quotas of its namespace', async () => {
    await using server = await testServer();
    await limit(server, { services: '9' }, 'a');
    await limit(server, { services: '2' }, 'b');
    assert.equal((await create(server, 'x')).status, 201);
    const refused = await create(server, 'y');
    assert.match(refused.body.message, /exceeded quota: b, /);
    await hasUsed(server, { services: '2' }, 'a');
  });

  test('is not enforced if the plugin is disabled, but has a status', async () => {
    const admissionPlugins = new Set(pluginNames.filter((name) => name !== 'ResourceQuota'));
    await using server = await testServer({ admissionPlugins });
    await limit(server, { services: '1' });
    assert.equal((await create(server, 'a')).status, 201);
    await hasUsed(server, { services: '2' });
  });

  test('counts ResourceQuotas', async () => {
    await using server = await testServer();
    await limit(server, { resourcequotas: '1', 'count/resourcequotas': '5' });
    await hasUsed(server, { 'count/resourcequotas': '1', resourcequotas: '1' });
    const body = { metadata: { name: 'r' }, spec: {} };
    assert.equal((await server.ask('POST', `${shop}/resourcequotas`, { body })).status, 403);
  });

  test('does not block the deletion of its namespace', async () => {
    await using server = await testServer();
    await server.ask('POST', '/api/v1/namespaces', { body: { metadata: { name: 'gone' } } });
    const body = { metadata: { name: 'q' }, spec: { hard: { services: '5', 'count/configmaps': '5' } } };
    await server.ask('POST', '/api/v1/namespaces/gone/resourcequotas', { body });
    await server.ask('POST', '/api/v1/namespaces/gone/services', { body: service('a') });
    await server.ask('DELETE', '/api/v1/namespaces/gone');
    await until(
      'the namespace is removed',
      async () => (await server.ask('GET', '/api/v1/namespaces/gone')).status === 404,
    );
  });
});

suite('counting', () => {
  test('of many objects yields to the event loop and misses no change meanwhile', async () => {
    await using server = await testServer({ serviceCidrs: ['10.0.0.0/20'] });
    const names = Array.from({ length: 900 }, (_, index) => `s${index}`);
    const selector = Object.fromEntries(Array.from({ length: 30 }, (_, index) => [`key-${index}`, 'x'.repeat(60)]));
    await Promise.all(names.map((name) => create(server, name, { type: 'NodePort', selector })));
    await limit(server, { services: '1000', 'services.nodeports': '1000' });
    // One turn counts some of them, so these writes happen in between.
    await Promise.all([
      ...names.slice(0, 100).map((name) => server.ask('DELETE', `${shop}/services/${name}`)),
      ...names.slice(0, 20).map((name) => create(server, `new-${name}`)),
    ]);
    await hasUsed(server, { services: '821', 'services.nodeports': '800' });
  });

  test('continues when objects cannot be decrypted, and neither enforces nor overwrites such a quota', async () => {
    await using store = openMemoryStore();
    const configuration = configurationOf([aesgcm(keyOf('one', 1)), identity], ['services', 'resourcequotas']);
    await using server = await testServer({ store, encryption: await Encryption.create(configuration, kinds) });
    await limit(server, { services: '3', 'services.nodeports': '5' });
    await create(server, 'a', { type: 'NodePort' });
    await hasUsed(server, { services: '2', 'services.nodeports': '1' });
    const lost = 'k8s:enc:aesgcm:v1:lost:x';
    await store.commit([{ key: '/registry/services/default/a', value: lost }]);
    await hasUsed(server, { services: '2', 'services.nodeports': '0' });
    assert.equal((await create(server, 'b')).status, 201);
    assert.equal((await create(server, 'c')).status, 403);
    const key = '/registry/resourcequotas/default/q';
    await store.commit([{ key, value: lost }]);
    assert.equal((await create(server, 'c')).status, 201);
    assert.equal((await store.get(key))?.value, lost);
  });
});

suite('Pods in a quota', () => {
  const pod = (name: string, requests: object | undefined, spec: object = {}): object => ({
    metadata: { name },
    spec: { containers: [{ name: 'main', image: 'x', ...(requests && { resources: { requests } }) }], ...spec },
  });
  const start = (server: TestServer, name: string, requests?: object, spec?: object): Promise<Answer> =>
    server.ask('POST', `${shop}/pods`, { body: pod(name, requests, spec) });

  test('need requests for limited resources, and count until they end', async () => {
    await using server = await testServer();
    await limit(server, { pods: '2', 'requests.cpu': '1', 'count/pods': '3' });
    const silent = await start(server, 'a');
    assert.equal(silent.body.message, 'pods "a" is forbidden: failed quota: q: must specify requests.cpu for: main');
    assert.equal((await start(server, 'a', { cpu: '600m' })).status, 201);
    assert.equal(
      (await start(server, 'b', { cpu: '500m' })).body.message,
      'pods "b" is forbidden: exceeded quota: q, requested: requests.cpu=500m, used: requests.cpu=600m, limited: requests.cpu=1',
    );
    assert.equal((await start(server, 'b', { cpu: '400m' })).status, 201);
    await hasUsed(server, { 'count/pods': '2', pods: '2', 'requests.cpu': '1' });
    const ended = { type: merge, body: { status: { phase: 'Succeeded' } } };
    assert.equal((await server.ask('PATCH', `${shop}/pods/a/status`, ended)).status, 200);
    await hasUsed(server, { 'count/pods': '2', pods: '1', 'requests.cpu': '400m' });
    assert.equal((await start(server, 'c', { cpu: '600m' })).status, 201);
    assert.match((await start(server, 'd', { cpu: '0' })).body.message, /requested: count\/pods=1,pods=1, /);
  });

  test('count in quotas whose scopes they are in', async () => {
    await using server = await testServer();
    await limit(server, { pods: '1' }, 'best', { scopes: ['BestEffort'] });
    await limit(server, { pods: '1' }, 'ends', { scopes: ['Terminating', 'NotBestEffort'] });
    await limit(server, { pods: '1' }, 'high', {
      scopeSelector: { matchExpressions: [{ scopeName: 'PriorityClass', operator: 'In', values: ['high'] }] },
    });
    const high = { metadata: { name: 'high' }, value: 10 };
    const { status } = await server.ask('POST', '/apis/scheduling.k8s.io/v1/priorityclasses', { body: high });
    assert.equal(status, 201);
    const cpu = { cpu: '1' };
    assert.equal((await start(server, 'a')).status, 201);
    assert.match((await start(server, 'b')).body.message, /exceeded quota: best, /);
    assert.equal((await start(server, 'b', cpu)).status, 201);
    assert.equal((await start(server, 'c', cpu, { activeDeadlineSeconds: 5 })).status, 201);
    assert.match((await start(server, 'd', cpu, { activeDeadlineSeconds: 5 })).body.message, /exceeded quota: ends, /);
    assert.equal((await start(server, 'd', cpu, { priorityClassName: 'high' })).status, 201);
    assert.match((await start(server, 'e', cpu, { priorityClassName: 'high' })).body.message, /exceeded quota: high, /);
    for (const name of ['best', 'ends', 'high']) await hasUsed(server, { pods: '1' }, name);
  });
});

suite('writes', () => {
  test('write one more key in a namespace with a quota, and none without', async () => {
    const { store, commits } = counting(openMemoryStore());
    {
      await using server = await testServer({ store });
      const keysOf = async (name: string): Promise<readonly string[]> => {
        commits.length = 0;
        assert.equal((await create(server, name)).status, 201);
        return (commits[0] ?? []).map(({ key }) => key.split('/')[2] ?? '');
      };
      const without = await keysOf('a');
      await server.ask('POST', '/api/v1/namespaces/kube-public/resourcequotas', {
        body: { metadata: { name: 'q' }, spec: { hard: { services: '5' } } },
      });
      assert.deepEqual(await keysOf('b'), without);
      await limit(server, { services: '9' });
      await hasUsed(server, { services: '3' });
      assert.deepEqual(await keysOf('c'), [...without, 'resourcequotas']);
      assert.equal(commits.length, 1, 'the status is a part of the commit');
      commits.length = 0;
      await server.ask('POST', `${shop}/configmaps`, { body: { metadata: { name: 'm' } } });
      assert.deepEqual(
        commits.map((writes) => writes.length),
        [1],
        'a kind that is not limited pays nothing',
      );
    }
    await store.close();
  });

  test('do not count when they fail', async () => {
    await using server = await testServer();
    await limit(server, { services: '3' });
    assert.equal((await create(server, 'a')).status, 201);
    for (let turn = 0; turn < 5; turn++) {
      assert.equal((await create(server, 'a')).status, 409);
      assert.equal((await create(server, 'b', { clusterIP: '10.0.0.300' })).status, 422);
    }
    assert.deepEqual((await statusOf(server)).used, { services: '2' });
    assert.equal((await create(server, 'b')).status, 201);
  });
});

const stores: readonly { readonly name: string; readonly open: (path: string) => Promise<Store> | Store }[] = [
  { name: 'memory', open: () => openMemoryStore() },
  { name: 'sqlite', open: (path) => openSqliteStore({ path }) },
];

for (const { name, open } of stores) {
  suite(`two servers over one ${name} store`, () => {
    test('create exactly as many objects as allowed under concurrent writes', async () => {
      await using stand = await twoServers(open);
      const { servers } = stand;
      await limit(servers[0], { services: '21', 'services.nodeports': '30' });
      const answers = await Promise.all(
        Array.from({ length: 64 }, (_, index) =>
          create(servers[index % 2 === 0 ? 0 : 1], `s${index}`, { type: index < 50 ? 'NodePort' : 'ClusterIP' }),
        ),
      );
      const made = answers.filter(({ status }) => status === 201).length;
      assert.equal(made, 20, JSON.stringify(answers.find(({ status }) => status > 403)?.body));
      for (const { status, body } of answers) {
        if (status !== 201) assert.match(body.message, /exceeded quota: q, requested: .*, used: .*, limited: /);
      }
      const { body } = await servers[1].ask('GET', `${shop}/services`);
      assert.equal(body.items.length, 21);
    });

    test('never exceed the limit, and end with the correct usage', async () => {
      const step = fc.record({
        server: fc.constantFrom(0 as const, 1 as const),
        name: fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f'),
        type: fc.constantFrom('ClusterIP', 'NodePort', 'LoadBalancer'),
        act: fc.constantFrom('create', 'create', 'change', 'delete'),
      });
      await fc.assert(
        fc.asyncProperty(fc.array(fc.array(step, { minLength: 1, maxLength: 6 }), { maxLength: 5 }), async (rounds) => {
          await using stand = await twoServers(open);
          const { servers } = stand;
          const hard = { services: 4, 'services.nodeports': 2, 'services.loadbalancers': 1 };
          await limit(servers[0], mapped(hard, String));
          const seen = await servers[0].watch(`${shop}/resourcequotas?watch=1`);
          for (const round of rounds) {
            await Promise.all(
              round.map(async ({ server: index, name: each, type, act }) => {
                const server = servers[index];
                const url = `${shop}/services/${each}`;
                if (act === 'create') await create(server, each, { type });
                else if (act === 'delete') await server.ask('DELETE', url);
                else await server.ask('PATCH', url, { type: merge, body: { spec: { type } } });
              }),
            );
          }
          const { body } = await servers[0].ask('GET', `${shop}/services`);
          const items: readonly { spec: { type: string; ports: readonly unknown[] } }[] = body.items;
          const exposed = items.filter(({ spec }) => spec.type !== 'ClusterIP');
          await hasUsed(servers[1], {
            services: String(items.length),
            'services.loadbalancers': String(items.filter(({ spec }) => spec.type === 'LoadBalancer').length),
            'services.nodeports': String(exposed.reduce((sum, { spec }) => sum + spec.ports.length, 0)),
          });
          for (const { object } of seen.events) {
            for (const [each, amount] of Object.entries(object.status.used ?? {})) {
              assert.ok(Number(amount) <= Number(Reflect.get(hard, each)), `${each}: ${String(amount)}`);
            }
          }
          seen.close();
        }),
        { numRuns: name === 'memory' ? 15 : 4 },
      );
    });
  });
}

const mapped = (values: Readonly<Record<string, number>>, map: (value: number) => string): Record<string, string> =>
  Object.fromEntries(Object.entries(values).map(([key, value]) => [key, map(value)]));

async function twoServers(open: (path: string) => Promise<Store> | Store) {
  const stack = new AsyncDisposableStack();
  const path = await mkdtemp(join(tmpdir(), 'fairlead-quota-'));
  stack.defer(() => rm(path, { recursive: true }));
  const store = await open(path);
  stack.defer(() => store.close());
  const first = stack.use(await testServer({ store }));
  const second = stack.use(await testServer({ store }));
  const servers: readonly [TestServer, TestServer] = [first, second];
  return { servers, [Symbol.asyncDispose]: () => stack.disposeAsync() };
}
