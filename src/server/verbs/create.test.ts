import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';

import type { TestServer } from '../testing/server.ts';
import { testServer } from '../testing/server.ts';

const services = '/api/v1/namespaces/default/services';
const maps = '/api/v1/namespaces/default/configmaps';
const port = { ports: [{ port: 80 }] };

suite('a new object', () => {
  let server: TestServer;
  before(async () => {
    server = await testServer();
  });
  after(() => server[Symbol.asyncDispose]());

  test('gets its identity from the server, not from the client', async () => {
    const { status, body } = await server.ask('POST', maps, {
      body: {
        metadata: {
          name: 'mine',
          uid: 'chosen',
          creationTimestamp: '2001-01-01T00:00:00Z',
          deletionTimestamp: '2001-01-01T00:00:00Z',
          deletionGracePeriodSeconds: 5,
          selfLink: '/here',
        },
      },
      headers: { 'user-agent': 'tester/1.0 (linux)' },
    });
    assert.equal(status, 201);
    const { uid, creationTimestamp, resourceVersion, managedFields, ...rest } = body.metadata;
    assert.match(uid, /^[0-9a-f]{8}-/);
    assert.match(creationTimestamp, /^20[2-9]\d-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
    assert.equal(resourceVersion, String(server.context.watchCache.revision));
    assert.equal(managedFields, undefined, 'nothing of it is owned');
    assert.deepEqual(rest, { name: 'mine', namespace: 'default' });
  });

  test('has the field manager of the request, or the name in the User-Agent', async () => {
    const body = (name: string): object => ({ metadata: { name }, data: { k: 'v' } });
    const named = await server.ask('POST', `${maps}?fieldManager=me`, { body: body('managed-a') });
    const agent = await server.ask('POST', maps, { body: body('managed-b'), headers: { 'user-agent': 'tester/1.0' } });
    assert.equal(named.body.metadata.managedFields[0].manager, 'me');
    assert.equal(agent.body.metadata.managedFields[0].manager, 'tester');
    assert.deepEqual(agent.body.metadata.managedFields[0].fieldsV1, { 'f:data': { '.': {}, 'f:k': {} } });
  });

  test('has a generation if its kind has generations', async () => {
    const slice = await server.ask('POST', '/apis/discovery.k8s.io/v1/namespaces/default/endpointslices', {
      body: { metadata: { name: 'a', generation: 7 }, addressType: 'IPv4', endpoints: [] },
    });
    assert.equal(slice.body.metadata.generation, 1, slice.text);
    const service = await server.ask('POST', services, { body: { metadata: { name: 'gen' }, spec: port } });
    assert.equal(service.body.metadata.generation, undefined);
  });

  test('can be sent without kind and apiVersion', async () => {
    const { body } = await server.ask('POST', maps, { body: { metadata: { name: 'bare' } } });
    assert.deepEqual([body.kind, body.apiVersion], ['ConfigMap', 'v1']);
  });
});

suite('rejected objects, in the order of the checks', () => {
  let server: TestServer;
  before(async () => {
    server = await testServer();
    await server.ask('POST', services, { body: { metadata: { name: 'taken' }, spec: port } });
  });
  after(() => server[Symbol.asyncDispose]());

  const bad = { metadata: { name: 'Bad_Name' }, spec: port };
  const table: readonly [
    name: string,
    ask: { url?: string; body: unknown; type?: string },
    status: number,
    message: RegExp,
  ][] = [
    ['options before the body', { url: `${services}?dryRun=no`, body: '{' }, 422, /^CreateOptions/],
    ['the type of the body before the body', { body: '{', type: 'text/plain' }, 415, /unknown format/],
    ['a body that is not JSON', { body: '{' }, 400, /^the object provided is unrecognized \(must be of type Service\)/],
    ['an empty body', { body: '' }, 400, /must be of type Service|EOF/],
    [
      'another version',
      { body: { apiVersion: 'v2', kind: 'Service' } },
      400,
      /^Service in version "v2" cannot be handled as a Service: no kind "Service" is registered for version "v2"$/,
    ],
    ['another kind', { body: { apiVersion: 'v1', kind: 'Pod' } }, 400, /cannot be handled as a Service/],
    [
      'another namespace',
      { body: { metadata: { name: 'a', namespace: 'x' } } },
      400,
      /^the namespace of the provided object does not match/,
    ],
    [
      'an unknown namespace, before an invalid object',
      { url: '/api/v1/namespaces/absent/services', body: bad },
      404,
      /^namespaces "absent" not found$/,
    ],
    [
      'an invalid object',
      { body: bad },
      422,
      /^Service "Bad_Name" is invalid: metadata.name: Invalid value: "Bad_Name"/,
    ],
    ['no name', { body: { spec: port } }, 422, /metadata.name: Required value: name or generateName is required/],
    [
      'an invalid object before a name that is taken',
      { body: { metadata: { name: 'taken' }, spec: { ports: [{ port: 0 }] } } },
      422,
      /spec.ports\[0\].port/,
    ],
    [
      'a name that is taken',
      { body: { metadata: { name: 'taken' }, spec: port } },
      409,
      /^services "taken" already exists$/,
    ],
    [
      'a revision, after all other checks',
      { body: { metadata: { name: 'new', resourceVersion: '5' }, spec: port } },
      500,
      /^resourceVersion should not be set on objects to be created$/,
    ],
    [
      'an unknown field with fieldValidation=Strict',
      { url: `${services}?fieldValidation=Strict`, body: { metadata: { name: 'a' }, spec: { ...port, foo: 1 } } },
      400,
      /^Service in version "v1" cannot be handled as a Service: strict decoding error: unknown field "spec.foo"$/,
    ],
  ];
  for (const [name, { url = services, ...ask }, status, message] of table) {
    test(name, async () => {
      const answer = await server.ask('POST', url, ask);
      assert.equal(answer.status, status, answer.text);
      assert.match(answer.body.message, message);
    });
  }

  test('a body beyond 3 MiB', async () => {
    const { status, body } = await server.ask('POST', maps, { body: Buffer.alloc(3 * 1024 * 1024 + 1, 32) });
    assert.equal(status, 413);
    assert.equal(body.message, 'Request entity too large: limit is 3145728');
  });

  test('the name of a terminating object', async () => {
    await server.ask('POST', maps, { body: { metadata: { name: 'going', finalizers: ['example.org/a'] } } });
    await server.ask('DELETE', `${maps}/going`);
    const { status, body } = await server.ask('POST', maps, { body: { metadata: { name: 'going' } } });
    assert.equal(status, 409);
    assert.equal(body.message, 'object is being deleted: configmaps "going" already exists');
  });
});

test('a dry run ignores a revision, as in Kubernetes', async () => {
  await using server = await testServer();
  const body = { metadata: { name: 'new', resourceVersion: '5' } };
  assert.equal((await server.ask('POST', `${maps}?dryRun=All`, { body })).status, 201);
  assert.equal((await server.ask('POST', maps, { body })).status, 500);
});

suite('warnings', () => {
  test('list unknown and duplicate fields once each', async () => {
    await using server = await testServer();
    const text = '{"metadata":{"name":"a"},"data":{"k":"1","k":"2"},"foo":1,"bar":{}}';
    const { status, warnings } = await server.ask('POST', maps, { body: text });
    assert.equal(status, 201);
    assert.deepEqual(warnings, [
      '299 - "duplicate field \\"data.k\\""',
      '299 - "unknown field \\"foo\\""',
      '299 - "unknown field \\"bar\\""',
    ]);
    const ignored = await server.ask('POST', `${maps}?fieldValidation=Ignore&dryRun=All`, {
      body: text.replace('"a"', '"b"'),
    });
    assert.deepEqual(ignored.warnings, []);
  });

  test('report that Endpoints are deprecated, for lists too', async () => {
    await using server = await testServer();
    const item = await server.ask('GET', '/api/v1/namespaces/default/endpoints/kubernetes');
    assert.equal(item.warnings.length, 1);
    assert.match(
      item.warnings[0] ?? '',
      /^299 - "v1 Endpoints is deprecated in v1\.33\+; use discovery\.k8s\.io\/v1 EndpointSlice"$/,
    );
    assert.equal((await server.ask('GET', '/api/v1/endpoints')).warnings.length, 1);
  });
});

suite('generated names', () => {
  test('have the prefix and five characters', async () => {
    await using server = await testServer();
    const { status, body } = await server.ask('POST', maps, { body: { metadata: { generateName: 'web-' } } });
    assert.equal(status, 201);
    assert.match(body.metadata.name, /^web-[bcdfghjklmnpqrstvwxz2456789]{5}$/);
    assert.equal(body.metadata.generateName, 'web-');
    const long = await server.ask('POST', maps, { body: { metadata: { generateName: 'a'.repeat(80) } } });
    assert.equal(long.body.metadata.name.length, 63);
  });

  test('of namespaces are in their metadata.name label', async () => {
    await using server = await testServer();
    const { body } = await server.ask('POST', '/api/v1/namespaces', { body: { metadata: { generateName: 'e2e-' } } });
    assert.equal(body.metadata.labels['kubernetes.io/metadata.name'], body.metadata.name);
  });

  test('that are taken are generated again, eight times', async () => {
    await using server = await testServer();
    const context = server.context as { random: () => number };
    let drawn = 0;
    context.random = () => (drawn++ < 10 ? 0 : 0.5);
    const body = { metadata: { generateName: 'x-' } };
    const first = await server.ask('POST', maps, { body });
    const second = await server.ask('POST', maps, { body });
    assert.equal(first.body.metadata.name, 'x-bbbbb');
    assert.notEqual(second.body.metadata.name, first.body.metadata.name);
    drawn = 0;
    context.random = () => {
      drawn++;
      return 0;
    };
    const { status, body: failure } = await server.ask('POST', maps, { body });
    assert.equal(status, 409);
    assert.equal(
      failure.message,
      'configmaps "x-bbbbb" already exists, the server was not able to generate a unique name for the object',
    );
    assert.equal(failure.details.retryAfterSeconds, 1);
    assert.equal(drawn, 8 * 5);
  });
});
