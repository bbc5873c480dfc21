import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { suite, test } from 'node:test';

import type { TestServer } from '../../testing/server.ts';
import { testServer } from '../../testing/server.ts';
import type { Responder, TestWebhook } from '../../webhooks/testing/webhook.ts';
import { startWebhook } from '../../webhooks/testing/webhook.ts';

const configurations = '/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations';
const maps = '/api/v1/namespaces/default/configmaps';
const onMaps = { operations: ['*'], apiGroups: [''], apiVersions: ['v1'], resources: ['configmaps'] };
const name = 'policy.example.org';

const settings = (webhook: TestWebhook, more: object = {}): object => ({
  name,
  clientConfig: { url: webhook.url, caBundle: webhook.caBundle },
  rules: [onMaps],
  sideEffects: 'None',
  admissionReviewVersions: ['v1'],
  ...more,
});

async function configure(server: TestServer, ...webhooks: readonly object[]): Promise<void> {
  const { status, text } = await server.ask('POST', configurations, {
    body: { metadata: { name: 'policy' }, webhooks },
  });
  assert.equal(status, 201, text);
}

const allow: Responder = () => ({ allowed: true });
const map = (named: string, more: object = {}): { readonly body: object } => ({
  body: { metadata: { name: named }, ...more },
});

