// Webhooks and policies that review custom resources in another version than that of the request.
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';

import type { TestServer } from '../testing/server.ts';
import { testServer } from '../testing/server.ts';
import { until } from '../testing/until.ts';
import type { Responder, ReviewRequest, TestWebhook } from '../webhooks/testing/webhook.ts';
import { startWebhook } from '../webhooks/testing/webhook.ts';
import { answers, definition, group, install, url, v1, v2 } from './testing/hosts.ts';

const registration = '/apis/admissionregistration.k8s.io';
const inVersion = (version: string): object => ({
  operations: ['*'],
  apiGroups: [group],
  apiVersions: [version],
  resources: ['hosts'],
});

async function post(server: TestServer, path: string, body: object): Promise<void> {
  const { status, text } = await server.ask('POST', path, { body });
  assert.equal(status, 201, text);
}

const webhookOf = ({ url: at, caBundle }: TestWebhook, version: string, more: object = {}): object => ({
  name: `${version}.hosts.example.com`,
  clientConfig: { url: at, caBundle },
  rules: [inVersion(version)],
  sideEffects: 'None',
  admissionReviewVersions: ['v1'],
  ...more,
});

const configure = (server: TestServer, type: 'validating' | 'mutating', webhooks: readonly object[]): Promise<void> =>
  post(server, `${registration}/v1/${type}webhookconfigurations`, { metadata: { name: type }, webhooks });

/** Answers with a JSON patch of the object that is reviewed. */
const patches =
  (operations: (object: ReviewRequest) => readonly object[]): Responder =>
  ({ object }: ReviewRequest) => ({
    allowed: true,
    patchType: 'JSONPatch',
    patch: Buffer.from(JSON.stringify(operations(object))).toString('base64'),
  });

/** Runs with a server that has the custom resource; the webhooks of the other makers review it. */
async function withHosts(
  makers: readonly Responder[],
  run: (server: TestServer, webhooks: readonly TestWebhook[], conversion: TestWebhook) => Promise<void>,
): Promise<void> {
  await using stack = new AsyncDisposableStack();
  const conversion = stack.use(await startWebhook(answers));
  const webhooks: TestWebhook[] = [];
  for (const respond of makers) webhooks.push(stack.use(await startWebhook(respond)));
  const server = stack.use(await testServer({ gates: { MutatingAdmissionPolicy: true } }));
  await install(server, definition(conversion));
  await run(server, webhooks, conversion);
}

/** Waits until the server has received configurations and policies: then `isActive` is true for a new object. */
async function activated(server: TestServer, isActive: (object: ReviewRequest) => boolean): Promise<void> {
  await until('admission is active', async () => {
    const { body } = await server.ask('POST', `${url('v1')}?dryRun=All`, { body: v1('probe') });
    return isActive(body);
  });
}

const portOf = ({ spec }: ReviewRequest): string => spec.address.split(':')[1];

test('validating webhooks receive objects in the version of their rules', () =>
  withHosts([() => ({ allowed: true })], async (server, [webhook]) => {
    assert.ok(webhook);
    await configure(server, 'validating', [webhookOf(webhook, 'v2')]);
    await activated(server, () => webhook.requests.length > 0);
    const { object, kind, requestKind } = webhook.requests[0];
    assert.deepEqual([object.apiVersion, object.spec], [`${group}/v2`, { host: 'probe', port: '80' }]);
    assert.deepEqual([kind.version, requestKind.version], ['v2', 'v1']);
  }));

