import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';

import type { TestServer } from '../testing/server.ts';
import { testServer } from '../testing/server.ts';

let server: TestServer;
before(async () => {
  server = await testServer();
});
after(() => server[Symbol.asyncDispose]());

const aggregated = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList';

suite('documents', () => {
  const table: readonly [url: string, accept: string | undefined, want: object][] = [
    ['/api', undefined, { kind: 'APIVersions', versions: ['v1'] }],
    ['/apis', undefined, { kind: 'APIGroupList' }],
    ['/apis/', undefined, { kind: 'APIGroupList' }],
    ['/apis/discovery.k8s.io', undefined, { kind: 'APIGroup', name: 'discovery.k8s.io' }],
    ['/api/v1', undefined, { kind: 'APIResourceList', groupVersion: 'v1' }],
    ['/apis/discovery.k8s.io/v1', undefined, { kind: 'APIResourceList', groupVersion: 'discovery.k8s.io/v1' }],
    ['/apis', aggregated, { kind: 'APIGroupDiscoveryList', apiVersion: 'apidiscovery.k8s.io/v2' }],
    ['/api', `${aggregated},application/json`, { kind: 'APIGroupDiscoveryList' }],
    ['/apis', aggregated.replace('v2', 'v2beta1'), { apiVersion: 'apidiscovery.k8s.io/v2beta1' }],
    ['/apis', aggregated.replace('v=v2', 'v=v9'), { kind: 'APIGroupList' }],
    ['/openapi/v2', undefined, { swagger: '2.0' }],
  ];
  for (const [url, accept, want] of table) {
    test(`${url} ${accept ?? ''}`, async () => {
      const { status, body } = await server.ask('GET', url, accept === undefined ? {} : { accept });
      assert.equal(status, 200);
      assert.partialDeepStrictEqual(body, want);
    });
  }

  test('aggregated discovery has its own content type', async () => {
    const { headers } = await server.ask('GET', '/apis', { accept: aggregated });
    const parts = String(headers['Content-Type']).split(';');
    assert.deepEqual(parts.toSorted(), aggregated.split(';').toSorted());
  });

  test('/ lists the served paths in order', async () => {
    const { body } = await server.ask('GET', '/');
    assert.deepEqual(body.paths, body.paths.toSorted());
    for (const path of ['/api/v1', '/apis/discovery.k8s.io/v1', '/openapi/v3', '/readyz'])
      assert.ok(body.paths.includes(path));
  });

  test('/version has the fields that clients read', async () => {
    const { body } = await server.ask('GET', '/version');
    for (const field of [
      'major',
      'minor',
      'gitVersion',
      'gitCommit',
      'buildDate',
      'goVersion',
      'compiler',
      'platform',
    ]) {
      assert.equal(typeof body[field], 'string', field);
    }
  });
});

suite('caching', () => {
  for (const [url, accept] of [
    ['/apis', aggregated],
    ['/api/v1', 'application/json'],
    ['/openapi/v3', 'application/json'],
    ['/openapi/v2', 'application/json'],
  ] as const) {
    test(`${url} returns 304 for a known ETag`, async () => {
      const first = await server.ask('GET', url, { accept });
      const etag = String(first.headers['ETag']);
      assert.match(etag, /^"[0-9A-F]{64,}"$/);
      assert.equal(first.headers['Vary'], 'Accept');
      const again = await server.ask('GET', url, { accept, headers: { 'if-none-match': etag } });
      assert.deepEqual([again.status, again.text, again.headers['ETag']], [304, '', etag]);
      const other = await server.ask('GET', url, { accept, headers: { 'if-none-match': '"old"' } });
      assert.equal(other.status, 200);
    });
  }

  test('an OpenAPI document is immutable under its hash, and an old hash redirects to it', async () => {
    const { body: index } = await server.ask('GET', '/openapi/v3');
    const url: string = index.paths['apis/discovery.k8s.io/v1'].serverRelativeURL;
    const { status, headers, body } = await server.ask('GET', url);
    assert.equal(status, 200);
    assert.equal(body.openapi.slice(0, 2), '3.');
    assert.equal(headers['Cache-Control'], 'public, immutable');
    const expires = Date.parse(String(headers['Expires']));
    assert.ok(expires > Date.now() + 360 * 86_400_000);
    const moved = await server.ask('GET', url.replace(/hash=.*/, 'hash=OLD'));
    assert.deepEqual([moved.status, moved.headers['Location']], [301, url]);
    const bare = await server.ask('GET', url.replace(/\?.*/, ''));
    assert.equal(bare.headers['Cache-Control'], 'public');
    const missing = await server.ask('GET', '/openapi/v3/apis/example.org/v1');
    assert.deepEqual([missing.status, missing.text], [404, '']);
  });

  test('OpenAPI v2 in protobuf is empty, so that kubectl reports an unknown kind', async () => {
    const accept = 'application/com.github.proto-openapi.spec.v2@v1.0+protobuf';
    const { status, headers, text } = await server.ask('GET', '/openapi/v2', { accept });
    assert.equal(status, 200);
    assert.equal(headers['Content-Type'], accept.replace('@', '.'));
    assert.match(text, /2\.0.*Kubernetes/s);
  });
});
