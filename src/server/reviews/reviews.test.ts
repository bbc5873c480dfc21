import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';

import { selfSubjectAccessReview } from '../../api/kinds/authorization/selfsubjectaccessreview/kind.ts';
import { subjectAccessReview } from '../../api/kinds/authorization/subjectaccessreview/kind.ts';
import { encodeObject } from '../../api/schema/protobuf.ts';
import { grant } from '../testing/grant.ts';
import type { Answer, TestServer } from '../testing/server.ts';
import { testServer } from '../testing/server.ts';

const reviews = '/apis/authorization.k8s.io/v1';
const rbac = '/apis/rbac.authorization.k8s.io/v1';
const pods = { namespace: 'default', verb: 'get', resource: 'pods' };

describe('access reviews', () => {
  let server: TestServer;
  before(async () => {
    server = await testServer();
    const rules = [{ verbs: ['get'], apiGroups: [''], resources: ['pods', 'pods/log'], resourceNames: ['web'] }];
    await grant(server, { user: 'alice', namespace: 'default', rules });
    await grant(server, {
      user: 'bob',
      namespace: '',
      rules: [{ verbs: ['*'], apiGroups: ['apps'], resources: ['*'] }],
    });
    const robot = { kind: 'ServiceAccount', name: 'robot' };
    const body = { metadata: { name: 'robot' }, subjects: [robot], roleRef: { kind: 'ClusterRole', name: 'view' } };
    await server.ask('POST', `${rbac}/namespaces/default/rolebindings`, { body });
  });
  after(() => server[Symbol.asyncDispose]());

  const ask = (user: string, plural: string, spec: object, metadata?: object): Promise<Answer> =>
    server.as({ name: user }).ask('POST', `${reviews}/${plural}`, { body: { metadata, spec } });

  const own: readonly { name: string; user: string; spec: object; status: object }[] = [
    {
      name: 'a permission in a namespace, for one name',
      user: 'alice',
      spec: { resourceAttributes: { ...pods, name: 'web' } },
      status: {
        allowed: true,
        reason: 'RBAC: allowed by RoleBinding "alice-default/default" of Role "alice-default" to User "alice"',
      },
    },
    {
      name: 'a subresource',
      user: 'alice',
      spec: { resourceAttributes: { ...pods, subresource: 'log', name: 'web' } },
      status: {
        allowed: true,
        reason: 'RBAC: allowed by RoleBinding "alice-default/default" of Role "alice-default" to User "alice"',
      },
    },
    {
      name: 'no name',
      user: 'alice',
      spec: { resourceAttributes: pods },
      status: { allowed: false },
    },
    {
      name: 'another namespace',
      user: 'alice',
      spec: { resourceAttributes: { ...pods, namespace: 'kube-system', name: 'web' } },
      status: { allowed: false },
    },
    {
      name: 'a permission in all namespaces',
      user: 'bob',
      spec: { resourceAttributes: { verb: '*', group: 'apps', resource: '*' } },
      status: {
        allowed: true,
        reason: 'RBAC: allowed by ClusterRoleBinding "bob-" of ClusterRole "bob-" to User "bob"',
      },
    },
    {
      name: 'a path, by a group',
      user: 'bob',
      spec: { nonResourceAttributes: { verb: 'get', path: '/api' } },
      status: {
        allowed: true,
        reason:
          'RBAC: allowed by ClusterRoleBinding "system:discovery" of ClusterRole "system:discovery" to Group "system:authenticated"',
      },
    },
    {
      name: 'a path that is not allowed',
      user: 'bob',
      spec: { nonResourceAttributes: { verb: 'get', path: '/metrics' } },
      status: { allowed: false },
    },
    {
      name: 'a service account',
      user: 'system:serviceaccount:default:robot',
      spec: { resourceAttributes: pods },
      status: {
        allowed: true,
        reason: 'RBAC: allowed by RoleBinding "robot/default" of ClusterRole "view" to ServiceAccount "robot/default"',
      },
    },
  ];
  for (const { name, user, spec, status } of own) {
    test(`SelfSubjectAccessReview: ${name}`, async () => {
      const { status: code, body } = await ask(user, 'selfsubjectaccessreviews', spec);
      assert.equal(code, 201);
      assert.deepEqual(body, {
        kind: 'SelfSubjectAccessReview',
        apiVersion: 'authorization.k8s.io/v1',
        metadata: {},
        spec,
        status,
      });
    });
  }

  test('SubjectAccessReview: users, groups, and only for users who may create it', async () => {
    const spec = { user: 'alice', groups: ['g'], extra: { a: ['b'] }, uid: '1', resourceAttributes: pods };
    const refused = await ask('alice', 'subjectaccessreviews', spec);
    assert.equal(
      refused.body.message,
      'subjectaccessreviews.authorization.k8s.io is forbidden: User "alice" cannot create resource "subjectaccessreviews" in API group "authorization.k8s.io" at the cluster scope',
    );
    const cases: readonly (readonly [object, object])[] = [
      [spec, { allowed: false }],
      [
        { user: 'bob', resourceAttributes: { verb: 'list', group: 'apps', resource: 'x' } },
        { allowed: true, reason: 'RBAC: allowed by ClusterRoleBinding "bob-" of ClusterRole "bob-" to User "bob"' },
      ],
      [{ groups: ['system:masters'], resourceAttributes: pods }, { allowed: true }],
      [{ groups: ['system:nobody'], resourceAttributes: pods }, { allowed: false }],
    ];
    for (const [requested, status] of cases) {
      const { status: code, body } = await server.ask('POST', `${reviews}/subjectaccessreviews`, {
        body: { spec: requested },
      });
      assert.equal(code, 201);
      assert.deepEqual(body.spec, requested);
      assert.deepEqual(body.status, status);
    }
  });

  test('LocalSubjectAccessReview: requires the namespace of the request', async () => {
    const url = `${reviews}/namespaces/default/localsubjectaccessreviews`;
    const spec = { user: 'alice', resourceAttributes: { ...pods, name: 'web' } };
    const { body } = await server.ask('POST', url, { body: { spec } });
    assert.equal(body.status.allowed, true);
    assert.deepEqual(body.metadata, { namespace: 'default' });
    const mismatch = await server.ask('POST', url, { body: { metadata: { namespace: 'x' }, spec } });
    assert.deepEqual(
      [mismatch.status, mismatch.body.message],
      [400, 'the namespace of the provided object does not match the namespace sent on the request'],
    );
    const missing = await server.ask('POST', `${reviews}/localsubjectaccessreviews`, { body: { spec } });
    assert.equal(missing.status, 404);
  });

  test('SelfSubjectRulesReview: lists the rules of all roles, resources apart from paths', async () => {
    const { body } = await ask('alice', 'selfsubjectrulesreviews', { namespace: 'default' });
    assert.deepEqual(body.metadata, {});
    assert.equal(body.status.incomplete, false);
    assert.deepEqual(body.status.resourceRules.at(-1), {
      verbs: ['get'],
      apiGroups: [''],
      resources: ['pods', 'pods/log'],
      resourceNames: ['web'],
    });
    assert.ok(
      body.status.nonResourceRules.some((rule: { nonResourceURLs: string[] }) =>
        rule.nonResourceURLs.includes('/api/*'),
      ),
    );
    const elsewhere = await ask('alice', 'selfsubjectrulesreviews', { namespace: 'kube-system' });
    assert.ok(!JSON.stringify(elsewhere.body.status).includes('pods'));
    const nowhere = await ask('alice', 'selfsubjectrulesreviews', {});
    assert.deepEqual([nowhere.status, nowhere.body.message], [400, 'no namespace on request']);
  });

  const invalid: readonly { name: string; plural: string; body: object; message: string }[] = [
    {
      name: 'no attributes',
      plural: 'selfsubjectaccessreviews',
      body: {},
      message:
        '.authorization.k8s.io "" is invalid: spec.resourceAttributes: Invalid value: null: exactly one of nonResourceAttributes or resourceAttributes must be specified',
    },
    {
      name: 'two kinds of attributes and a name',
      plural: 'selfsubjectaccessreviews',
      body: {
        metadata: { name: 'x' },
        spec: { nonResourceAttributes: { verb: 'get', path: '/api' }, resourceAttributes: { verb: 'get' } },
      },
      message:
        '.authorization.k8s.io "" is invalid: [spec.nonResourceAttributes: Invalid value: {"Path":"/api","Verb":"get"}: cannot be specified in combination with resourceAttributes, metadata: Invalid value: {"name":"x"}: must be empty]',
    },
    {
      name: 'no user',
      plural: 'subjectaccessreviews',
      body: {},
      message:
        '.authorization.k8s.io "" is invalid: [spec.resourceAttributes: Invalid value: null: exactly one of nonResourceAttributes or resourceAttributes must be specified, spec.user: Invalid value: "": at least one of user or group must be specified]',
    },
    {
      name: 'empty and duplicate selectors',
      plural: 'selfsubjectaccessreviews',
      body: {
        spec: {
          resourceAttributes: {
            ...pods,
            fieldSelector: {},
            labelSelector: { rawSelector: 'a=b', requirements: [{ key: 'a', operator: 'In', values: ['x'] }] },
          },
        },
      },
      message:
        '.authorization.k8s.io "" is invalid: [spec.resourceAttributes.fieldSelector.requirements: Required value: when spec.resourceAttributes.fieldSelector is specified, requirements or rawSelector is required, spec.resourceAttributes.labelSelector.rawSelector: Invalid value: "a=b": may not specified at the same time as requirements]',
    },
    {
      name: 'a path in a namespace',
      plural: 'namespaces/default/localsubjectaccessreviews',
      body: { metadata: { name: 'n' }, spec: { user: 'bob', nonResourceAttributes: { verb: 'list', path: 'x' } } },
      message:
        '.authorization.k8s.io "" is invalid: [metadata: Invalid value: {"name":"n","namespace":"default"}: must be empty except for namespace, spec.nonResourceAttributes: Invalid value: {"Path":"x","Verb":"list"}: disallowed on this kind of request]',
    },
    {
      name: 'another namespace than the review is in',
      plural: 'namespaces/default/localsubjectaccessreviews',
      body: { spec: { user: 'bob', resourceAttributes: { verb: 'list' } } },
      message:
        '.authorization.k8s.io "" is invalid: spec.resourceAttributes.namespace: Invalid value: "": must match metadata.namespace',
    },
  ];
  test('validates each requirement of a selector', async () => {
    const requirements = [
      { key: '', operator: 'Foo' },
      { key: 'a', operator: 'In' },
      { key: 'b', operator: 'Exists', values: ['x'] },
      { key: 'c', operator: 'NotIn', values: ['-'] },
    ];
    const resourceAttributes = { ...pods, fieldSelector: { requirements }, labelSelector: { requirements } };
    const { body } = await server.ask('POST', `${reviews}/selfsubjectaccessreviews`, {
      body: { spec: { resourceAttributes } },
    });
    const causes: readonly { field: string; message: string }[] = body.details.causes;
    assert.deepEqual(
      causes.map(({ field, message }) => `${field.replace('spec.resourceAttributes.', '')}: ${message.slice(0, 40)}`),
      [
        'fieldSelector.requirements[0].key: Required value: must be specified',
        'fieldSelector.requirements[1].values: Required value: must be specified when `',
        'fieldSelector.requirements[2].values: Forbidden: may not be specified when `op',
        'labelSelector.requirements[0].key: Invalid value: "": name part must be non',
        'labelSelector.requirements[0].key: Invalid value: "": name part must consis',
        'labelSelector.requirements[1].values: Required value: must be specified when `',
        'labelSelector.requirements[2].values: Forbidden: may not be specified when `op',
        'labelSelector.requirements[3].values[0]: Invalid value: "-": a valid label must b',
      ],
    );
  });

  test('drops the namespace of a cluster-scoped review', async () => {
    const { status, body } = await ask(
      'bob',
      'selfsubjectaccessreviews',
      { resourceAttributes: pods },
      { namespace: 'x' },
    );
    assert.deepEqual([status, body.metadata], [201, {}]);
  });

  for (const { name, plural, body, message } of invalid) {
    test(`rejects a review with ${name}`, async () => {
      const answer = await server.ask('POST', `${reviews}/${plural}`, { body });
      assert.equal(answer.status, 422);
      assert.equal(answer.body.message, message);
      assert.equal(answer.body.details.kind, undefined);
    });
  }

  test('accepts protobuf, selectors and extra included', async () => {
    const apiVersion = 'authorization.k8s.io/v1';
    const type = 'application/vnd.kubernetes.protobuf';
    const self = encodeObject({ apiVersion, kind: 'SelfSubjectAccessReview' }, selfSubjectAccessReview, {
      metadata: {},
      spec: { resourceAttributes: { ...pods, fieldSelector: { rawSelector: 'metadata.name=web' }, name: 'web' } },
    });
    const mine = await server.as({ name: 'alice' }).ask('POST', `${reviews}/selfsubjectaccessreviews`, {
      body: self,
      type,
    });
    assert.equal(mine.status, 201, mine.text);
    assert.equal(mine.body.status.allowed, true);
    assert.equal(mine.body.spec.resourceAttributes.fieldSelector.rawSelector, 'metadata.name=web');
    const spec = { user: 'bob', groups: ['a', 'b'], extra: { scopes: ['x', 'y'] }, resourceAttributes: pods };
    const theirs = await server.ask('POST', `${reviews}/subjectaccessreviews`, {
      body: encodeObject({ apiVersion, kind: 'SubjectAccessReview' }, subjectAccessReview, { metadata: {}, spec }),
      type,
    });
    assert.deepEqual(theirs.body.spec, spec);
  });

  test('a review can only be created', async () => {
    const table = await server.ask('POST', `${reviews}/selfsubjectaccessreviews`, {
      body: { spec: { resourceAttributes: pods } },
      accept: 'application/json;as=Table;v=v1;g=meta.k8s.io',
    });
    assert.equal(table.status, 406);
    const wrong: readonly (readonly [method: string, path: string, status: number])[] = [
      ['GET', 'selfsubjectaccessreviews', 405],
      ['DELETE', 'selfsubjectaccessreviews', 405],
      ['GET', 'selfsubjectaccessreviews/x', 404],
      ['POST', 'selfsubjectaccessreviews/x', 404],
      ['POST', 'selfsubjectaccessreviews/x/status', 404],
      ['POST', 'namespaces/default/selfsubjectaccessreviews', 404],
      ['GET', 'namespaces/default/localsubjectaccessreviews', 405],
    ];
    for (const [method, path, status] of wrong) {
      assert.equal((await server.ask(method, `${reviews}/${path}`, { body: {} })).status, status, `${method} ${path}`);
    }
    const options = await server.ask('POST', `${reviews}/selfsubjectaccessreviews?dryRun=x`, { body: {} });
    assert.equal(options.body.details.kind, 'CreateOptions');
  });
});