suite('mutating webhooks', () => {
  test('change objects in the version of their rules, on creation and on updates', () =>
    withHosts([patches(() => [{ op: 'replace', path: '/spec/port', value: '8443' }])], async (server, [webhook]) => {
      assert.ok(webhook);
      await configure(server, 'mutating', [webhookOf(webhook, 'v2')]);
      await activated(server, (object) => portOf(object) === '8443');
      const created = await server.ask('POST', url('v1'), { body: v1('a') });
      assert.equal(created.status, 201, created.text);
      assert.equal(created.body.apiVersion, `${group}/v1`);
      assert.equal(created.body.spec.address, 'a:8443');
      assert.match(created.body.metadata.uid, /./);
      const changed = { ...created.body, spec: { address: 'b:1', replicas: 2 } };
      const updated = await server.ask('PUT', url('v1', '/a'), { body: changed });
      assert.deepEqual(updated.body.spec, { address: 'b:8443', replicas: 2 });
      const { object, oldObject, requestKind } = webhook.requests.at(-1);
      assert.deepEqual([object.spec.port, oldObject.spec.port, requestKind.version], ['1', '8443', 'v1']);
      assert.deepEqual([object.apiVersion, oldObject.apiVersion], [`${group}/v2`, `${group}/v2`]);
      const patched = await server.ask('PATCH', url('v1', '/a'), {
        type: 'application/merge-patch+json',
        body: { spec: { address: 'c:5' } },
      });
      assert.deepEqual(patched.body.spec, { address: 'c:8443', replicas: 2 });
      assert.equal((await server.ask('GET', url('v2', '/a'))).body.spec.port, '8443');
    }));

  test('of two versions see the changes of each other', () =>
    withHosts(
      [
        patches(({ spec }) => [{ op: 'replace', path: '/spec/host', value: `${spec.host}-first` }]),
        patches(({ spec }) => [{ op: 'replace', path: '/spec/address', value: `${spec.address}1` }]),
        patches(({ spec }) => [{ op: 'replace', path: '/spec/host', value: `${spec.host}-third` }]),
      ],
      async (server, webhooks) => {
        const versions = ['v2', 'v1', 'v2'];
        const configured = webhooks.map((webhook, index) =>
          webhookOf(webhook, versions[index] ?? '', { name: `w${index}.hosts.example.com` }),
        );
        await configure(server, 'mutating', configured);
        await activated(server, ({ spec }) => spec.address !== 'probe:80');
        const { body } = await server.ask('POST', url('v1'), { body: v1('a') });
        assert.equal(body.spec.address, 'a-first-third:801');
        const other = await server.ask('POST', url('v2'), { body: v2('b') });
        assert.deepEqual(other.body.spec, { host: 'b-first-third', port: '801' });
      },
    ));

  test('with matchPolicy Exact are not called for other versions', () =>
    withHosts([patches(() => [{ op: 'replace', path: '/spec/port', value: '1' }])], async (server, [webhook]) => {
      assert.ok(webhook);
      await configure(server, 'mutating', [webhookOf(webhook, 'v2', { matchPolicy: 'Exact' })]);
      await until('the webhook is called', async () => {
        const { body } = await server.ask('POST', `${url('v2')}?dryRun=All`, { body: v2('probe') });
        return body.spec.port === '1';
      });
      const { body } = await server.ask('POST', url('v1'), { body: v1('a') });
      assert.equal(portOf(body), '80');
    }));

  test('fail the write while the conversion fails, whatever their failure policy', () =>
    withHosts([() => ({ allowed: true })], async (server, [webhook], conversion) => {
      assert.ok(webhook);
      await configure(server, 'mutating', [webhookOf(webhook, 'v2', { failurePolicy: 'Ignore' })]);
      await activated(server, () => webhook.requests.length > 0);
      await conversion[Symbol.asyncDispose]();
      const { status, body } = await server.ask('POST', url('v1'), { body: v1('a') });
      assert.equal(status, 500);
      assert.match(
        body.message,
        /^Internal error occurred: conversion webhook for conversion\.example\.com\/v1, Kind=Host failed: Post/,
      );
      assert.equal(
        (await server.ask('POST', '/api/v1/namespaces/default/configmaps', { body: { metadata: { name: 'a' } } }))
          .status,
        201,
      );
    }));
});

