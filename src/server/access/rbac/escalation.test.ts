import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';

import { grant } from '../../testing/grant.ts';
import type { Answer, TestServer } from '../../testing/server.ts';
import { testServer } from '../../testing/server.ts';

const rbac = '/apis/rbac.authorization.k8s.io/v1';
const local = `${rbac}/namespaces/default`;
const merge = 'application/merge-patch+json';
const apply = 'application/apply-patch+yaml';
const every = ['create', 'delete', 'get', 'list', 'patch', 'update', 'watch'];
const resources = ['roles', 'rolebindings', 'clusterroles', 'clusterrolebindings'];
const writeRoles = { verbs: every, apiGroups: ['rbac.authorization.k8s.io'], resources };
const getPods = { verbs: ['get'], apiGroups: [''], resources: ['pods'] };
const readPods = { verbs: ['get', 'list'], apiGroups: [''], resources: ['pods'] };
const getNodes = { verbs: ['get'], apiGroups: [''], resources: ['nodes'] };
const everything = { verbs: ['*'], apiGroups: ['*'], resources: ['*'] };
const on = (verb: string, resource: string, names?: readonly string[]): object => ({
  verbs: [verb],
  apiGroups: ['rbac.authorization.k8s.io'],
  resources: [resource],
  ...(names === undefined ? {} : { resourceNames: names }),
});

const notHeld = (
  resource: string,
  name: string,
  lines: readonly string[],
  user = 'bob',
  groups = '"dev" "system:authenticated"',
): string =>
  `${resource}.rbac.authorization.k8s.io${name === '' ? '' : ` "${name}"`} is forbidden: user "${user}" (groups=[${groups}]) is attempting to grant RBAC permissions not currently held:\n${lines.join('\n')}`;

