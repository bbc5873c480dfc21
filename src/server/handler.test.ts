import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';

import type { TestServer } from './testing/server.ts';
import { testServer } from './testing/server.ts';

let server: TestServer;
before(async () => {
  server = await testServer();
});
after(() => server[Symbol.asyncDispose]());

const missing = 'the server could not find the requested resource';
const refused = 'the server does not allow this method on the requested resource';

suite('paths and methods', () => {
  const table: readonly [request: string, status: number, message?: string][] = [
    ['GET /api/v1/services', 200],
    ['GET /api/v1/namespaces/default/services', 200],
    ['GET /api/v1/namespaces/default/services/kubernetes', 200],
    ['GET /api/v1/namespaces/default/services/kubernetes/status', 200],
    ['GET /api/v1/namespaces/default/services/kubernetes?watch=1', 200],
    ['GET /api/v1/namespaces/absent/services', 200],
    ['GET /api/v1/namespaces/absent/services/web', 404, 'services "web" not found'],
    ['GET /apis/coordination.k8s.io/v1/namespaces/default/leases/a', 404, 'leases.coordination.k8s.io "a" not found'],

    // Unknown paths: a Status within a known group, plain text elsewhere.
    ['GET /api/v1/foos', 404, missing],
    ['GET /api/v2', 404, missing],
    ['GET /apis/discovery.k8s.io/v1/foos', 404, missing],
    ['GET /apis/discovery.k8s.io/v9', 404, missing],
    ['GET /apis/example.org/v1/foos', 404],
    ['GET /apis/example.org/v1', 404],
    ['GET /foo', 404],
    ['GET //api/v1/services', 404],

    // Paths of namespaced objects contain the namespace, others do not.
    ['GET /api/v1/services/kubernetes', 404, missing],
    ['GET /api/v1/services/kubernetes/status', 404, missing],
    ['GET /api/v1/namespaces/default/nodes', 404, missing],
    ['GET /api/v1/namespaces/default/namespaces/default', 404, missing],

    // Subresources.
    ['GET /api/v1/namespaces/default/services/kubernetes/scale', 404, missing],
    ['GET /api/v1/namespaces/default/endpoints/kubernetes/status', 404, missing],
    ['POST /api/v1/namespaces/default/services/kubernetes/status', 405, refused],
    ['DELETE /api/v1/namespaces/default/services/kubernetes/status', 405, refused],
    ['GET /api/v1/namespaces/default/finalize', 405, refused],

    // Methods that the path does not support.
    ['PUT /api/v1/namespaces/default/services', 405, refused],
    ['PATCH /api/v1/namespaces/default/services', 405, refused],
    ['POST /api/v1/namespaces/default/services/web', 405, refused],
    ['POST /api/v1/services', 405, refused],
    ['DELETE /api/v1/services', 405, refused],
    ['DELETE /api/v1/namespaces', 405, refused],
    ['OPTIONS /api/v1/services', 405, refused],
    ['POST /api/v1/watch/services', 405, refused],
    ['POST /version', 405, refused],
    ['DELETE /apis', 405, refused],

    // `?timeout=` is a duration.
    ['GET /api/v1/services?timeout=', 200],
    ['GET /api/v1/services?timeout=1m30s', 200],
    ['GET /api/v1/services?timeout=0', 200],
    [
      'GET /api/v1/services?timeout=soon',
      400,
      'invalid timeout specified in the request URL - time: invalid duration "soon"',
    ],
  ];
  for (const [request, status, message] of table) {
    test(request, async () => {
      const [method = '', url = ''] = request.split(' ');
      const answer = await server.ask(method, url);
      assert.equal(answer.status, status, answer.text);
      if (message !== undefined) assert.equal(answer.body.message, message);
      else if (status === 404) assert.equal(answer.text, '404 page not found\n');
    });
  }
});

test('every reply has an Audit-Id: the one of the client, or a new one', async () => {
  const own = await server.ask('GET', '/version', { headers: { 'audit-id': 'mine' } });
  assert.equal(own.headers['Audit-Id'], 'mine');
  const [one, other] = [await server.ask('GET', '/version'), await server.ask('GET', '/nothing')];
  assert.match(String(one.headers['Audit-Id']), /^[0-9a-f-]{36}$/);
  assert.notEqual(one.headers['Audit-Id'], other.headers['Audit-Id']);
});

test('replies with objects forbid caching', async () => {
  for (const url of ['/api/v1/namespaces/default', '/api/v1/namespaces', '/api/v1/namespaces/absent']) {
    assert.equal((await server.ask('GET', url)).headers['Cache-Control'], 'no-cache, private', url);
  }
});

suite('pretty output', () => {
  const table: readonly [given: { url: string; agent?: string }, pretty: boolean][] = [
    [{ url: '' }, false],
    [{ url: '?pretty=true' }, true],
    [{ url: '', agent: 'curl/8.1' }, true],
    [{ url: '', agent: 'Mozilla/5.0 (X11)' }, true],
    [{ url: '?pretty=false', agent: 'curl/8.1' }, false],
    [{ url: '', agent: 'kubectl/v1.33' }, false],
  ];
  for (const [{ url, agent = '' }, pretty] of table) {
    test(`${url || 'no pretty'} ${agent}`, async () => {
      const { text } = await server.ask('GET', `/api/v1/namespaces/default${url}`, {
        headers: { 'user-agent': agent },
      });
      assert.equal(text.startsWith('{\n  "kind"'), pretty, text.slice(0, 40));
      assert.ok(text.endsWith('\n'));
    });
  }
});

test('returns a 500 without the stack for an unexpected error', async () => {
  await using broken = await testServer();
  const { watchCache } = broken.context;
  watchCache.of = () => {
    throw new Error('out of luck');
  };
  const { status, body } = await broken.ask('POST', '/api/v1/namespaces/default/configmaps', {
    body: { metadata: { name: 'a' } },
  });
  assert.equal(status, 500);
  assert.deepEqual(body, {
    kind: 'Status',
    apiVersion: 'v1',
    metadata: {},
    status: 'Failure',
    message: 'Internal error occurred: out of luck',
    reason: 'InternalError',
    details: { causes: [{ message: 'out of luck' }] },
    code: 500,
  });
});

test('returns a 503 with Retry-After when the store is not writable', async () => {
  const { openMemoryStore } = await import('../store/memory/memory.ts');
  const store = openMemoryStore();
  await using closing = await testServer({ store });
  await store.close();
  const { status, body, headers } = await closing.ask('POST', '/api/v1/namespaces/default/configmaps', {
    body: { metadata: { name: 'a' } },
  });
  assert.equal(status, 503);
  assert.equal(body.reason, 'ServiceUnavailable');
  assert.equal(headers['Retry-After'], '1');
});
