import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { loadAll } from 'js-yaml';

import { kinds } from '../../../../api/kinds/registry.ts';
import type { ClusterRole } from '../../../../api/kinds/rbac/clusterrole/kind.ts';
import type { ClusterRoleBinding } from '../../../../api/kinds/rbac/clusterrolebinding/kind.ts';
import { openMemoryStore } from '../../../../store/memory/memory.ts';
import type { TestServer } from '../../../testing/server.ts';
import { testServer } from '../../../testing/server.ts';
import { reconcileBinding, reconcileRole } from './reconcile.ts';
import { collectorRules, fairleadBindings, fairleadRoles, leaseRole, partRules } from './fairlead.ts';
import { kubernetesBindings, kubernetesRoles } from './kubernetes.ts';
import { aggregated, binding, group, on, role, user } from './role-table.ts';

const standard = role('r', [on('', 'pods', 'get list'), on('apps', 'deployments', 'get')]);
const kept = { 'rbac.authorization.kubernetes.io/autoupdate': 'false' };
const extra = on('', 'secrets', 'get');

const roleRows: readonly { name: string; existing: ClusterRole; want: ClusterRole }[] = [
  { name: 'keeps a complete role', existing: standard, want: standard },
  {
    name: 'adds a missing rule and keeps an extra one',
    existing: { ...standard, rules: [extra, on('', 'pods', 'get list')] },
    want: { ...standard, rules: [extra, on('', 'pods', 'get list'), on('apps', 'deployments', 'get')] },
  },
  {
    name: 'accepts equivalent rules',
    existing: { ...standard, rules: [on('*', '*', '*')] },
    want: { ...standard, rules: [on('*', '*', '*')] },
  },
  {
    name: 'adds the whole rule if an existing one lacks a verb',
    existing: { ...standard, rules: [on('', 'pods', 'get'), on('apps', 'deployments', 'get')] },
    want: {
      ...standard,
      rules: [on('', 'pods', 'get'), on('apps', 'deployments', 'get'), on('', 'pods', 'get list')],
    },
  },
  {
    name: 'adds nothing with autoupdate false',
    existing: { metadata: { name: 'r', annotations: kept }, rules: [] },
    want: { metadata: { name: 'r', annotations: kept }, rules: [] },
  },
  {
    name: 'adds labels and annotations and keeps existing values',
    existing: {
      ...standard,
      metadata: { name: 'r', labels: { 'kubernetes.io/bootstrapping': 'mine' }, annotations: { a: 'b' } },
    },
    want: {
      ...standard,
      metadata: {
        name: 'r',
        labels: { 'kubernetes.io/bootstrapping': 'mine' },
        annotations: { ...standard.metadata.annotations, a: 'b' },
      },
    },
  },
];

describe('reconciling a default role', () => {
  for (const { name, existing, want } of roleRows) {
    test(name, () => {
      const completed = reconcileRole(existing, standard);
      assert.deepEqual(completed, want);
      assert.equal(reconcileRole(completed, standard), completed, 'twice changes nothing');
    });
  }

  test('adds missing selectors of an aggregated role and ignores its rules', () => {
    const own = { clusterRoleSelectors: [{ matchLabels: { mine: 'true' } }] };
    const completed = reconcileRole(
      { ...aggregated('view'), rules: [extra], aggregationRule: own },
      aggregated('view'),
    );
    assert.deepEqual(completed.aggregationRule?.clusterRoleSelectors, [
      { matchLabels: { mine: 'true' } },
      { matchLabels: { 'rbac.authorization.k8s.io/aggregate-to-view': 'true' } },
    ]);
    assert.deepEqual(completed.rules, [extra]);
  });

  test('adds missing subjects of a binding unless it has another role or is unmanaged', () => {
    const wanted = binding('b', [group('one'), group('two')]);
    const completed = reconcileBinding({ ...wanted, subjects: [user('me'), group('two')] }, wanted);
    assert.deepEqual(completed.subjects, [user('me'), group('two'), group('one')]);
    assert.equal(reconcileBinding(completed, wanted), completed);
    const other: ClusterRoleBinding = { ...wanted, subjects: [], roleRef: { ...wanted.roleRef, name: 'x' } };
    assert.equal(reconcileBinding(other, wanted), other);
    const own: ClusterRoleBinding = { ...wanted, subjects: [], metadata: { name: 'b', annotations: kept } };
    assert.equal(reconcileBinding(own, wanted), own);
  });
});

