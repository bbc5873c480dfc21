import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';

import { grant } from '../testing/grant.ts';
import type { TestClient, TestServer } from '../testing/server.ts';
import { testServer } from '../testing/server.ts';

const rbac = '/apis/rbac.authorization.k8s.io/v1';

describe('403 responses', () => {
  let server: TestServer;
  let alice: TestClient;
  before(async () => {
    server = await testServer();
    alice = server.as({ name: 'alice' });
  });
  after(() => server[Symbol.asyncDispose]());

  const refusals: readonly { method?: string; url: string; message: string; details: object }[] = [
    {
      url: '/api/v1/namespaces/default/secrets',
      message:
        'secrets is forbidden: User "alice" cannot list resource "secrets" in API group "" in the namespace "default"',
      details: { kind: 'secrets' },
    },
    {
      url: '/api/v1/secrets?watch=1',
      message:
        'secrets is forbidden: User "alice" cannot watch resource "secrets" in API group "" at the cluster scope',
      details: { kind: 'secrets' },
    },
    {
      url: '/apis/apps/v1/watch/namespaces/x/deployments/n',
      message:
        'deployments.apps "n" is forbidden: User "alice" cannot watch resource "deployments" in API group "apps" in the namespace "x"',
      details: { name: 'n', group: 'apps', kind: 'deployments' },
    },
    {
      url: '/api/v1/namespaces/foo',
      message:
        'namespaces "foo" is forbidden: User "alice" cannot get resource "namespaces" in API group "" in the namespace "foo"',
      details: { name: 'foo', kind: 'namespaces' },
    },
    {
      method: 'PUT',
      url: '/api/v1/namespaces/foo/status',
      message:
        'namespaces "foo" is forbidden: User "alice" cannot update resource "namespaces/status" in API group "" in the namespace "foo"',
      details: { name: 'foo', kind: 'namespaces' },
    },
    {
      url: '/api/v1/namespaces?fieldSelector=metadata.name=foo',
      message:
        'namespaces "foo" is forbidden: User "alice" cannot list resource "namespaces" in API group "" at the cluster scope',
      details: { name: 'foo', kind: 'namespaces' },
    },
    {
      method: 'DELETE',
      url: '/api/v1/namespaces/default/services',
      message:
        'services is forbidden: User "alice" cannot deletecollection resource "services" in API group "" in the namespace "default"',
      details: { kind: 'services' },
    },
    {
      method: 'OPTIONS',
      url: '/api/v1/secrets',
      message: 'secrets is forbidden: User "alice" cannot  resource "secrets" in API group "" at the cluster scope',
      details: { kind: 'secrets' },
    },
    {
      url: '/api/v1/namespaces/%22q%22/secrets/%22n%22',
      message:
        'secrets "\\"n\\"" is forbidden: User "alice" cannot get resource "secrets" in API group "" in the namespace "\\"q\\""',
      details: { name: '"n"', kind: 'secrets' },
    },
    {
      url: '/api/v1/namespaces/a%3Cb%26c/pods/x/%3Clog%3E',
      message:
        'pods "x" is forbidden: User "alice" cannot get resource "pods/&lt;log&gt;" in API group "" in the namespace "a&lt;b&amp;c"',
      details: { name: 'x', kind: 'pods' },
    },
    { url: '/metrics', message: 'forbidden: User "alice" cannot get path "/metrics"', details: {} },
    { method: 'POST', url: '/api', message: 'forbidden: User "alice" cannot post path "/api"', details: {} },
    { url: '/a<b>', message: 'forbidden: User "alice" cannot get path "/a&lt;b&gt;"', details: {} },
  ];
  for (const { method = 'GET', url, message, details } of refusals) {
    test(`${method} ${url}`, async () => {
      const answer = await alice.ask(method, url, { body: {} });
      assert.equal(answer.status, 403);
      assert.equal(answer.body.reason, 'Forbidden');
      assert.equal(answer.headers['X-Content-Type-Options'], 'nosniff');
      assert.equal(answer.body.message, message);
      assert.deepEqual(answer.body.details, details);
    });
  }

  test('name bound roles that do not exist', async () => {
    for (const [name, roleRef] of Object.entries({
      'gone-1': { kind: 'ClusterRole', name: 'gone-1' },
      'gone-2': { kind: 'Role', name: 'gone-2' },
    })) {
      const body = { metadata: { name }, roleRef, subjects: [{ kind: 'User', name: 'bob' }] };
      await server.ask('POST', `${rbac}/namespaces/default/rolebindings`, { body });
    }
    const { body } = await server.as({ name: 'bob' }).ask('GET', '/api/v1/namespaces/default/secrets');
    assert.equal(
      body.message,
      'secrets is forbidden: User "bob" cannot list resource "secrets" in API group "" in the namespace "default": RBAC: [clusterrole.rbac.authorization.k8s.io "gone-1" not found, role.rbac.authorization.k8s.io "gone-2" not found]',
    );
  });
});