describe('privilege escalation', () => {
  let server: TestServer;
  before(async () => {
    server = await testServer();
    await grant(server, { user: 'bob', namespace: '', rules: [writeRoles, getPods] });
    await grant(server, {
      user: 'eve',
      namespace: '',
      rules: [writeRoles, on('escalate', 'roles'), on('escalate', 'clusterroles', ['one'])],
    });
    await grant(server, {
      user: 'bea',
      namespace: 'default',
      rules: [writeRoles, on('bind', 'clusterroles', ['view']), on('bind', 'roles')],
    });
    await grant(server, { user: 'carl', namespace: '', rules: [everything, { verbs: ['*'], nonResourceURLs: ['*'] }] });
    await grant(server, { user: 'dora', namespace: '', rules: [{ ...everything, verbs: every }] });
    const create = async (url: string, body: object): Promise<void> =>
      assert.equal((await server.ask('POST', url, { body })).status, 201);
    await create(`${local}/roles`, { metadata: { name: 'pods' }, rules: [getPods] });
    await create(`${local}/roles`, { metadata: { name: 'nodes' }, rules: [getNodes] });
    await create(`${rbac}/clusterroles`, { metadata: { name: 'one' }, rules: [] });
    await create(`${rbac}/clusterroles`, { metadata: { name: 'two' }, rules: [] });
    const aggregationRule = { clusterRoleSelectors: [{ matchLabels: { none: 'x' } }] };
    await create(`${rbac}/clusterroles`, { metadata: { name: 'sum' }, rules: [], aggregationRule });
    await create(`${local}/rolebindings`, { metadata: { name: 'held' }, roleRef: { kind: 'Role', name: 'nodes' } });
  });
  after(() => server[Symbol.asyncDispose]());

  interface Row {
    readonly name: string;
    readonly user: string;
    readonly method?: string;
    readonly url: string;
    readonly body: object;
    readonly type?: string;
    readonly status: number;
    readonly message?: string;
  }

  const binding = (kind: string, name: string, subject = 'x'): object => ({
    metadata: { name: 'b' },
    roleRef: { kind, name },
    subjects: [{ kind: 'User', name: subject }],
  });
  const aggregating = { metadata: { name: 'agg' }, aggregationRule: { clusterRoleSelectors: [{}] } };
  const needsAdmin = (name: string): string =>
    `clusterroles.rbac.authorization.k8s.io "${name}" is forbidden: must have cluster-admin privileges to use the aggregationRule`;
  const nodesLine = '{APIGroups:[""], Resources:["nodes"], Verbs:["get"]}';

  const rows: readonly Row[] = [
    {
      name: 'a role with held permissions',
      user: 'bob',
      url: `${local}/roles`,
      body: { metadata: { name: 'r' }, rules: [getPods] },
      status: 201,
    },
    {
      name: 'a role with more permissions, without a name yet',
      user: 'bob',
      url: `${local}/roles`,
      body: { metadata: { generateName: 'r' }, rules: [readPods] },
      status: 403,
      message: notHeld('roles', '', ['{APIGroups:[""], Resources:["pods"], Verbs:["list"]}']),
    },
    {
      name: 'an invalid role with more permissions: the 403 comes first',
      user: 'bob',
      url: `${local}/roles`,
      body: { metadata: { name: 'bad' }, rules: [{ verbs: ['get'], apiGroups: [''], resources: [] }, getNodes] },
      status: 403,
      message: notHeld('roles', 'bad', [nodesLine]),
    },
    {
      name: 'a cluster role of paths',
      user: 'bob',
      url: `${rbac}/clusterroles`,
      body: { metadata: { name: 'p' }, rules: [{ verbs: ['get'], nonResourceURLs: ['/api', '/metrics'] }] },
      status: 403,
      message: notHeld('clusterroles', 'p', ['{NonResourceURLs:["/metrics"], Verbs:["get"]}']),
    },
    {
      name: 'more permissions by PUT',
      user: 'bob',
      method: 'PUT',
      url: `${local}/roles/pods`,
      body: { metadata: { name: 'pods' }, rules: [readPods] },
      status: 403,
      message: notHeld('roles', 'pods', ['{APIGroups:[""], Resources:["pods"], Verbs:["list"]}']),
    },
    {
      name: 'more permissions by a PUT that creates',
      user: 'bob',
      method: 'PUT',
      url: `${local}/roles/new`,
      body: { metadata: { name: 'new' }, rules: [getNodes] },
      status: 403,
      message: notHeld('roles', 'new', [nodesLine]),
    },
    {
      name: 'more permissions by a merge patch',
      user: 'bob',
      method: 'PATCH',
      url: `${local}/roles/pods`,
      body: { rules: [getNodes] },
      type: merge,
      status: 403,
      message: notHeld('roles', 'pods', [nodesLine]),
    },
    {
      name: 'more permissions by a JSON patch',
      user: 'bob',
      method: 'PATCH',
      url: `${local}/roles/pods`,
      body: [{ op: 'add', path: '/rules/0/resources/-', value: 'nodes' }],
      type: 'application/json-patch+json',
      status: 403,
      message: notHeld('roles', 'pods', [nodesLine]),
    },
    {
      name: 'more permissions by a strategic merge patch',
      user: 'bob',
      method: 'PATCH',
      url: `${local}/roles/pods`,
      body: { rules: [getNodes] },
      type: 'application/strategic-merge-patch+json',
      status: 403,
      message: notHeld('roles', 'pods', [nodesLine]),
    },
    {
      name: 'more permissions by an apply that creates',
      user: 'bob',
      method: 'PATCH',
      url: `${local}/roles/applied?fieldManager=bob`,
      body: {
        apiVersion: 'rbac.authorization.k8s.io/v1',
        kind: 'Role',
        metadata: { name: 'applied' },
        rules: [getNodes],
      },
      type: apply,
      status: 403,
      message: notHeld('roles', 'applied', [nodesLine]),
    },
    {
      name: 'more permissions by an apply over an existing role',
      user: 'bob',
      method: 'PATCH',
      url: `${local}/roles/pods?fieldManager=bob&force=true`,
      body: { apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'Role', metadata: { name: 'pods' }, rules: [getNodes] },
      type: apply,
      status: 403,
      message: notHeld('roles', 'pods', [nodesLine]),
    },
    {
      name: 'a dry run with more permissions',
      user: 'bob',
      url: `${local}/roles?dryRun=All`,
      body: { metadata: { name: 'dry' }, rules: [getNodes] },
      status: 403,
    },
    {
      name: 'a label on a role with more permissions than its editor holds',
      user: 'bob',
      method: 'PATCH',
      url: `${local}/roles/nodes`,
      body: { metadata: { labels: { a: 'b' } } },
      type: merge,
      status: 403,
      message: notHeld('roles', 'nodes', [nodesLine]),
    },
    {
      name: 'a finalizer on such a role, which deleting needs',
      user: 'bob',
      method: 'PATCH',
      url: `${local}/roles/nodes`,
      body: { metadata: { finalizers: ['example.org/x'] } },
      type: merge,
      status: 200,
    },
    {
      name: 'such a role is emptied',
      user: 'bob',
      method: 'PATCH',
      url: `${rbac}/clusterroles/two`,
      body: { rules: [] },
      type: merge,
      status: 200,
    },
    {
      name: 'escalate lifts the restriction for roles',
      user: 'eve',
      url: `${local}/roles`,
      body: { metadata: { name: 'e' }, rules: [getNodes] },
      status: 201,
    },
    {
      name: 'escalate lifts the restriction for the named cluster role',
      user: 'eve',
      method: 'PATCH',
      url: `${rbac}/clusterroles/one`,
      body: { rules: [getNodes] },
      type: merge,
      status: 200,
    },
    {
      name: 'escalate for one name does not apply to another',
      user: 'eve',
      method: 'PATCH',
      url: `${rbac}/clusterroles/two`,
      body: { rules: [getNodes] },
      type: merge,
      status: 403,
    },
    {
      name: 'escalate for one name does not apply to a new role',
      user: 'eve',
      url: `${rbac}/clusterroles`,
      body: { metadata: { name: 'x' }, rules: [getNodes] },
      status: 403,
    },
    {
      name: 'an aggregationRule requires all permissions',
      user: 'bob',
      url: `${rbac}/clusterroles`,
      body: aggregating,
      status: 403,
      message: needsAdmin('agg'),
    },
    {
      name: 'many verbs on all resources are not all permissions',
      user: 'dora',
      url: `${rbac}/clusterroles`,
      body: aggregating,
      status: 403,
      message: needsAdmin('agg'),
    },
    {
      name: 'an aggregationRule is allowed with all permissions',
      user: 'carl',
      url: `${rbac}/clusterroles?dryRun=All`,
      body: aggregating,
      status: 201,
    },
    {
      name: 'removing an aggregationRule requires all permissions, too',
      user: 'bob',
      method: 'PUT',
      url: `${rbac}/clusterroles/sum`,
      body: { metadata: { name: 'sum' }, rules: [] },
      status: 403,
      message: needsAdmin('sum'),
    },
    {
      name: 'a role too large to check',
      user: 'bob',
      url: `${local}/roles`,
      body: {
        metadata: { name: 'huge' },
        rules: [
          {
            verbs: ['get'],
            apiGroups: Array.from({ length: 1000 }, (_, at) => `g${at}`),
            resources: Array.from({ length: 1000 }, (_, at) => `r${at}`),
          },
        ],
      },
      status: 403,
      message:
        'roles.rbac.authorization.k8s.io "huge" is forbidden: 1000000 permissions are too many to check, the limit is 20000: split the role',
    },
    {
      name: 'binding held permissions',
      user: 'bob',
      url: `${local}/rolebindings?dryRun=All`,
      body: binding('Role', 'pods'),
      status: 201,
    },
    {
      name: 'binding more permissions',
      user: 'bob',
      url: `${local}/rolebindings`,
      body: binding('Role', 'nodes'),
      status: 403,
      message: notHeld('rolebindings', 'b', [nodesLine]),
    },
    {
      name: 'binding all permissions to oneself',
      user: 'bob',
      url: `${rbac}/clusterrolebindings`,
      body: binding('ClusterRole', 'cluster-admin', 'bob'),
      status: 403,
      message: notHeld('clusterrolebindings', 'b', [
        '{APIGroups:["*"], Resources:["*"], Verbs:["*"]}',
        '{NonResourceURLs:["*"], Verbs:["*"]}',
      ]),
    },
    {
      name: 'binding an unknown role',
      user: 'bob',
      url: `${local}/rolebindings`,
      body: binding('ClusterRole', 'nope'),
      status: 404,
      message: 'rolebindings.rbac.authorization.k8s.io "nope" not found',
    },
    {
      name: 'binding an empty name',
      user: 'bob',
      url: `${local}/rolebindings`,
      body: binding('Role', ''),
      status: 400,
      message: 'Name parameter required.',
    },
    {
      name: 'binding a role of no namespace',
      user: 'bob',
      url: `${rbac}/clusterrolebindings`,
      body: binding('Role', 'pods'),
      status: 400,
      message: 'Namespace parameter required.',
    },
    {
      name: 'binding a role of another namespace',
      user: 'bob',
      url: `${rbac}/namespaces/kube-system/rolebindings`,
      body: binding('Role', 'pods'),
      status: 404,
    },
    {
      name: 'adding oneself to a binding with more permissions',
      user: 'bob',
      method: 'PATCH',
      url: `${local}/rolebindings/held`,
      body: { subjects: [{ kind: 'User', name: 'bob' }] },
      type: merge,
      status: 403,
    },
    {
      name: 'binding a role that is bindable',
      user: 'bea',
      url: `${local}/rolebindings?dryRun=All`,
      body: binding('ClusterRole', 'view'),
      status: 201,
    },
    {
      name: 'binding an unknown bindable role',
      user: 'bea',
      url: `${local}/rolebindings?dryRun=All`,
      body: binding('Role', 'nope'),
      status: 201,
    },
    {
      name: 'binding another role than the bindable one',
      user: 'bea',
      url: `${local}/rolebindings`,
      body: binding('ClusterRole', 'edit'),
      status: 403,
    },
    {
      name: 'binding it in another namespace',
      user: 'bea',
      url: `${rbac}/clusterrolebindings`,
      body: binding('ClusterRole', 'view'),
      status: 403,
    },
    {
      name: 'an administrator by role binds anything',
      user: 'carl',
      url: `${rbac}/clusterrolebindings?dryRun=All`,
      body: binding('ClusterRole', 'cluster-admin'),
      status: 201,
    },
  ];
  for (const { name, user, method = 'POST', url, body, type, status, message } of rows) {
    test(name, async () => {
      const client = server.as({ name: user, groups: ['dev'] });
      const answer: Answer = await client.ask(method, url, { body, ...(type === undefined ? {} : { type }) });
      assert.equal(answer.status, status, answer.text);
      if (message !== undefined) assert.equal(answer.body.message, message);
    });
  }

  test('members of system:masters can bind unknown roles', async () => {
    const answer = await server.ask('POST', `${local}/rolebindings?dryRun=All`, {
      body: binding('ClusterRole', 'nope'),
    });
    assert.equal(answer.status, 201);
  });
});