/** A policy that needs a conversion which fails. */
const failing = (
  type: 'validating' | 'mutating',
  bind: (server: TestServer, failurePolicy: string) => Promise<void>,
  message: RegExp,
): void => {
  for (const [failurePolicy, status] of [
    ['Ignore', 201],
    ['Fail', type === 'mutating' ? 403 : 422],
  ] as const) {
    test(`of the type ${type} with failurePolicy ${failurePolicy}, while the conversion fails: ${status}`, () =>
      withHosts([], async (server, _, conversion) => {
        await bind(server, failurePolicy);
        const calls = conversion.requests.length;
        await activated(server, () => conversion.requests.length > calls);
        await conversion[Symbol.asyncDispose]();
        const answer = await server.ask('POST', url('v1'), { body: v1('a') });
        assert.equal(answer.status, status, answer.text);
        if (status !== 201) assert.match(answer.body.message, message);
      }));
  }
};

suite('policies', () => {
  const bind = async (server: TestServer, type: 'validating' | 'mutating', spec: object): Promise<void> => {
    const base = `${registration}/${type === 'mutating' ? 'v1beta1' : 'v1'}/${type}admissionpolic`;
    const matchConstraints = { resourceRules: [inVersion('v2')] };
    await post(server, `${base}ies`, { metadata: { name: 'hosts' }, spec: { matchConstraints, ...spec } });
    const bound = { policyName: 'hosts', ...(type === 'validating' ? { validationActions: ['Deny'] } : {}) };
    await post(server, `${base}ybindings`, { metadata: { name: 'hosts' }, spec: bound });
  };

  test('validate objects in the version of their rules', () =>
    withHosts([], async (server) => {
      const expression = "object.spec.port != '23' && (oldObject == null || oldObject.spec.host == object.spec.host)";
      await bind(server, 'validating', { validations: [{ expression, message: 'no telnet, and no move' }] });
      const telnet = v1('a', { address: 'a:23' });
      await until('the policy is active', async () => {
        const { status } = await server.ask('POST', `${url('v1')}?dryRun=All`, { body: telnet });
        return status === 422;
      });
      const created = await server.ask('POST', url('v1'), { body: v1('a') });
      assert.equal(created.status, 201, created.text);
      const moved = { ...created.body, spec: { address: 'b:80' } };
      const { status, body } = await server.ask('PUT', url('v1', '/a'), { body: moved });
      assert.equal(status, 422, body.message);
      assert.match(body.message, /no telnet, and no move/);
    }));

  test('change objects in the version of their rules', () =>
    withHosts([], async (server) => {
      const expression = "Object{spec: Object.spec{port: object.spec.port + '43'}}";
      await bind(server, 'mutating', {
        mutations: [{ patchType: 'ApplyConfiguration', applyConfiguration: { expression } }],
        reinvocationPolicy: 'Never',
      });
      await activated(server, (object) => portOf(object) === '8043');
      const created = await server.ask('POST', url('v1'), { body: v1('a') });
      assert.deepEqual([created.body.apiVersion, created.body.spec.address], [`${group}/v1`, 'a:8043']);
      const updated = await server.ask('PUT', url('v1', '/a'), { body: { ...created.body, spec: { address: 'b:1' } } });
      assert.equal(updated.body.spec.address, 'b:143');
      assert.equal((await server.ask('GET', url('v2', '/a'))).body.spec.port, '143');
    }));

  failing(
    'validating',
    (server, failurePolicy) => bind(server, 'validating', { validations: [{ expression: 'true' }], failurePolicy }),
    /ValidatingAdmissionPolicy 'hosts' with binding 'hosts' denied request: failed to configure binding: failed to convert object version: conversion webhook for/,
  );
  const expression = 'Object{}';
  failing(
    'mutating',
    (server, failurePolicy) =>
      bind(server, 'mutating', {
        mutations: [{ patchType: 'ApplyConfiguration', applyConfiguration: { expression } }],
        reinvocationPolicy: 'Never',
        failurePolicy,
      }),
    /policy "hosts" denied request: failed to configure policy: conversion webhook for/,
  );
});