suite('a webhook', () => {
  test('receives creations, updates and deletions with all their attributes', async () => {
    await using webhook = await startWebhook(allow);
    await using server = await testServer();
    await configure(server, settings(webhook));
    const alice = server.as({ name: 'alice', groups: ['system:masters'] });
    await alice.ask('POST', `${maps}?dryRun=All&fieldManager=me`, map('a', { data: { a: 'b' } }));
    await alice.ask('POST', maps, map('a'));
    await alice.ask('PATCH', `${maps}/a`, { body: { data: { a: 'c' } }, type: 'application/merge-patch+json' });
    await alice.ask('DELETE', `${maps}/a`, { body: { propagationPolicy: 'Background' } });
    const [dry, create, update, deletion, ...more] = webhook.requests;
    assert.equal(more.length, 0);
    const { uid, object, ...rest } = dry;
    assert.match(uid, /^[0-9a-f-]{36}$/);
    assert.deepEqual([object.kind, object.apiVersion, object.data], ['ConfigMap', 'v1', { a: 'b' }]);
    assert.deepEqual(rest, {
      url: '/check?timeout=10s',
      host: `127.0.0.1:${webhook.port}`,
      kind: { group: '', version: 'v1', kind: 'ConfigMap' },
      resource: { group: '', version: 'v1', resource: 'configmaps' },
      requestKind: { group: '', version: 'v1', kind: 'ConfigMap' },
      requestResource: { group: '', version: 'v1', resource: 'configmaps' },
      name: 'a',
      namespace: 'default',
      operation: 'CREATE',
      userInfo: { username: 'alice', groups: ['system:masters', 'system:authenticated'] },
      oldObject: null,
      dryRun: true,
      options: { kind: 'CreateOptions', apiVersion: 'meta.k8s.io/v1', dryRun: ['All'], fieldManager: 'me' },
    });
    assert.equal(create.dryRun, false);
    assert.deepEqual([update.operation, update.object.data, update.oldObject.data], ['UPDATE', { a: 'c' }, undefined]);
    assert.equal(update.options.kind, 'UpdateOptions');
    assert.deepEqual([deletion.operation, deletion.object, deletion.oldObject.data], ['DELETE', null, { a: 'c' }]);
    assert.deepEqual(deletion.options, {
      kind: 'DeleteOptions',
      apiVersion: 'meta.k8s.io/v1',
      propagationPolicy: 'Background',
    });
    assert.equal(webhook.connections(), 1, 'one connection for all');
  });

  test('is called at a path without the repeated slashes that envtest configures', async () => {
    await using webhook = await startWebhook(allow);
    await using server = await testServer();
    const url = `https://127.0.0.1:${webhook.port}//check//now/`;
    await configure(server, settings(webhook, { clientConfig: { url, caBundle: webhook.caBundle } }));
    assert.equal((await server.ask('POST', maps, map('a'))).status, 201);
    assert.equal(webhook.requests[0]?.url, '/check/now?timeout=10s');
  });

  test('adds warnings to allowed and denied requests', async () => {
    await using webhook = await startWebhook(({ dryRun }) => ({ allowed: dryRun, warnings: ['be careful'] }));
    await using server = await testServer();
    await configure(server, settings(webhook));
    assert.deepEqual((await server.ask('POST', `${maps}?dryRun=All`, map('a'))).warnings, ['299 - "be careful"']);
    assert.deepEqual((await server.ask('POST', maps, map('a'))).warnings, ['299 - "be careful"']);
  });

  test('fails the write if its response exceeds 3 MiB', async () => {
    await using webhook = await startWebhook(() => ({ body: { filler: 'x'.repeat(4 << 20) } }));
    await using server = await testServer();
    await configure(server, settings(webhook));
    const { status, body } = await server.ask('POST', maps, map('a'));
    assert.equal(status, 500);
    assert.match(String(body.message), /the response is longer than 3145728 bytes$/);
  });

  test('cannot delay a write into a namespace that is deleted meanwhile', async () => {
    await using server = await testServer();
    await server.ask('POST', '/api/v1/namespaces', map('brief'));
    await using webhook = await startWebhook(async () => {
      await server.ask('DELETE', '/api/v1/namespaces/brief');
      return { allowed: true };
    });
    await configure(server, settings(webhook));
    const { status, body } = await server.ask('POST', '/api/v1/namespaces/brief/configmaps', map('a'));
    assert.deepEqual([status, body.message], [404, 'namespaces "brief" not found']);
  });

  test('receives and can deny the deletion of each object of a collection', async () => {
    await using webhook = await startWebhook(({ operation, name: named }) => ({
      allowed: operation !== 'DELETE' || named !== 'a',
    }));
    await using server = await testServer();
    await configure(server, settings(webhook));
    for (const named of ['a', 'b']) await server.ask('POST', maps, map(named));
    assert.equal((await server.ask('DELETE', `${maps}?fieldSelector=metadata.name!=kube-root-ca.crt`)).status, 400);
    assert.equal((await server.ask('GET', `${maps}/a`)).status, 200);
  });

  test('receives the object in the version of its rule', async () => {
    await using webhook = await startWebhook(allow);
    await using server = await testServer();
    const rule = { apiGroups: ['multicluster.x-k8s.io'], apiVersions: ['v1alpha1'], resources: ['serviceexports'] };
    await configure(server, settings(webhook, { rules: [{ ...onMaps, ...rule }] }));
    await server.ask('POST', '/apis/multicluster.x-k8s.io/v1beta1/namespaces/default/serviceexports', {
      body: { kind: 'ServiceExport', apiVersion: 'multicluster.x-k8s.io/v1beta1', metadata: { name: 'a' } },
    });
    const [{ kind, requestKind, object }] = webhook.requests;
    assert.deepEqual([kind.version, requestKind.version], ['v1alpha1', 'v1beta1']);
    assert.equal(object.apiVersion, 'multicluster.x-k8s.io/v1alpha1');
  });

  test('receives the Scale that a write of the subresource changes', async () => {
    await using webhook = await startWebhook(allow);
    await using server = await testServer();
    const rule = { operations: ['UPDATE'], apiGroups: ['apps'], apiVersions: ['v1'], resources: ['deployments/scale'] };
    await configure(server, settings(webhook, { rules: [rule] }));
    const template = { metadata: { labels: { app: 'a' } }, spec: { containers: [{ name: 'a', image: 'a' }] } };
    const spec = { replicas: 1, selector: { matchLabels: { app: 'a' } }, template };
    const deployments = '/apis/apps/v1/namespaces/default/deployments';
    await server.ask('POST', deployments, { body: { metadata: { name: 'a' }, spec } });
    await server.ask('PATCH', `${deployments}/a/scale`, {
      type: 'application/merge-patch+json',
      body: { spec: { replicas: 3 } },
    });
    const [{ kind, resource, subResource, object, oldObject }] = webhook.requests;
    assert.deepEqual(
      [kind, resource, subResource],
      [
        { group: 'autoscaling', version: 'v1', kind: 'Scale' },
        { group: 'apps', version: 'v1', resource: 'deployments' },
        'scale',
      ],
    );
    assert.deepEqual(
      [object.kind, object.spec.replicas, oldObject.kind, oldObject.spec.replicas],
      ['Scale', 3, 'Scale', 1],
    );
  });

  test('never receives webhook configurations or writes of the server itself', async () => {
    await using webhook = await startWebhook(() => ({ allowed: false }));
    await using server = await testServer();
    const everything = { ...onMaps, apiGroups: ['*'], apiVersions: ['*'], resources: ['*/*'] };
    const besides = { namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'shop' } } };
    await configure(server, settings(webhook, { rules: [everything], ...besides }));
    assert.equal((await server.ask('GET', `${configurations}/policy`)).status, 200);
    const { status } = await server.ask('POST', '/api/v1/namespaces', map('other'));
    assert.equal(status, 201);
    assert.equal(webhook.requests.length, 0);
    assert.equal((await server.ask('DELETE', `${configurations}/policy`)).status, 200);
    assert.equal(webhook.requests.length, 0);
  });

  test('behind a Service is called at an endpoint under the name of the Service', async () => {
    await using webhook = await startWebhook(allow, ['policy.default.svc']);
    await using server = await testServer({ loopbackEndpoints: ['127.0.0.0/8'] });
    const service = { namespace: 'default', name: 'policy', path: '/check' };
    await configure(server, settings(webhook, { clientConfig: { service, caBundle: webhook.caBundle } }));
    const failed =
      'Internal error occurred: failed calling webhook "policy.example.org": failed to call webhook: Post "https://policy.default.svc:443/check?timeout=10s":';
    const messages = async (): Promise<string> => (await server.ask('POST', maps, map('a'))).body.message;
    assert.equal(await messages(), `${failed} service "policy" not found`);
    await server.ask(
      'POST',
      '/api/v1/namespaces/default/services',
      map('policy', { spec: { ports: [{ port: 443 }] } }),
    );
    assert.equal(await messages(), `${failed} no endpoints available for service "policy"`);
    await server.ask('POST', '/apis/discovery.k8s.io/v1/namespaces/default/endpointslices', {
      body: {
        metadata: { name: 'policy-1', labels: { 'kubernetes.io/service-name': 'policy' } },
        addressType: 'IPv4',
        endpoints: [{ addresses: ['127.0.0.1'] }],
        ports: [{ name: '', port: webhook.port }],
      },
    });
    assert.equal((await server.ask('POST', maps, map('a'))).status, 201);
    assert.equal(webhook.requests[0].host, 'policy.default.svc');
  });
});