describe('requests without credentials', () => {
  const rows: readonly (readonly [url: string, status: number])[] = [
    ['/healthz', 200],
    ['/livez', 200],
    ['/readyz', 200],
    ['/version', 200],
    ['/readyz/ping', 403],
    ['/metrics', 403],
    ['/api', 403],
    ['/apis', 403],
    ['/openapi/v3', 403],
    ['/', 403],
    ['/api/v1/namespaces', 403],
    ['/nothing', 403],
  ];
  test('reach health and version with the default bindings', async () => {
    await using server = await testServer();
    const nobody = server.as({ name: 'system:anonymous' });
    for (const [url, status] of rows) assert.equal((await nobody.ask('GET', url)).status, status, url);
  });

  test('have the permissions of bindings for anonymous users', async () => {
    await using server = await testServer();
    const body = {
      metadata: { name: 'public' },
      roleRef: { kind: 'ClusterRole', name: 'system:discovery' },
      subjects: [{ kind: 'Group', name: 'system:unauthenticated' }],
    };
    await server.ask('POST', `${rbac}/clusterrolebindings`, { body });
    assert.equal((await server.as({ name: 'system:anonymous' }).ask('GET', '/api')).status, 200);
    await server.ask('DELETE', `${rbac}/clusterrolebindings/public`);
    assert.equal((await server.as({ name: 'system:anonymous' }).ask('GET', '/api')).status, 403);
  });
});