describe('a request that creates requires the verb create', () => {
  const place = '/api/v1/namespaces/default/configmaps';

  test('by PUT and by apply, and a rejected one leaves nothing behind', async () => {
    await using server = await testServer();
    const rules = [
      { verbs: ['update', 'patch'], apiGroups: ['', 'rbac.authorization.k8s.io'], resources: ['configmaps', 'roles'] },
    ];
    await grant(server, { user: 'una', namespace: 'default', rules });
    const una = server.as({ name: 'una' });
    const applied = await una.ask('PATCH', `${place}/new?fieldManager=una`, {
      body: { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'new' } },
      type: apply,
    });
    assert.equal(
      applied.body.message,
      'configmaps "new" is forbidden: User "una" cannot create resource "configmaps" in API group "" in the namespace "default"',
    );
    const put = await una.ask('PUT', `${local}/roles/new`, { body: { metadata: { name: 'new' }, rules: [] } });
    assert.equal(
      put.body.message,
      'roles.rbac.authorization.k8s.io "new" is forbidden: User "una" cannot create resource "roles" in API group "rbac.authorization.k8s.io" in the namespace "default"',
    );
    assert.equal((await server.ask('GET', `${place}/new`)).status, 404);
    assert.equal((await server.ask('GET', `${local}/roles/new`)).status, 404);
    await server.ask('POST', place, { body: { metadata: { name: 'old' } } });
    const over = await una.ask('PATCH', `${place}/old?fieldManager=una`, {
      body: { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'old' }, data: { a: 'b' } },
      type: apply,
    });
    assert.equal(over.status, 200);
  });

  test('for the name of the object if rules have names', async () => {
    await using server = await testServer();
    const named = { apiGroups: [''], resources: ['configmaps'], resourceNames: ['mine'] };
    await grant(server, { user: 'nia', namespace: 'default', rules: [{ ...named, verbs: ['create', 'patch'] }] });
    const nia = server.as({ name: 'nia' });
    const put = async (name: string): Promise<number> =>
      (
        await nia.ask('PATCH', `${place}/${name}?fieldManager=nia`, {
          body: { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name } },
          type: apply,
        })
      ).status;
    assert.equal(await put('mine'), 201);
    assert.equal(await put('yours'), 403);
    assert.equal((await nia.ask('POST', place, { body: { metadata: { name: 'mine' } } })).status, 403);
  });
});
