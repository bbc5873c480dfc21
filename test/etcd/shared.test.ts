// What several servers over one etcd must agree on, though none knows of the others.

import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';

import { configMapKind } from '../../src/api/kinds/core/configmap/kind.ts';
import { Client } from '../../src/client/client.ts';
import { overHttps } from '../../src/client/https.ts';
import { Informer } from '../../src/client/informer.ts';
import { batched, Revisions } from '../../src/store/etcd/revisions.ts';
import type { Answer } from '../harness/connection.ts';
import { Connection } from '../harness/connection.ts';
import { unlessInstalled } from '../harness/needs.ts';
import type { SharedCluster } from './cluster.ts';
import { startSharedCluster } from './cluster.ts';
import { eventually } from './eventually.ts';

const nodePorts = 40;

suite('three servers over one etcd', { skip: unlessInstalled('etcd') }, () => {
  const stack = new AsyncDisposableStack();
  let cluster: SharedCluster;
  let clients: readonly Connection[];
  before(async () => {
    const flags = ['--service-node-port-range', `30000+${nodePorts - 1}`, '--advertise-address', '127.0.0.1'];
    cluster = stack.use(await startSharedCluster({ members: 1, servers: 3, flags }));
    clients = cluster.servers.map(({ port }) => stack.use(new Connection(port, cluster.credentials)));
  });
  after(() => stack.disposeAsync());

  /** A client of the server with this number, counted round. */
  const client = (index: number): Connection => clients[index % clients.length] ?? assert.fail('no server');
  /** Sends requests at the same time, each to the next server. */
  const all = (
    count: number,
    ask: (client: Connection, index: number) => Promise<Answer>,
  ): Promise<readonly Answer[]> => Promise.all(Array.from({ length: count }, (_, index) => ask(client(index), index)));
  const createNamespace = async (name: string): Promise<void> => {
    assert.equal((await client(0).ask('POST', '/api/v1/namespaces', { metadata: { name } })).status, 201);
  };

  /** Resolves when the endpoints of the Service `kubernetes` are these servers. */
  const areEndpoints = (servers: SharedCluster['servers']): Promise<void> =>
    eventually(async () => {
      const { body } = await client(1).ask('GET', '/api/v1/namespaces/default/endpoints/kubernetes');
      const ports = (body.subsets as readonly { readonly ports: readonly { readonly port: number }[] }[]).flatMap(
        (subset) => subset.ports.map(({ port }) => port),
      );
      assert.deepEqual(new Set(ports), new Set(servers.map(({ port }) => port)));
    });

  test('the Service `kubernetes` has all of them as endpoints', () => areEndpoints(cluster.servers));

  test('no cluster IP and no node port is allocated twice, and all node ports can be', async () => {
    await createNamespace('ports');
    const path = '/api/v1/namespaces/ports/services';
    const answers = await all(nodePorts + 12, (each, index) =>
      each.ask('POST', path, { metadata: { name: `s${index}` }, spec: { type: 'NodePort', ports: [{ port: 80 }] } }),
    );
    const created = answers.filter(({ status }) => status === 201).map(({ body }) => body.spec);
    assert.equal(new Set(created.map(({ clusterIP }) => clusterIP)).size, created.length);
    const ports = new Set(created.map(({ ports: [{ nodePort }] }) => nodePort));
    assert.equal(ports.size, created.length);
    assert.equal(created.length, nodePorts);
    for (const { status, body } of answers) {
      if (status !== 201) assert.match(body.message, /range is full/);
    }
  });

  test('a quota holds for the requests of all together', async () => {
    await createNamespace('quota');
    const quota = { metadata: { name: 'few' }, spec: { hard: { 'count/configmaps': '10' } } };
    assert.equal((await client(0).ask('POST', '/api/v1/namespaces/quota/resourcequotas', quota)).status, 201);
    for (let index = 0; index < 3; index++) {
      // From here on this server enforces it.
      await eventually(async () => {
        const { body } = await client(index).ask('GET', '/api/v1/namespaces/quota/resourcequotas/few');
        assert.equal(body.status?.hard?.['count/configmaps'], '10');
      });
    }
    const answers = await all(40, (each, index) =>
      each.ask('POST', '/api/v1/namespaces/quota/configmaps', { metadata: { name: `c${index}` } }),
    );
    const { body } = await client(2).ask('GET', '/api/v1/namespaces/quota/configmaps');
    // `kube-root-ca.crt` counts too.
    assert.equal(body.items.length, 10);
    for (const { status, body: refused } of answers) {
      if (status !== 201) assert.match(`${status} ${refused.message}`, /^403 .*exceeded quota: few|^409 /);
    }
  });

  test('nothing is created in a namespace after another server has deleted it', async () => {
    for (let round = 0; round < 5; round++) {
      const name = `gone-${round}`;
      await createNamespace(name);
      const creates = all(30, async (each, index) => {
        await delay(Math.random() * 30);
        return each.ask('POST', `/api/v1/namespaces/${name}/configmaps`, { metadata: { name: `c${index}` } });
      });
      await delay(10);
      assert.ok((await client(round).ask('DELETE', `/api/v1/namespaces/${name}`)).status < 300);
      for (const { status } of await creates) assert.match(`${status}`, /^(?:201|403|404|409)$/);
      await eventually(async () => {
        assert.equal((await client(round + 1).ask('GET', `/api/v1/namespaces/${name}`)).status, 404);
      });
      const { body } = await client(round + 2).ask('GET', '/api/v1/configmaps');
      const left = (body.items as readonly { readonly metadata: { readonly namespace: string } }[]).filter(
        ({ metadata }) => metadata.namespace === name,
      );
      assert.deepEqual(left, []);
    }
  });

  test('no object of a custom resource remains after its definition was deleted, whichever server created it', async () => {
    await createNamespace('custom');
    const crds = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
    const names = { plural: 'widgets', kind: 'Widget' };
    const schema = { openAPIV3Schema: { type: 'object' } };
    const spec = { group: 'example.com', scope: 'Namespaced', names };
    const version = { name: 'v1', served: true, storage: true, schema };
    const definition = { metadata: { name: 'widgets.example.com' }, spec: { ...spec, versions: [version] } };
    const path = '/apis/example.com/v1/namespaces/custom/widgets';
    const widget = (name: string): object => ({ apiVersion: 'example.com/v1', kind: 'Widget', metadata: { name } });
    const define = async (): Promise<void> => {
      assert.equal((await client(0).ask('POST', crds, definition)).status, 201);
      await eventually(async () => assert.equal((await client(0).ask('GET', path)).status, 200));
    };
    await define();
    const made = await all(30, (each, index) => each.ask('POST', path, widget(`w${index}`)));
    assert.deepEqual(
      made.filter(({ status }) => status !== 201),
      [],
    );
    const creates = all(60, (each, index) => each.ask('POST', path, widget(`late${index}`)));
    assert.equal((await client(2).ask('DELETE', `${crds}/widgets.example.com`)).status, 200);
    for (const { status } of await creates) assert.ok([201, 404, 405].includes(status), `${status}`);
    for (let index = 0; index < 3; index++)
      await eventually(async () => assert.equal((await client(index).ask('GET', path)).status, 404));
    await define();
    for (let index = 0; index < 3; index++) assert.deepEqual((await client(index).ask('GET', path)).body.items, []);
  });

  test('a service account token of one server is valid on the others at once', async () => {
    const path = '/api/v1/namespaces/default/serviceaccounts/default/token';
    for (let index = 0; index < 3; index++) {
      const { status, body } = await client(index).ask('POST', path, { spec: {} });
      assert.equal(status, 201);
      for (const other of clients) {
        const review = { spec: { token: body.status.token } };
        const { body: reviewed } = await other.ask('POST', '/apis/authentication.k8s.io/v1/tokenreviews', review);
        assert.equal(reviewed.status.user?.username, 'system:serviceaccount:default:default');
      }
    }
  });

  test('a write of one server is read from the others at once', async () => {
    for (let index = 0; index < 30; index++) {
      const path = '/api/v1/namespaces/default/configmaps';
      const { body } = await client(index).ask('POST', path, { metadata: { generateName: 'read-' } });
      const { name } = body.metadata;
      const [get, list] = await Promise.all([
        client(index + 1).ask('GET', `${path}/${name}`),
        client(index + 2).ask('GET', `${path}?fieldSelector=metadata.name=${name}`),
      ]);
      assert.equal(get.status, 200);
      assert.equal(list.body.items.length, 1);
    }
  });

  test('a watch that resumes between two events of one revision of etcd delivers the second', async () => {
    await createNamespace('batch');
    const path = '/api/v1/namespaces/batch/configmaps';
    const answers = await Promise.all(
      Array.from({ length: 48 }, (_, index) => client(0).ask('POST', path, { metadata: { name: `b${index}` } })),
    );
    const revisions = answers.map(({ body }) => Number(body.metadata.resourceVersion)).toSorted((a, b) => a - b);
    assert.equal(new Set(revisions).size, revisions.length);
    const ofEtcd = new Revisions(batched);
    const shared = revisions.filter((each, index) => ofEtcd.etcdOf(each) === ofEtcd.etcdOf(revisions[index + 1] ?? 0));
    assert.ok(shared.length > 0, 'some events have a revision of etcd in common');
    const last = revisions.at(-1) ?? 0;
    for (const from of shared) {
      const seen: number[] = [];
      const watch = client(1).watch(`${path}?watch=1&resourceVersion=${from}`, ({ object }) => {
        seen.push(Number(object.metadata.resourceVersion));
      });
      await eventually(async () => assert.ok(seen.includes(last)));
      watch.close();
      const expected = revisions.filter((each) => each > from);
      assert.deepEqual(
        seen.filter((each) => each <= last),
        expected,
      );
    }
  });

  test('an informer continues at another server, with no object missing, when its server is killed or paused', async () => {
    for (const [index, signal] of (['SIGKILL', 'SIGSTOP'] as const).entries()) {
      const [own, ...others] = [...cluster.servers.slice(index), ...cluster.servers.slice(0, index)];
      const [next] = others;
      if (own === undefined || next === undefined) assert.fail('bug: there are three servers');
      const transport = overHttps({
        server: own.url,
        otherServers: others.map(({ url }) => url),
        ca: cluster.credentials.ca,
        credentials: () => Promise.resolve(cluster.credentials),
      });
      using informerClient = new Client(transport);
      const informer = new Informer(informerClient, configMapKind, { namespace: 'default' });
      using stop = new DisposableStack();
      const stopping = new AbortController();
      stop.defer(() => stopping.abort());
      const running = informer.run(stopping.signal);
      await informer.synced(stopping.signal);
      own.signal(signal);
      const paused = performance.now();
      using writer = new Connection(next.port, cluster.credentials);
      const names = Array.from({ length: 5 }, (_, count) => `after-${signal.toLowerCase()}-${count}`);
      for (const name of names) {
        const { status } = await writer.ask('POST', '/api/v1/namespaces/default/configmaps', { metadata: { name } });
        assert.equal(status, 201);
      }
      await eventually(async () => {
        for (const name of names)
          assert.ok(
            informer.list().some(({ metadata }) => metadata.name === name),
            name,
          );
      });
      // Without a probe, a paused server is noticed after three minutes without bookmarks.
      assert.ok(performance.now() - paused < 30_000);
      stopping.abort();
      await running;
      if (signal === 'SIGSTOP') own.signal('SIGCONT');
      else {
        await own.stop('SIGKILL');
        await own.start();
      }
    }
  });

  // The last test, because its server does not come back.
  test('one that is killed is removed from the endpoints of `kubernetes`', async () => {
    await cluster.servers[0]?.stop('SIGKILL');
    await areEndpoints(cluster.servers.slice(1));
  });
});
