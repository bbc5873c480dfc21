import assert from 'node:assert/strict';
import { suite, test } from 'node:test';

import type { TestServer } from '../../testing/server.ts';
import { testServer } from '../../testing/server.ts';
import { startWebhook } from '../../webhooks/testing/webhook.ts';

const group = '/apis/admissionregistration.k8s.io';
const beta = `${group}/v1beta1`;
const maps = '/api/v1/namespaces/default/configmaps';
const deployments = '/apis/apps/v1/namespaces/default/deployments';
const on = (resource: string, apiGroup = ''): object => ({
  operations: ['CREATE', 'UPDATE'],
  apiGroups: [apiGroup],
  apiVersions: ['v1'],
  resources: [resource],
});

const enabledServer = (): Promise<TestServer> => testServer({ gates: { MutatingAdmissionPolicy: true } });

async function post(server: TestServer, path: string, body: object): Promise<void> {
  const { status, text } = await server.ask('POST', path, { body });
  assert.equal(status, 201, text);
}

const apply = (expression: string): object => ({
  patchType: 'ApplyConfiguration',
  applyConfiguration: { expression },
});
const patch = (expression: string): object => ({ patchType: 'JSONPatch', jsonPatch: { expression } });

const policy = (name: string, spec: object): object => ({
  metadata: { name },
  spec: { matchConstraints: { resourceRules: [on('configmaps')] }, reinvocationPolicy: 'Never', ...spec },
});

/** Creates a policy, by default for ConfigMaps, and a binding that enables it. */
async function bind(server: TestServer, name: string, spec: object, binding: object = {}): Promise<void> {
  await post(server, `${beta}/mutatingadmissionpolicies`, policy(name, spec));
  await post(server, `${beta}/mutatingadmissionpolicybindings`, {
    metadata: { name: `${name}-binding` },
    spec: { policyName: name, ...binding },
  });
}

const map = (name: string, data: object = {}, more: object = {}): { readonly body: object } => ({
  body: { metadata: { name, ...more }, data },
});

const deployment = {
  metadata: { name: 'web' },
  spec: {
    selector: { matchLabels: { app: 'web' } },
    template: { metadata: { labels: { app: 'web' } }, spec: { containers: [{ name: 'web', image: 'a:1' }] } },
  },
};