const rbac = '/apis/rbac.authorization.k8s.io/v1';
const merge = 'application/merge-patch+json';

const snapshot = async (server: TestServer): Promise<Record<string, string>> => {
  const lists = await Promise.all(
    ['clusterroles', 'clusterrolebindings', 'roles', 'rolebindings'].map((plural) =>
      server.ask('GET', `${rbac}/${plural}`),
    ),
  );
  const items = lists.flatMap(({ body }) => body.items as ClusterRole[]);
  return Object.fromEntries(items.map(({ metadata: { uid, resourceVersion } }) => [uid ?? '', resourceVersion ?? '']));
};

describe('at start', () => {
  test('creates and binds every default role, and a restart writes nothing', async () => {
    await using store = openMemoryStore();
    let before: Record<string, string>;
    {
      await using server = await testServer({ store });
      for (const { metadata } of [...kubernetesRoles, ...fairleadRoles]) {
        const url = `${rbac}/clusterroles/${metadata.name}`;
        assert.equal((await server.ask('GET', url)).status, 200, url);
      }
      for (const { metadata } of [...kubernetesBindings, ...fairleadBindings]) {
        const url = `${rbac}/clusterrolebindings/${metadata.name}`;
        assert.equal((await server.ask('GET', url)).status, 200, url);
      }
      before = await snapshot(server);
    }
    await using server = await testServer({ store });
    assert.deepEqual(await snapshot(server), before);
  });

  test('keeps changes of an administrator and adds missing rules', async () => {
    await using store = openMemoryStore();
    const get = async (server: TestServer, path: string): Promise<ClusterRole & { subjects: unknown[] }> =>
      (await server.ask('GET', `${rbac}/${path}`)).body;
    {
      await using server = await testServer({ store });
      const patch = async (path: string, body: object): Promise<void> =>
        assert.equal((await server.ask('PATCH', `${rbac}/${path}`, { body, type: merge })).status, 200);
      await patch('clusterroles/system:basic-user', { rules: [extra] });
      await patch('clusterroles/system:monitoring', { metadata: { annotations: kept }, rules: [] });
      await patch('clusterrolebindings/system:discovery', { subjects: [user('me')] });
      await patch('clusterrolebindings/system:basic-user', { metadata: { annotations: kept }, subjects: [] });
      await patch('clusterroles/fairlead:dns', { metadata: { labels: { mine: 'yes' } } });
      assert.equal((await server.ask('DELETE', `${rbac}/clusterroles/view`)).status, 200);
    }
    await using server = await testServer({ store });
    const basic = await get(server, 'clusterroles/system:basic-user');
    assert.deepEqual(basic.rules?.[0], extra);
    assert.equal(basic.rules?.length, 3);
    assert.deepEqual((await get(server, 'clusterroles/system:monitoring')).rules ?? [], []);
    assert.deepEqual((await get(server, 'clusterrolebindings/system:discovery')).subjects, [
      user('me'),
      group('system:authenticated'),
    ]);
    assert.deepEqual((await get(server, 'clusterrolebindings/system:basic-user')).subjects ?? [], []);
    assert.equal((await get(server, 'clusterroles/fairlead:dns')).metadata.labels?.['mine'], 'yes');
    assert.ok(JSON.stringify((await get(server, 'clusterroles/view')).rules).includes('services'));
  });

  test('two servers over one store create the same roles', async () => {
    await using store = openMemoryStore();
    const servers = await Promise.all([testServer({ store }), testServer({ store })]);
    const [one, two] = servers;
    assert.deepEqual(await snapshot(one), await snapshot(two));
    for (const server of servers) await server[Symbol.asyncDispose]();
  });
});

