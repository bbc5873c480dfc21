import assert from 'node:assert/strict';
import { suite, test } from 'node:test';

import type { TestServer } from '../../testing/server.ts';
import { testServer } from '../../testing/server.ts';
import type { Responder, TestWebhook } from '../../webhooks/testing/webhook.ts';
import { startWebhook } from '../../webhooks/testing/webhook.ts';

const configurations = '/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations';
const maps = '/api/v1/namespaces/default/configmaps';
const onMaps = { operations: ['*'], apiGroups: [''], apiVersions: ['v1'], resources: ['configmaps'] };

const patch = (...operations: readonly object[]): object => ({
  allowed: true,
  patchType: 'JSONPatch',
  patch: Buffer.from(JSON.stringify(operations)).toString('base64'),
});
const setLabel = (name: string, value: string): object =>
  patch({ op: 'add', path: '/metadata/labels', value: { [name]: value } });

const settings = (webhook: TestWebhook, more: object = {}): object => ({
  name: 'label.example.org',
  clientConfig: { url: webhook.url, caBundle: webhook.caBundle },
  rules: [onMaps],
  sideEffects: 'None',
  admissionReviewVersions: ['v1'],
  ...more,
});

async function configure(server: TestServer, webhooks: readonly object[], name = 'labels'): Promise<void> {
  const { status, text } = await server.ask('POST', configurations, { body: { metadata: { name }, webhooks } });
  assert.equal(status, 201, text);
}

const map = (name: string, more: object = {}): { readonly body: object } => ({ body: { metadata: { name }, ...more } });

suite('a mutating webhook', () => {
  test('changes objects that are created, updated and patched, before they are validated', async () => {
    await using webhook = await startWebhook(({ operation }) => setLabel('by', operation.toLowerCase()));
    await using server = await testServer();
    await configure(server, [settings(webhook)]);
    const created = await server.ask('POST', maps, map('a'));
    assert.deepEqual([created.status, created.body.metadata.labels], [201, { by: 'create' }]);
    const updated = await server.ask('PUT', `${maps}/a`, map('a', { data: { x: '1' } }));
    assert.deepEqual([updated.body.metadata.labels, updated.body.data], [{ by: 'update' }, { x: '1' }]);
    const [create] = webhook.requests;
    assert.equal(create.object.metadata.uid, undefined, 'as in Kubernetes, a new object has no UID yet');
    const invalid = await startWebhook(() => setLabel('by', 'not a label value'));
    await using _ = invalid;
    await configure(server, [settings(invalid, { name: 'second.example.org' })], 'z');
    assert.equal((await server.ask('POST', maps, map('b'))).status, 422);
  });

  test('cannot change the identity of an object', async () => {
    await using webhook = await startWebhook(() =>
      patch(
        { op: 'add', path: '/metadata/uid', value: 'mine' },
        { op: 'add', path: '/metadata/resourceVersion', value: '7' },
        { op: 'add', path: '/metadata/annotations', value: { seen: 'yes' } },
      ),
    );
    await using server = await testServer();
    await configure(server, [settings(webhook)]);
    const { body } = await server.ask('POST', maps, map('a'));
    assert.match(body.metadata.uid, /^[0-9a-f-]{36}$/);
    assert.deepEqual(body.metadata.annotations, { seen: 'yes' });
  });

  test('sees what earlier webhooks changed, and is called again after later changes if it asks for that', async () => {
    const calls: string[] = [];
    const respond =
      (name: string, answer: Responder): Responder =>
      (request) => {
        calls.push(`${name} ${Object.keys(request.object.data).sort().join()}`);
        return answer(request);
      };
    const add = (key: string): object => patch({ op: 'add', path: `/data/${key}`, value: '' });
    const once =
      (key: string): Responder =>
      ({ object }) =>
        key in object.data ? { allowed: true } : add(key);
    await using first = await startWebhook(respond('first', once('a')));
    await using second = await startWebhook(respond('second', once('b')));
    await using third = await startWebhook(respond('third', once('c')));
    await using server = await testServer();
    await configure(server, [
      settings(first, { name: 'first.example.org', reinvocationPolicy: 'IfNeeded' }),
      settings(second, { name: 'second.example.org' }),
      settings(third, { name: 'third.example.org', reinvocationPolicy: 'IfNeeded' }),
    ]);
    const { body } = await server.ask('POST', maps, map('a', { data: { z: '' } }));
    assert.deepEqual(Object.keys(body.data).sort(), ['a', 'b', 'c', 'z']);
    assert.deepEqual(calls, ['first z', 'second a,z', 'third a,b,z', 'first a,b,c,z']);
  });

  const failures: readonly { readonly name: string; readonly respond: Responder; readonly want: string }[] = [
    {
      name: 'a patch without a type',
      respond: () => ({ allowed: true, patch: Buffer.from('[{"op":"add","path":"/x","value":1}]').toString('base64') }),
      want: 'Internal error occurred: failed calling webhook "label.example.org": received invalid webhook response: webhook returned response.patch but not response.patchType',
    },
    {
      name: 'a patch that is not JSON',
      respond: () => ({ allowed: true, patchType: 'JSONPatch', patch: Buffer.from('{').toString('base64') }),
      want: 'Internal error occurred: failed calling webhook "label.example.org": received undecodable patch in webhook response: ',
    },
    {
      name: 'a patch of a field that does not exist',
      respond: () => patch({ op: 'remove', path: '/data/absent' }),
      want: 'Internal error occurred: ',
    },
    {
      name: 'a patch to a value of the wrong type',
      respond: () => patch({ op: 'add', path: '/data', value: 'text' }),
      want: 'Internal error occurred: ',
    },
    {
      name: 'a denial',
      respond: () => ({ allowed: false, status: { message: 'not today', code: 403 } }),
      want: 'admission webhook "label.example.org" denied the request: not today',
    },
  ];
  for (const { name, respond, want } of failures) {
    test(`fails the write and stores nothing after ${name}`, async () => {
      await using webhook = await startWebhook(respond);
      await using server = await testServer();
      await configure(server, [settings(webhook)]);
      const { status, body } = await server.ask('POST', maps, map('a'));
      assert.ok(status >= 400, String(status));
      assert.equal(String(body.message).slice(0, want.length), want);
      assert.equal((await server.ask('GET', `${maps}/a`)).status, 404);
    });
  }

  test('cannot change an object that is deleted', async () => {
    await using webhook = await startWebhook(() => setLabel('a', 'b'));
    await using server = await testServer();
    await server.ask('POST', maps, map('a'));
    await configure(server, [settings(webhook, { rules: [{ ...onMaps, operations: ['DELETE'] }] })]);
    const { status, body } = await server.ask('DELETE', `${maps}/a`);
    assert.deepEqual(
      [status, body.message],
      [
        500,
        'Internal error occurred: admission webhook "label.example.org" attempted to modify the object, which is not supported for this operation',
      ],
    );
  });

  test('that writes the object it reviews is stopped long before its timeout', async () => {
    await using server = await testServer();
    let nested = 0;
    await using webhook = await startWebhook(async () => {
      nested++;
      const { status } = await server.ask('POST', `${maps}?dryRun=All`, map('loop'));
      return { allowed: status === 201 };
    });
    await configure(server, [settings(webhook, { timeoutSeconds: 30 })]);
    const { status } = await server.ask('POST', maps, map('loop'));
    assert.equal(status, 400);
    assert.equal(nested, 16);
  });
});

