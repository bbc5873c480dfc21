import assert from 'node:assert/strict';
import { suite, test } from 'node:test';

import type { TestServer } from '../testing/server.ts';
import { testServer } from '../testing/server.ts';
import { startWebhook } from '../webhooks/testing/webhook.ts';

const group = '/apis/admissionregistration.k8s.io/v1';
const pod = '/api/v1/namespaces/default/pods/web';
const onConnect = (...resources: readonly string[]): object => ({
  operations: ['CONNECT'],
  apiGroups: [''],
  apiVersions: ['v1'],
  resources,
});

async function post(server: TestServer, path: string, body: object): Promise<void> {
  const { status, text } = await server.ask('POST', path, { body });
  assert.equal(status, 201, text);
}

suite('CONNECT', () => {
  test('is reviewed by webhooks with the options of the stream, before the Pod is looked up', async () => {
    await using webhook = await startWebhook(() => ({ allowed: false, status: { message: 'no shells' } }));
    await using server = await testServer();
    await post(server, `${group}/validatingwebhookconfigurations`, {
      metadata: { name: 'w' },
      webhooks: [
        {
          name: 'w.example.org',
          clientConfig: { url: webhook.url, caBundle: webhook.caBundle },
          rules: [onConnect('pods/*', 'nodes/proxy', 'services/proxy')],
          sideEffects: 'None',
          admissionReviewVersions: ['v1'],
        },
      ],
    });
    const alice = server.as({ name: 'alice', groups: ['system:masters'] });
    const query = 'command=sh&command=-c&container=main&stdin=true&tty=1';
    const { status, body } = await alice.ask('POST', `${pod}/exec?${query}`);
    assert.deepEqual([status, body.message], [400, 'admission webhook "w.example.org" denied the request: no shells']);
    const [{ uid: _uid, url: _url, host: _host, ...request }] = webhook.requests;
    assert.deepEqual(request, {
      kind: { group: '', version: 'v1', kind: 'PodExecOptions' },
      resource: { group: '', version: 'v1', resource: 'pods' },
      subResource: 'exec',
      requestKind: { group: '', version: 'v1', kind: 'PodExecOptions' },
      requestResource: { group: '', version: 'v1', resource: 'pods' },
      requestSubResource: 'exec',
      name: 'web',
      namespace: 'default',
      operation: 'CONNECT',
      userInfo: { username: 'alice', groups: ['system:masters', 'system:authenticated'] },
      object: {
        kind: 'PodExecOptions',
        apiVersion: 'v1',
        stdin: true,
        tty: true,
        container: 'main',
        command: ['sh', '-c'],
      },
      oldObject: null,
      dryRun: false,
      options: null,
    });
    const targets = [
      [`${pod}/attach?stdout=true`, { kind: 'PodAttachOptions', apiVersion: 'v1', stdout: true }],
      [`${pod}/portforward?ports=80,81`, { kind: 'PodPortForwardOptions', apiVersion: 'v1', ports: [80, 81] }],
      [`${pod}/proxy/a/b`, { kind: 'PodProxyOptions', apiVersion: 'v1', path: '/a/b' }],
      ['/api/v1/nodes/n/proxy/metrics', { kind: 'NodeProxyOptions', apiVersion: 'v1', path: '/metrics' }],
      ['/api/v1/namespaces/default/services/s:80/proxy/', { kind: 'ServiceProxyOptions', apiVersion: 'v1', path: '/' }],
    ] as const;
    for (const [url, object] of targets) {
      assert.equal((await server.ask('POST', url)).status, 400, url);
      assert.deepEqual(webhook.requests.at(-1).object, object);
    }
    assert.equal((await server.ask('GET', `${pod}/log`)).status, 404, 'reading a log is not a connection');
  });

  test('is evaluated by validating and mutating policies', async () => {
    await using server = await testServer({ gates: { MutatingAdmissionPolicy: true } });
    const matchConstraints = { resourceRules: [onConnect('pods/exec')] };
    await post(server, `${group}/validatingadmissionpolicies`, {
      metadata: { name: 'p' },
      spec: {
        matchConstraints,
        validations: [
          {
            expression: "object.command[0] != 'sh' && request.operation == 'CONNECT'",
            messageExpression: "'not ' + object.command[0] + ' in ' + object.container",
          },
        ],
      },
    });
    await post(server, `${group}/validatingadmissionpolicybindings`, {
      metadata: { name: 'b' },
      spec: { policyName: 'p', validationActions: ['Deny'] },
    });
    const denied = await server.ask('POST', `${pod}/exec?command=sh&container=main`);
    assert.deepEqual(
      [denied.status, denied.body.message],
      [422, `pods "web" is forbidden: ValidatingAdmissionPolicy 'p' with binding 'b' denied request: not sh in main`],
    );
    assert.equal((await server.ask('POST', `${pod}/exec?command=ls`)).status, 404, 'there is no Pod');

    const beta = '/apis/admissionregistration.k8s.io/v1beta1';
    const expression = "Object{container: 'other'}";
    await post(server, `${beta}/mutatingadmissionpolicies`, {
      metadata: { name: 'm' },
      spec: {
        matchConstraints,
        mutations: [{ patchType: 'ApplyConfiguration', applyConfiguration: { expression } }],
        reinvocationPolicy: 'Never',
      },
    });
    await post(server, `${beta}/mutatingadmissionpolicybindings`, {
      metadata: { name: 'm' },
      spec: { policyName: 'm' },
    });
    const changed = await server.ask('POST', `${pod}/exec?command=sh&container=main`);
    assert.match(changed.body.message, /not sh in other$/);
  });
});