describe('the roles of parts', () => {
  test('name served kinds and have no wildcards', () => {
    const known = new Set(kinds.map(({ group: name, plural }) => `${name}/${plural}`));
    for (const [part, rules] of Object.entries(partRules)) {
      for (const { apiGroups = [], resources = [], verbs } of rules) {
        assert.ok(!verbs?.includes('*'), part);
        for (const resource of resources) {
          const [plural = ''] = resource.split('/');
          assert.ok(
            apiGroups.some((name) => known.has(`${name}/${plural}`)),
            `${part}: ${resource}`,
          );
        }
      }
    }
  });

  test('cannot read Secrets or change roles', () => {
    for (const [part, rules] of Object.entries(partRules)) {
      assert.ok(!JSON.stringify(rules).match(/secrets|roles|rolebindings|impersonate/), part);
    }
  });

  test('let the garbage collector only read, delete and patch', () => {
    const [first, ...others] = collectorRules;
    assert.deepEqual(first, on('*', '*', 'get list watch delete patch'));
    for (const { resources } of others) assert.deepEqual(resources, ['events']);
  });

  const named = { metadata: { name: 'x' } };
  const rows: readonly { part: string; method: string; path: string; body: object; status: number }[] = [
    { part: 'controllers', method: 'POST', path: '/api/v1/namespaces/default/services', body: named, status: 403 },
    { part: 'controllers', method: 'POST', path: '/api/v1/namespaces/default/secrets', body: named, status: 403 },
    { part: 'controllers', method: 'POST', path: '/api/v1/namespaces', body: named, status: 403 },
    {
      part: 'controllers',
      method: 'PUT',
      path: '/api/v1/namespaces/default/services/kubernetes',
      body: {},
      status: 403,
    },
    { part: 'controllers', method: 'DELETE', path: '/api/v1/namespaces/default/pods', body: named, status: 403 },
    { part: 'controllers', method: 'PUT', path: '/api/v1/namespaces/default/finalize', body: named, status: 403 },
    // Its patches cannot escalate its permissions.
    {
      part: 'controllers',
      method: 'PATCH',
      path: '/apis/rbac.authorization.k8s.io/v1/clusterroles/fairlead:controllers',
      body: { rules: [on('', 'secrets', '*')] },
      status: 403,
    },
  ];
  for (const { part, method, path, body, status } of rows) {
    test(`do not let ${part} ${method} ${path}`, async () => {
      await using server = await testServer();
      const client = server.as({ name: `system:fairlead:${part}` });
      const type = method === 'PATCH' ? merge : 'application/json';
      assert.equal((await client.ask(method, path, { body, type })).status, status);
    });
  }

  test('let the controllers work without garbage collection', async () => {
    await using server = await testServer();
    const client = server.as({ name: 'system:fairlead:controllers' });
    const secrets = async (): Promise<number> => (await client.ask('GET', '/api/v1/secrets')).status;
    assert.equal(await secrets(), 200);
    await server.ask('DELETE', `${rbac}/clusterrolebindings/fairlead:garbage-collector`);
    assert.equal(await secrets(), 403);
    for (const path of [
      '/api/v1/pods',
      '/api/v1/services',
      '/api/v1/endpoints',
      '/apis/discovery.k8s.io/v1/endpointslices',
    ]) {
      assert.equal((await client.ask('GET', path)).status, 200, path);
    }
  });

  for (const [example, count] of [
    ['controllers', 4],
    ['loadbalancer', 2],
    ['multicluster', 3],
    ['publisher', 2],
  ] as const) {
    test(`equal those of examples/rbac/${example}.yaml for other clusters`, () => {
      const file = join(import.meta.dirname, `../../../../../examples/rbac/${example}.yaml`);
      const roles = (loadAll(readFileSync(file, 'utf8')) as ClusterRole[]).filter(({ rules }) => rules !== undefined);
      const given = roles.map(({ metadata, rules }) => [metadata.name ?? '', rules] as const);
      const standard = [...fairleadRoles, leaseRole].map(
        ({ metadata, rules }) => [metadata.name ?? '', rules] as const,
      );
      for (const [name, rules] of given) {
        assert.deepEqual(rules, standard.find(([other]) => other === name)?.[1], name);
      }
      assert.equal(given.length, count);
    });
  }

  test('allow leases in kube-system only', async () => {
    await using server = await testServer();
    const body = { metadata: { name: 'leader' }, spec: { holderIdentity: 'me' } };
    const create = async (part: string, namespace: string): Promise<number> =>
      (
        await server
          .as({ name: `system:fairlead:${part}` })
          .ask('POST', `/apis/coordination.k8s.io/v1/namespaces/${namespace}/leases?dryRun=All`, { body })
      ).status;
    assert.equal(await create('controllers', 'kube-system'), 201);
    assert.equal(await create('multicluster', 'kube-system'), 201);
    assert.equal(await create('controllers', 'default'), 403);
    assert.equal(await create('dns', 'kube-system'), 403);
  });
});