suite('match conditions', () => {
  const conditions = (...expressions: readonly string[]): object => ({
    matchConditions: expressions.map((expression, index) => ({ name: `c${index}`, expression })),
  });
  const cases: readonly { readonly name: string; readonly expressions: readonly string[]; readonly called: boolean }[] =
    [
      { name: 'calls the webhook if all are true', expressions: ["object.metadata.name == 'a'", 'true'], called: true },
      {
        name: 'skips the webhook if one is false',
        expressions: ['true', "has(object.data) && 'x' in object.data"],
        called: false,
      },
      {
        name: 'lets a false condition decide where another fails',
        expressions: ['object.absent.x == 1', 'false'],
        called: false,
      },
      {
        name: 'read the request',
        expressions: [
          "request.operation == 'CREATE' && request.userInfo.username == 'alice' && request.namespace == 'default'",
        ],
        called: true,
      },
      { name: 'read the old object, which is null on create', expressions: ['oldObject == null'], called: true },
      {
        name: 'ask the authorizer',
        expressions: [
          "authorizer.group('').resource('configmaps').namespace('default').check('create').allowed()",
          "authorizer.requestResource.check('delete').allowed()",
          "!authorizer.serviceAccount('default', 'nobody').path('/metrics').check('get').allowed()",
        ],
        called: true,
      },
    ];
  for (const { name, expressions, called } of cases) {
    test(name, async () => {
      await using webhook = await startWebhook(() => setLabel('called', 'yes'));
      await using server = await testServer();
      await configure(server, [settings(webhook, conditions(...expressions))]);
      const alice = server.as({ name: 'alice', groups: ['system:masters'] });
      const { status, body, text } = await alice.ask('POST', maps, map('a'));
      assert.equal(status, 201, text);
      assert.deepEqual(body.metadata.labels, called ? { called: 'yes' } : undefined);
    });
  }

  test('that fail reject the write, or skip the webhook if failures are ignored', async () => {
    await using webhook = await startWebhook(() => setLabel('called', 'yes'));
    await using server = await testServer();
    await configure(server, [settings(webhook, conditions('object.absent == 1'))]);
    const { status, body } = await server.ask('POST', maps, map('a'));
    assert.deepEqual(
      [status, body.message],
      [403, `configmaps "a" is forbidden: expression 'object.absent == 1' resulted in error: no such key: absent`],
    );
    await server.ask('DELETE', `${configurations}/labels`);
    await configure(server, [settings(webhook, { ...conditions('object.absent == 1'), failurePolicy: 'Ignore' })]);
    assert.equal((await server.ask('POST', maps, map('a'))).body.metadata.labels, undefined);
  });

  test('that do not compile, or are no conditions, are rejected', async () => {
    await using webhook = await startWebhook(() => ({ allowed: true }));
    await using server = await testServer();
    const body = {
      metadata: { name: 'a' },
      webhooks: [settings(webhook, conditions('object.', '1 + 1', 'request.absent == 1'))],
    };
    const { status, text } = await server.ask('POST', configurations, { body });
    assert.equal(status, 422);
    assert.match(text, /webhooks\[0\]\.matchConditions\[0\]\.expression.*compilation failed/);
    assert.match(text, /matchConditions\[1\]\.expression: Invalid value: .*must evaluate to bool/);
    assert.match(text, /undefined field 'absent'/);
  });

  test('that cost too much reject the write at once', async () => {
    await using webhook = await startWebhook(() => ({ allowed: true }));
    await using server = await testServer();
    const list = 'object.data.list.split(",")';
    await configure(server, [settings(webhook, conditions(`${list}.all(a, ${list}.all(b, ${list}.all(c, true)))`))]);
    const data = { list: 'a,'.repeat(2_000) };
    const { status, text } = await server.ask('POST', maps, map('a', { data }));
    assert.equal(status, 403);
    assert.match(text, /running out of cost budget/);
  });
});
