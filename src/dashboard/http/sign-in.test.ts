import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { IncomingMessage, RequestOptions } from 'node:http';
import { request } from 'node:https';
import { text } from 'node:stream/consumers';
import { after, before, describe, test } from 'node:test';
import { pino } from 'pino';

import { namespaceKind } from '../../api/kinds/core/namespace/kind.ts';
import { serviceKind } from '../../api/kinds/core/service/kind.ts';
import { decode } from '../../api/schema/decode.ts';
import type { User } from '../../api/user.ts';
import { Client } from '../../client/client.ts';
import { inProcess } from '../../client/in-process.ts';
import { issue } from '../../server/pki/issue.ts';
import { grant } from '../../server/testing/grant.ts';
import { testCa } from '../../server/testing/https-server.ts';
import type { TestServer } from '../../server/testing/server.ts';
import { testServer } from '../../server/testing/server.ts';
import { until } from '../../server/testing/until.ts';
import { ClusterSet } from '../answers/cluster-set.ts';
import { Board } from '../server/board.ts';
import { setOf, sourceOf } from '../testing/sources.ts';
import type { Delta } from '../view/rows.ts';
import { WebServer } from './web-server.ts';

const log = pino({ level: 'silent' });
const userOf = (name: string, ...groups: readonly string[]): User => ({
  name,
  uid: '',
  groups: [...groups, 'system:authenticated'],
});