describe('a Secret is hidden', () => {
  const table = 'application/json;as=Table;v=v1;g=meta.k8s.io';
  const metadata = 'application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io';
  const metadataList = 'application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io';
  const place = '/api/v1/namespaces/default/secrets';
  const urls: readonly string[] = [
    place,
    `${place}/key`,
    `${place}?watch=true`,
    `${place}?watch`,
    `${place}?fieldSelector=metadata.name=key`,
    `${place}?fieldSelector=metadata.name=key&watch=1`,
    `${place}?limit=1`,
    `${place}?includeObject=Object`,
    `${place}?sendInitialEvents=true&watch=1&resourceVersionMatch=NotOlderThan`,
    `/api/v1/watch/namespaces/default/secrets/key`,
    `/api/v1/watch/namespaces/default/secrets`,
    `/api/v1/watch/secrets`,
    '/api/v1/secrets',
  ];

  test('from users who may only view', async () => {
    await using server = await testServer();
    const body = { metadata: { name: 'key' }, stringData: { password: 'hunter2' } };
    assert.equal((await server.ask('POST', place, { body })).status, 201);
    const view = { metadata: { name: 'view' }, roleRef: { kind: 'ClusterRole', name: 'view' } };
    await server.ask('POST', `${rbac}/clusterrolebindings`, {
      body: { ...view, subjects: [{ kind: 'User', name: 'viola' }] },
    });
    const viewer = server.as({ name: 'viola' });
    assert.equal((await viewer.ask('GET', '/api/v1/configmaps')).status, 200);
    for (const url of urls) {
      for (const accept of [undefined, table, metadata, metadataList]) {
        for (const method of ['GET', 'HEAD']) {
          const answer = await viewer.ask(method, url, accept === undefined ? {} : { accept });
          assert.equal(answer.status, 403, `${method} ${url} ${accept}`);
          assert.ok(!answer.text.includes('aHVudGVy') && !answer.text.includes('hunter2'), answer.text);
        }
      }
    }
  });

  test('from users who may read another Secret', async () => {
    await using server = await testServer();
    for (const name of ['mine', 'yours']) {
      await server.ask('POST', place, { body: { metadata: { name }, stringData: { for: name } } });
    }
    const rules = [
      { verbs: ['get', 'list', 'watch'], apiGroups: [''], resources: ['secrets'], resourceNames: ['mine'] },
    ];
    await grant(server, { user: 'sue', namespace: 'default', rules });
    const sue = server.as({ name: 'sue' });
    const one = await sue.ask('GET', `${place}?fieldSelector=metadata.name=mine`);
    assert.equal(one.status, 200);
    assert.deepEqual(
      one.body.items.map(({ metadata: { name } }: { metadata: { name: string } }) => name),
      ['mine'],
    );
    assert.equal((await sue.ask('GET', `${place}/mine`)).status, 200);
    const refused = [
      place,
      `${place}/yours`,
      `${place}?fieldSelector=metadata.name=yours`,
      `${place}?fieldSelector=metadata.name!=mine`,
      `${place}?fieldSelector=metadata.name=yours,metadata.name=mine`,
      `${place}?fieldSelector=type!=x\\,metadata.name\\=mine`,
      `${place}?fieldSelector=type!=x\\,metadata.name=mine`,
      `${place}?fieldSelector=&fieldSelector=metadata.name=mine`,
      `${place}?labelSelector=metadata.name=mine`,
      `${place}?watch=1&fieldSelector=metadata.name%3Dyours`,
      `/api/v1/secrets?fieldSelector=metadata.name=mine`,
    ];
    for (const url of refused) assert.equal((await sue.ask('GET', url)).status, 403, url);
    // Two different names match nothing.
    const both = await sue.ask('GET', `${place}?fieldSelector=metadata.name=mine,metadata.name=yours`);
    assert.deepEqual([both.status, both.body.items], [200, []]);
  });
});

describe('manipulated paths reach nothing', () => {
  // alice may read Services in `default`. Every path below targets Secrets or another namespace.
  const urls: readonly string[] = [
    '//api/v1/secrets',
    '/api//v1/secrets',
    '/api/v1//secrets',
    '/api/v1/namespaces//secrets',
    '/api/v1/namespaces/default//secrets',
    '/api/v1/./secrets',
    '/api/v1/services/../secrets',
    '/api/v1/namespaces/default/services/../secrets',
    '/api/v1/namespaces/default/services/..%2fsecrets%2fkey',
    '/api/v1/namespaces/default/services/%2e%2e/secrets/key',
    '/api/v1/namespaces/default%2fsecrets/key',
    '/api/v1/namespaces/default%2Fsecrets%2Fkey/services',
    '/api/v1/namespaces/kube-system%2f..%2fdefault/services',
    '/api/v1/namespaces/default%00/secrets',
    '/api/v1/%73ecrets',
    '/api/v1/namespaces/default/%73ecrets/key',
    '/%61pi/v1/secrets',
    '/api%2fv1/secrets',
    '/API/v1/secrets',
    '/api/V1/secrets',
    '/api/v1/Secrets',
    '/api/v1/namespaces/DEFAULT/secrets/key',
    '/api/v1/Namespaces/default/secrets/key',
    '/api/v1/secrets/',
    '/api/v1/secrets?x=/services',
    '/api/v1/secrets;services',
    '/api/v1/secrets#services',
    '/api/v1/namespaces/default/secrets/key/',
    '/apis//v1/secrets',
    '/apis/v1/secrets',
    '/apis/core/v1/secrets',
    '/healthz/../api/v1/secrets',
    '/healthz/%2e%2e/api/v1/secrets',
    '/version/../metrics',
    '/api/../metrics',
    '/api/%2e%2e/metrics',
    '/openapi/../metrics',
    '/metrics/',
    '/Metrics',
    '/%6detrics',
    'https://127.0.0.1/api/v1/secrets',
    'api/v1/secrets',
    '/api/v1/watch/watch/secrets',
    '/api/v1/proxy/namespaces/default/secrets/key',
    '/api/v1/redirect/secrets',
    '/api/v1/namespaces/default/services/web/secrets/key',
    '/api/v1/namespaces/kube-system/services',
    '/api/v1/services',
  ];

  test('for a user with one permission', async () => {
    await using server = await testServer();
    const secret = { metadata: { name: 'key' }, stringData: { password: 'hunter2' } };
    await server.ask('POST', '/api/v1/namespaces/default/secrets', { body: secret });
    const rules = [{ verbs: ['get', 'list', 'watch'], apiGroups: [''], resources: ['services'] }];
    await grant(server, { user: 'alice', namespace: 'default', rules });
    const alice = server.as({ name: 'alice' });
    assert.equal((await alice.ask('GET', '/api/v1/namespaces/default/services')).status, 200);
    for (const url of urls) {
      for (const method of ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'get', 'PROPFIND']) {
        const { status, text } = await alice.ask(method, url, { body: {} });
        assert.ok(status === 403 || status === 404 || status === 405, `${method} ${url}: ${status} ${text}`);
        assert.ok(!text.includes('aHVudGVy'), `${method} ${url}`);
      }
    }
    assert.equal((await server.ask('GET', '/api/v1/namespaces/default/secrets/key')).status, 200);
  });
});