suite('a MutatingAdmissionPolicy', () => {
  test('is not served unless its gate is enabled', async () => {
    await using server = await testServer();
    assert.equal((await server.ask('GET', `${beta}/mutatingadmissionpolicies`)).status, 404);
    await using enabled = await enabledServer();
    assert.equal((await enabled.ask('GET', `${beta}/mutatingadmissionpolicies`)).status, 200);
  });

  const cases: readonly {
    readonly name: string;
    readonly spec: object;
    readonly want: object;
  }[] = [
    {
      name: 'merges an apply configuration',
      spec: { mutations: [apply("Object{metadata: Object.metadata{labels: {'by': request.userInfo.username}}}")] },
      want: { labels: { own: 'yes', by: 'admin' }, data: { x: '1' } },
    },
    {
      name: 'applies a JSON patch',
      spec: {
        mutations: [
          patch(
            "[JSONPatch{op: 'test', path: '/data/x', value: '1'}, JSONPatch{op: 'add', path: '/metadata/labels/' + jsonpatch.escapeKey('a.b/c'), value: 'd'}]",
          ),
        ],
      },
      want: { labels: { own: 'yes', 'a.b/c': 'd' }, data: { x: '1' } },
    },
    {
      name: 'changes nothing if a test of the patch fails',
      spec: {
        mutations: [
          patch("[JSONPatch{op: 'test', path: '/data/x', value: '2'}, JSONPatch{op: 'remove', path: '/data'}]"),
        ],
      },
      want: { labels: { own: 'yes' }, data: { x: '1' } },
    },
    {
      name: 'sees the changes of earlier mutations, and variables',
      spec: {
        variables: [{ name: 'count', expression: 'string(size(object.data))' }],
        mutations: [
          apply("Object{data: {'first': variables.count}}"),
          apply("Object{data: {'second': variables.count}}"),
        ],
      },
      want: { labels: { own: 'yes' }, data: { x: '1', first: '1', second: '2' } },
    },
    {
      name: 'sets no field whose value is an empty optional',
      spec: { mutations: [apply("Object{?data: has(object.binaryData) ? optional.of({'y': '1'}) : optional.none()}")] },
      want: { labels: { own: 'yes' }, data: { x: '1' } },
    },
    {
      name: 'does not apply where a match condition is false',
      spec: {
        matchConditions: [{ name: 'c', expression: "'y' in object.data" }],
        mutations: [apply("Object{data: {'z': '1'}}")],
      },
      want: { labels: { own: 'yes' }, data: { x: '1' } },
    },
    {
      name: 'admits a write unchanged if an expression fails and the policy ignores failures',
      spec: { failurePolicy: 'Ignore', mutations: [apply("Object{data: {'z': object.data.absent}}")] },
      want: { labels: { own: 'yes' }, data: { x: '1' } },
    },
  ];
  for (const { name, spec, want } of cases) {
    test(name, async () => {
      await using server = await enabledServer();
      await bind(server, 'p', spec);
      const { status, body, text } = await server.ask('POST', maps, map('a', { x: '1' }, { labels: { own: 'yes' } }));
      assert.equal(status, 201, text);
      assert.deepEqual({ labels: body.metadata.labels, data: body.data }, want);
    });
  }

  const denied: readonly { readonly name: string; readonly spec: object; readonly want: string }[] = [
    {
      name: 'rejects a write if an expression fails',
      spec: { mutations: [apply("Object{data: {'z': object.data.absent}}")] },
      want: `expression 'Object{data: {'z': object.data.absent}}' resulted in error: no such key: absent`,
    },
    {
      name: 'rejects a write if a field is not in the schema',
      spec: { mutations: [apply('Object{spec: Object.spec{x: 1}}')] },
      want: 'error applying patch: failed to convert patch object to typed object: .spec: field not declared in schema',
    },
    {
      name: 'rejects a write if the name of a type is not that of its field',
      spec: { mutations: [apply('Object{metadata: Object.spec{}}')] },
      want: 'type mismatch: unexpected type name "Object.spec", expected "Object.metadata", which matches field name path from root Object type',
    },
    {
      name: 'rejects a write if the binding has no parameters',
      spec: { paramKind: { apiVersion: 'v1', kind: 'ConfigMap' }, mutations: [apply('Object{}')] },
      want: 'failed to configure binding: no params found for policy binding with `Deny` parameterNotFoundAction',
    },
  ];
  for (const { name, spec, want } of denied) {
    test(name, async () => {
      await using server = await enabledServer();
      const paramRef = { name: 'none', namespace: 'default', parameterNotFoundAction: 'Deny' };
      await bind(server, 'p', spec, { paramRef });
      const { status, body } = await server.ask('POST', maps, map('a', { x: '1' }));
      assert.deepEqual([status, body.message], [403, `policy 'p' with binding 'p-binding' denied request: ${want}`]);
      assert.equal(body.details.name, 'a');
    });
  }

  test('merges items of lists by their keys, and rejects a change of an atomic list', async () => {
    await using server = await enabledServer();
    const rules = { matchConstraints: { resourceRules: [on('deployments', 'apps')] } };
    const containers = (fields: string): string =>
      `Object{spec: Object.spec{template: Object.spec.template{spec: Object.spec.template.spec{containers: [Object.spec.template.spec.containers{name: 'web', ${fields}}]}}}}`;
    await bind(server, 'p', {
      ...rules,
      mutations: [
        apply(
          containers(
            "imagePullPolicy: 'Always', env: [Object.spec.template.spec.containers.env{name: 'A', value: '1'}]",
          ),
        ),
      ],
    });
    const { body, text } = await server.ask('POST', deployments, { body: deployment });
    assert.ok(body.spec !== undefined, text);
    const [container] = body.spec.template.spec.containers;
    assert.deepEqual(
      [container.image, container.imagePullPolicy, container.env],
      ['a:1', 'Always', [{ name: 'A', value: '1' }]],
    );
    await bind(server, 'q', { ...rules, mutations: [apply(containers("command: ['sh']"))] });
    const rejected = await server.ask('PUT', `${deployments}/web`, { body: deployment });
    assert.match(rejected.text, /may not mutate atomic arrays, maps or structs: .*command/);
  });

  test('is evaluated with each of its parameters', async () => {
    await using server = await enabledServer();
    for (const name of ['one', 'two']) {
      await post(server, '/api/v1/namespaces/kube-system/configmaps', {
        metadata: { name, labels: { params: 'yes' } },
        data: { value: name },
      });
    }
    const paramKind = { apiVersion: 'v1', kind: 'ConfigMap' };
    const paramRef = {
      namespace: 'kube-system',
      selector: { matchLabels: { params: 'yes' } },
      parameterNotFoundAction: 'Deny',
    };
    const mutations = [
      patch("[JSONPatch{op: 'add', path: '/data/' + params.data.value, value: params.metadata.name}]"),
    ];
    await bind(server, 'p', { paramKind, mutations }, { paramRef });
    const { body } = await server.ask('POST', maps, map('a', { x: '1' }));
    assert.deepEqual(body.data, { x: '1', one: 'one', two: 'two' });
  });

  test('runs before mutating webhooks, and again after them if its reinvocation policy is IfNeeded', async () => {
    const seen: string[] = [];
    await using webhook = await startWebhook(({ object }) => {
      seen.push(Object.keys(object.data).sort().join());
      const operations = [{ op: 'add', path: '/data/webhook', value: '' }];
      return {
        allowed: true,
        patchType: 'JSONPatch',
        patch: Buffer.from(JSON.stringify(operations)).toString('base64'),
      };
    });
    await using server = await enabledServer();
    await post(server, `${group}/v1/mutatingwebhookconfigurations`, {
      metadata: { name: 'w' },
      webhooks: [
        {
          name: 'w.example.org',
          clientConfig: { url: webhook.url, caBundle: webhook.caBundle },
          rules: [on('configmaps')],
          sideEffects: 'None',
          admissionReviewVersions: ['v1'],
        },
      ],
    });
    const record = (key: string): object => apply(`Object{data: {'${key}': string(size(object.data))}}`);
    await bind(server, 'always', { reinvocationPolicy: 'IfNeeded', mutations: [record('always')] });
    await bind(server, 'once', { mutations: [record('once')] });
    const { body, text } = await server.ask('POST', maps, map('a', { x: '' }));
    assert.ok(body.data !== undefined, text);
    assert.deepEqual(seen, ['always,once,x']);
    assert.deepEqual(body.data, { x: '', always: '4', once: '2', webhook: '' });
  });

  test('rejects policies that cannot work', async () => {
    await using server = await enabledServer();
    const reject = async (spec: object): Promise<string> => {
      const { status, body } = await server.ask('POST', `${beta}/mutatingadmissionpolicies`, {
        body: policy('p', spec),
      });
      assert.equal(status, 422);
      return body.message;
    };
    const mutations = [apply('Object{}')];
    assert.match(await reject({}), /spec\.mutations: Required value: mutations must contain at least one item/);
    assert.match(
      await reject({ mutations, reinvocationPolicy: 'Sometimes' }),
      /spec\.reinvocationPolicy: Unsupported value: "Sometimes": supported values: "IfNeeded", "Never"/,
    );
    assert.match(
      await reject({ mutations: [apply('1 +')] }),
      /spec\.mutations\[0\]\.applyConfiguration\.expression: Invalid value: "1 \+": compilation failed: ERROR/,
    );
    assert.match(
      await reject({ mutations: [apply('object')] }),
      /Invalid value: "object": must evaluate to Object but got dyn/,
    );
    assert.match(
      await reject({ mutations: [patch("[JSONPatch{op: 'add', pth: '/a'}]")] }),
      /compilation failed: ERROR: .*undefined field 'pth'/,
    );
    assert.match(
      await reject({ mutations: [{ ...apply('Object{}'), jsonPatch: { expression: '[]' } }] }),
      /spec\.mutations\[0\]\.jsonPatch: Invalid value: "{jsonPatch}": must not be specified when patchType is ApplyConfiguration/,
    );
    assert.match(
      await reject({ mutations, matchConstraints: { resourceRules: [{ ...on('pods'), operations: ['DELETE'] }] } }),
      /spec\.matchConstraints\.resourceRules\.operations: Unsupported value: "DELETE"/,
    );
  });

  test('cannot prevent its own removal, and counts its evaluations', async () => {
    await using server = await enabledServer();
    const everything = { operations: ['*'], apiGroups: ['*'], apiVersions: ['*'], resources: ['*'] };
    await bind(server, 'p', {
      matchConstraints: { resourceRules: [everything] },
      mutations: [apply("Object{data: {'z': object.absent}}")],
    });
    assert.equal((await server.ask('POST', maps, map('a'))).status, 403);
    const { text } = await server.ask('GET', '/metrics');
    assert.match(
      text,
      /apiserver_mutating_admission_policy_check_total\{policy="p",policy_binding="p-binding",error_type="invalid_error"\} 1/,
    );
    assert.equal((await server.ask('DELETE', `${beta}/mutatingadmissionpolicies/p`)).status, 200);
    assert.equal((await server.ask('POST', maps, map('a'))).status, 201);
  });
});