describe('the dashboard at an address that others can reach', () => {
  const stack = new AsyncDisposableStack();
  const tokens = new Map([
    ['jane-token', userOf('jane')],
    ['admin-token', userOf('admin', 'system:masters')],
  ]);
  let server: TestServer;
  let client: Client;
  let web: WebServer;
  let ca = '';

  const connectAs = (token: string): Client =>
    new Client(
      inProcess(async (call) => {
        const user = tokens.get(token);
        return user === undefined ? { status: 401, headers: {}, body: '{}' } : server.handle({ ...call, user });
      }),
    );
  const createService = async (namespace: string, name: string): Promise<void> => {
    const object = { metadata: { namespace, name }, spec: { ports: [{ port: 80 }], selector: { app: name } } };
    await client.create(
      serviceKind,
      decode<Parameters<typeof serviceKind.applyDefaults>[0]>(serviceKind.schema, object).object,
    );
  };
  const createNamespace = (name: string) => client.create(namespaceKind, { metadata: { name }, spec: {}, status: {} });
  const mayList = (namespace: string, apiGroup: string, ...resources: readonly string[]) =>
    grant(server, { user: 'jane', namespace, rules: [{ apiGroups: [apiGroup], resources, verbs: ['list'] }] });

  before(async () => {
    server = stack.use(await testServer());
    const connect = (): Client => stack.use(connectAs('admin-token'));
    client = connect();
    for (const namespace of ['shop', 'secret']) {
      await createNamespace(namespace);
      await createService(namespace, 'web');
    }
    await mayList('shop', '', 'services');
    const board = stack.use(
      new Board({ clusters: [{ name: 'east', server: 'https://192.0.2.1', client: connect() }], log, windowMs: 1 }),
    );
    const sources = [sourceOf('east', connect, connectAs)];
    const set = stack.use(new ClusterSet(sources, setOf(sources)));
    const authority = await testCa('page-ca');
    ca = authority.cert;
    const names = { dns: ['map.example.org'], ips: ['127.0.0.1'] };
    const serving = await issue(authority, { use: 'server', commonName: 'map', names }, { now: new Date(), days: 1 });
    web = stack.use(
      new WebServer({
        board: () => board,
        set,
        log,
        listen: { host: '0.0.0.0', ports: [0], names: ['map.example.org'], certificate: async () => serving },
        portFlag: '--listen',
        reviewMs: 20,
      }),
    );
    await web.listen();
    await board.feeds[0]?.synced;
  });
  after(() => stack.disposeAsync());

  const call = async (options: RequestOptions, body = ''): Promise<IncomingMessage> => {
    const sent = request({
      host: '127.0.0.1',
      port: web.port,
      ca,
      servername: 'map.example.org',
      agent: false,
      ...options,
    });
    sent.end(body);
    const [response] = (await once(sent, 'response')) as [IncomingMessage];
    return response;
  };
  const get = (path: string, headers: RequestOptions['headers'] = {}) => call({ path, headers });
  const signIn = (body: object, headers: Readonly<Record<string, string>> = {}) => {
    const origin = `https://127.0.0.1:${web.port}`;
    return call({ path: '/api/sign-in', method: 'POST', headers: { origin, ...headers } }, JSON.stringify(body));
  };
  const cookieFor = async (token: string): Promise<string> => {
    const response = await signIn({ east: token });
    assert.equal(response.resume().statusCode, 200);
    const [set = ''] = response.headers['set-cookie'] ?? [];
    assert.match(set, /; HttpOnly; SameSite=Strict; Path=\/; Secure$/);
    return set.split(';', 1)[0] ?? '';
  };
  /** The ids of the rows that a stream has sent and not taken back. */
  const follow = async (cookie: string) => {
    const response = await get('/api/stream', { cookie });
    let received = '';
    response.setEncoding('utf8').on('data', (chunk: string) => (received += chunk));
    const ids = (): readonly string[] => {
      const rows = new Map<string, string>();
      for (const [, json = ''] of received.matchAll(/^data: (\{.*\})\n\n/gm)) {
        const { set = [], gone = [] } = JSON.parse(json) as Delta; // as the server writes it
        for (const row of set) rows.set(row.id, JSON.stringify(row));
        for (const id of gone) rows.delete(id);
      }
      return [...rows.keys()].toSorted();
    };
    await until('the rows have arrived', () => received.includes('"isComplete":true'));
    return { ids, received: () => received, [Symbol.dispose]: () => void response.destroy() };
  };

  test('accepts no secret, and requires a token for each cluster', async () => {
    assert.equal(web.url, `https://0.0.0.0:${web.port}/`);
    assert.equal((await get('/enter/anything')).resume().statusCode, 404);
    assert.equal(await text(await get('/api/session')), '{"isSignedIn":false,"clusters":["east"]}');
    assert.equal((await get('/api/stream')).resume().statusCode, 401);
  });

  test('is reached by its addresses and by names that are given, and by no other name', async () => {
    for (const [host, status] of [
      [`127.0.0.1:${web.port}`, 200],
      ['192.0.2.7', 200],
      ['[2001:db8::1]:8443', 200],
      ['map.example.org', 200],
      ['MAP.example.org:443', 200],
      ['evil.example', 421],
      [`localhost:${web.port}`, 421],
      ['127.0.0.1.evil.example', 421],
    ] as const) {
      assert.equal((await get('/api/session', { host })).resume().statusCode, status, host);
    }
  });

  const rejections = [
    { name: 'a wrong token', body: { east: 'wrong' }, want: /cluster east: it rejects the credentials/ },
    { name: 'no token', body: { east: ' ' }, want: /enter a token for at least one cluster/ },
    { name: 'a token for an unknown cluster', body: { west: 'jane-token' }, want: /there is no cluster "west"/ },
    { name: 'a token with a line break', body: { east: 'a\r\nb: c' }, want: /not a bearer token/ },
  ];
  for (const { name, body, want } of rejections) {
    test(`rejects ${name}`, async () => {
      const response = await signIn(body);
      assert.ok([400, 403].includes(response.statusCode ?? 0));
      assert.equal(response.headers['set-cookie'], undefined);
      assert.match(await text(response), want);
    });
  }

  test('rejects the form of another origin', async () => {
    const response = await signIn({ east: 'jane-token' }, { origin: 'https://evil.example' });
    assert.equal(response.resume().statusCode, 403);
  });

  test('sends only rows of namespaces and kinds that the cluster lets the person list', async () => {
    using stream = await follow(await cookieFor('jane-token'));
    assert.deepEqual(stream.ids(), ['cluster/east', 'service/east/shop/web']);
    assert.doesNotMatch(stream.received(), /secret|"endpoints"|kubernetes/);
    using all = await follow(await cookieFor('admin-token'));
    assert.ok(all.ids().includes('service/east/secret/web'));
    assert.match(all.received(), /"endpoints"/);
  });

  test('answers questions about what the person may list, and names nothing else', async () => {
    const cookie = await cookieFor('jane-token');
    const own = await text(await get('/api/details?id=service/east/shop/web', { cookie }));
    assert.match(own, /kind: Service/);
    assert.doesNotMatch(own, /EndpointSlice web/);
    const hidden = await get('/api/details?id=service/east/secret/web', { cookie });
    assert.equal(hidden.resume().statusCode, 404);
    const answer = await text(await get('/api/ask?text=web.secret.svc.cluster.local&type=A', { cookie }));
    assert.match(answer, /you may not list Services in namespace secret of cluster east/);
  });

  test('shows a namespace when a right is granted, and hides it when the right ends, on an open stream', async () => {
    using stream = await follow(await cookieFor('jane-token'));
    await createNamespace('team');
    await createService('team', 'api');
    await mayList('team', '', 'services');
    await until('the row is shown', () => stream.ids().includes('service/east/team/api'));
    const path = '/apis/rbac.authorization.k8s.io/v1/namespaces/team/rolebindings/jane-team';
    assert.equal((await server.ask('DELETE', path)).status, 200);
    await until('the row is hidden', () => !stream.ids().includes('service/east/team/api'));
    assert.ok(stream.ids().includes('service/east/shop/web'));
  });

  test('ends the session when the cluster no longer accepts the token, and when the person signs out', async () => {
    tokens.set('short-token', userOf('jane'));
    const cookie = await cookieFor('short-token');
    using stream = await follow(cookie);
    tokens.delete('short-token');
    await until('the stream has ended', () => stream.received().includes('{"reason":"signed out"}'));
    assert.match(await text(await get('/api/session', { cookie })), /"isSignedIn":false/);
    const other = await cookieFor('jane-token');
    assert.match(await text(await get('/api/session', { cookie: other })), /"isSignedIn":true,"canSignOut":true/);
    const origin = `https://127.0.0.1:${web.port}`;
    const out = await call({ path: '/api/sign-out', method: 'POST', headers: { origin, cookie: other } });
    assert.equal(out.resume().statusCode, 200);
    assert.match(await text(await get('/api/session', { cookie: other })), /"isSignedIn":false/);
  });
});