suite('a denial has the message of Kubernetes', () => {
  const denied = 'admission webhook "policy.example.org" denied the request';
  const table: readonly { readonly name: string; readonly answer: object; readonly want: readonly unknown[] }[] = [
    { name: 'without a reason', answer: {}, want: [400, undefined, `${denied} without explanation`] },
    {
      name: 'with a message',
      answer: { status: { message: 'no names with a', code: 403, reason: 'Forbidden' } },
      want: [403, 'Forbidden', `${denied}: no names with a`],
    },
    {
      name: 'with a reason and an invalid code',
      answer: { status: { reason: 'Because', code: 200 } },
      want: [400, 'Because', `${denied}: Because`],
    },
  ];
  for (const { name: named, answer, want } of table) {
    test(named, async () => {
      await using webhook = await startWebhook(() => ({ allowed: false, ...answer }));
      await using server = await testServer();
      await configure(server, settings(webhook));
      const { status, body } = await server.ask('POST', maps, map('a'));
      assert.deepEqual([status, body.reason, body.message], want);
      assert.equal((await server.ask('GET', `${maps}/a`)).status, 404);
    });
  }
});

suite('a failed webhook call', () => {
  const called = 'Internal error occurred: failed calling webhook "policy.example.org":';
  const table: readonly { readonly name: string; readonly answer: Responder; readonly want: RegExp }[] = [
    {
      name: 'status 500',
      answer: () => ({ body: 'out of order', status: 500 }),
      want: /failed to call webhook: an error on the server \("\\"out of order\\""\) has prevented the request from succ/,
    },
    {
      name: 'status 404',
      answer: () => ({ body: '', status: 404 }),
      want: /failed to call webhook: the server could not find the requested resource$/,
    },
    {
      name: 'no response in the review',
      answer: () => ({ body: {} }),
      want: /received invalid webhook response: webhook response was absent$/,
    },
    {
      name: 'another UID',
      answer: () => ({ uid: 'x', allowed: true }),
      want: /received invalid webhook response: expected response.uid="[-0-9a-f]+", got "x"$/,
    },
    {
      name: 'a patch',
      answer: () => ({ allowed: true, patch: 'W10=', patchType: 'JSONPatch' }),
      want: /received invalid webhook response: validating webhook may not return response.patch$/,
    },
    {
      name: 'no reply',
      answer: () => new Promise<never>(() => undefined),
      want: /failed to call webhook: Post "https:\/\/127.0.0.1:\d+\/check\?timeout=1s": context deadline exceeded$/,
    },
  ];
  for (const { name: named, answer, want } of table) {
    test(`with ${named} rejects the write with Fail and allows it with Ignore`, async () => {
      await using webhook = await startWebhook(answer);
      await using server = await testServer();
      await configure(server, settings(webhook, { timeoutSeconds: 1 }));
      const { status, body } = await server.ask('POST', maps, map('a'));
      assert.equal(status, 500);
      assert.ok(body.message.startsWith(called), body.message);
      assert.match(body.message, want);
      const webhooks = [settings(webhook, { timeoutSeconds: 1, failurePolicy: 'Ignore' })];
      await server.ask('PATCH', `${configurations}/policy`, {
        body: { webhooks },
        type: 'application/merge-patch+json',
      });
      assert.equal((await server.ask('POST', maps, map('a'))).status, 201);
      const { text } = await server.ask('GET', '/metrics');
      assert.match(
        text,
        /apiserver_admission_webhook_fail_open_count\{name="policy.example.org",type="validating"\} 1/,
      );
      assert.match(text, /rejection_count\{.*error_type="calling_webhook_error",rejection_code="400"\} 1/);
    });
  }

  test('to a closed port is reported', async () => {
    await using webhook = await startWebhook(allow);
    await using server = await testServer();
    const closed = createServer().listen(0, '127.0.0.1');
    await once(closed, 'listening');
    const { port } = closed.address() as AddressInfo;
    closed.close();
    await configure(server, settings(webhook, { clientConfig: { url: `https://127.0.0.1:${port}` } }));
    const { body } = await server.ask('POST', maps, map('a'));
    const why = `Post "https://127.0.0.1:${port}/?timeout=10s": dial tcp 127.0.0.1:${port}: connect: connection refused`;
    assert.equal(body.message, `${called} failed to call webhook: ${why}`);
  });

  test('with an expired certificate is reported, and other webhooks and writes continue', async () => {
    await using expired = await startWebhook(allow, [], { now: new Date(Date.now() - 48 * 3_600_000), days: 1 });
    await using webhook = await startWebhook(allow);
    await using server = await testServer();
    await configure(server, settings(expired), settings(webhook, { name: 'second.example.org' }));
    const { status, body } = await server.ask('POST', maps, map('a'));
    assert.equal(status, 500);
    assert.match(
      body.message,
      /failed to call webhook: Post "[^"]+": tls: failed to verify certificate: x509: certificate has expired or is not yet valid/,
    );
    const secret = { body: { metadata: { name: 'a' } } };
    assert.equal((await server.ask('POST', '/api/v1/namespaces/default/secrets', secret)).status, 201);
    assert.equal((await server.ask('DELETE', `${configurations}/policy`)).status, 200);
    assert.equal((await server.ask('POST', maps, map('a'))).status, 201);
  });

  test('with a certificate of another authority is reported', async () => {
    await using webhook = await startWebhook(allow);
    await using server = await testServer();
    await configure(server, settings(webhook, { clientConfig: { url: webhook.url } }));
    const { body } = await server.ask('POST', maps, map('a'));
    assert.match(body.message, /: tls: failed to verify certificate: x509: certificate signed by unknown authority$/);
  });
});

test('calls several webhooks concurrently, and one denial is enough', async () => {
  const both = Promise.withResolvers<void>();
  let waiting = 0;
  const together: Responder = (async () => {
    if (++waiting === 2) both.resolve();
    await both.promise;
    return { allowed: waiting < 2 };
  }) as unknown as Responder;
  await using webhook = await startWebhook(together);
  await using server = await testServer();
  await configure(server, settings(webhook), settings(webhook, { name: 'second.example.org' }));
  const { status, body } = await server.ask('POST', maps, map('a'));
  assert.equal(status, 400);
  assert.match(body.message, /^admission webhook "policy.example.org" denied the request without explanation$/);
  const { text } = await server.ask('GET', '/metrics');
  assert.match(text, /webhook_rejection_count\{.*operation="CREATE",error_type="no_error",rejection_code="400"\} 1/);
});