describe('permissions follow roles and bindings', () => {
  test('immediately, and only in the namespace', async () => {
    await using server = await testServer();
    const rules = [{ verbs: ['get', 'list'], apiGroups: [''], resources: ['namespaces', 'configmaps'] }];
    await grant(server, { user: 'ned', namespace: 'default', rules });
    const ned = server.as({ name: 'ned' });
    const read = async (url: string): Promise<number> => (await ned.ask('GET', url)).status;
    assert.equal(await read('/api/v1/namespaces/default'), 200);
    assert.equal(await read('/api/v1/namespaces/kube-system'), 403);
    assert.equal(await read('/api/v1/namespaces'), 403);
    assert.equal(await read('/api/v1/namespaces/default/configmaps'), 200);
    assert.equal(await read('/api/v1/namespaces/kube-system/configmaps'), 403);
    assert.equal(await read('/api/v1/configmaps'), 403);
    const role = `${rbac}/namespaces/default/roles/ned-default`;
    await server.ask('PATCH', role, { body: { rules: [] }, type: 'application/merge-patch+json' });
    assert.equal(await read('/api/v1/namespaces/default'), 403);
    await server.ask('PATCH', role, { body: { rules }, type: 'application/merge-patch+json' });
    assert.equal(await read('/api/v1/namespaces/default'), 200);
    await server.ask('DELETE', `${rbac}/namespaces/default/rolebindings/ned-default`);
    assert.equal(await read('/api/v1/namespaces/default'), 403);
  });

  test('also for groups and service accounts, but not for users with similar names', async () => {
    await using server = await testServer();
    const subjects = [
      { kind: 'Group', name: 'ops' },
      { kind: 'ServiceAccount', name: 'robot' },
      { kind: 'ServiceAccount', name: 'robot', namespace: 'kube-public' },
    ];
    const body = { metadata: { name: 'all' }, subjects, roleRef: { kind: 'ClusterRole', name: 'view' } };
    await server.ask('POST', `${rbac}/namespaces/kube-system/rolebindings`, { body });
    const url = '/api/v1/namespaces/kube-system/services';
    const statusFor = async (name: string, groups: readonly string[] = []): Promise<number> =>
      (await server.as({ name, groups }).ask('GET', url)).status;
    assert.equal(await statusFor('anyone', ['ops']), 200);
    assert.equal(await statusFor('system:serviceaccount:kube-system:robot'), 200);
    assert.equal(await statusFor('system:serviceaccount:kube-public:robot'), 200);
    assert.equal(await statusFor('ops'), 403);
    assert.equal(await statusFor('robot'), 403);
    assert.equal(await statusFor('system:serviceaccount:default:robot'), 403);
    assert.equal(await statusFor('anyone', ['robot', 'Ops', 'system:serviceaccount:kube-system:robot']), 403);
  });
});
