import assert from 'node:assert/strict';
import { describe, test } from 'node:test';

import type { ClusterRole } from '../../../api/kinds/rbac/clusterrole/kind.ts';
import type { TestServer } from '../../testing/server.ts';
import { testServer } from '../../testing/server.ts';
import { until } from '../../testing/until.ts';
import { aggregatedRules } from './aggregation.ts';

const rule = (resource: string): NonNullable<ClusterRole['rules']>[number] => ({
  verbs: ['get'],
  apiGroups: [''],
  resources: [resource],
});
const role = (name: string, labels: Record<string, string>, ...resources: readonly string[]): ClusterRole => ({
  metadata: { name, labels },
  rules: resources.map(rule),
});
const aggregating = (
  ...selectors: NonNullable<NonNullable<ClusterRole['aggregationRule']>['clusterRoleSelectors']>
): ClusterRole => ({
  metadata: { name: 'sum', labels: { to: 'sum' } },
  rules: [rule('old')],
  aggregationRule: { clusterRoleSelectors: selectors },
});

const others = [
  role('c', { to: 'sum' }, 'services'),
  role('a', { to: 'sum', also: 'x' }, 'pods', 'services'),
  role('b', { to: 'other' }, 'nodes'),
  role('d', { also: 'x' }, 'secrets'),
];

const rows: readonly { name: string; given: ClusterRole; want: readonly string[] }[] = [
  { name: 'no role is selected', given: aggregating({ matchLabels: { to: 'nobody' } }), want: [] },
  {
    name: 'sorts by role name without duplicate rules',
    given: aggregating({ matchLabels: { to: 'sum' } }),
    want: ['pods', 'services'],
  },
  {
    name: 'keeps the order of selectors',
    given: aggregating({ matchLabels: { also: 'x' } }, { matchLabels: { to: 'other' } }),
    want: ['pods', 'services', 'secrets', 'nodes'],
  },
  {
    name: 'supports expressions',
    given: aggregating({
      matchExpressions: [
        { key: 'also', operator: 'Exists' },
        { key: 'to', operator: 'DoesNotExist' },
      ],
    }),
    want: ['secrets'],
  },
  {
    name: 'an empty selector selects all other roles',
    given: aggregating({}),
    want: ['pods', 'services', 'nodes', 'secrets'],
  },
];

describe('aggregated rules', () => {
  for (const { name, given, want } of rows) {
    test(name, () => {
      const rules = aggregatedRules(given, [...others, given]);
      assert.deepEqual(
        rules.map(({ resources }) => resources?.[0]),
        want,
      );
    });
  }
});

const roles = '/apis/rbac.authorization.k8s.io/v1/clusterroles';
const merge = 'application/merge-patch+json';

async function resourcesOf(server: TestServer, name: string): Promise<readonly string[]> {
  const { body } = await server.ask('GET', `${roles}/${name}`);
  return (body.rules ?? []).flatMap(({ resources = [] }: { resources?: string[] }) => resources);
}

describe('aggregation', () => {
  test('adds and removes the rules of labelled roles in view, edit and admin', async () => {
    await using server = await testServer();
    const labels = { 'rbac.authorization.k8s.io/aggregate-to-view': 'true' };
    const rules = [{ verbs: ['get'], apiGroups: ['example.org'], resources: ['widgets'] }];
    await server.ask('POST', roles, { body: { metadata: { name: 'widgets', labels }, rules } });
    for (const name of ['view', 'edit', 'admin']) {
      await until(`widgets in ${name}`, async () => (await resourcesOf(server, name)).includes('widgets'));
    }
    await server.ask('DELETE', `${roles}/widgets`);
    for (const name of ['view', 'edit', 'admin']) {
      await until(`no widgets in ${name}`, async () => !(await resourcesOf(server, name)).includes('widgets'));
    }
  });

  test('replaces manually written rules', async () => {
    await using server = await testServer();
    const before = await resourcesOf(server, 'view');
    assert.ok(before.includes('services') && before.includes('serviceimports') && !before.includes('secrets'));
    const rules = [{ verbs: ['*'], apiGroups: ['*'], resources: ['secrets'] }];
    await server.ask('PATCH', `${roles}/view`, { body: { rules }, type: merge });
    await until('the rules are back', async () => !(await resourcesOf(server, 'view')).includes('secrets'));
    assert.deepEqual(await resourcesOf(server, 'view'), before);
  });

  test('a role without its aggregationRule keeps its rules', async () => {
    await using server = await testServer();
    await server.ask('POST', roles, { body: role('part', { to: 'sum' }, 'pods') });
    await server.ask('POST', roles, { body: { ...aggregating({ matchLabels: { to: 'sum' } }), rules: null } });
    await until('the rules are aggregated', async () => (await resourcesOf(server, 'sum')).includes('pods'));
    await server.ask('PATCH', `${roles}/sum`, { body: { aggregationRule: null }, type: merge });
    await server.ask('DELETE', `${roles}/part`);
    await server.ask('POST', roles, { body: role('later', { to: 'sum' }, 'nodes') });
    assert.deepEqual(await resourcesOf(server, 'sum'), ['pods']);
  });

  test('converges for roles that aggregate each other', async () => {
    await using server = await testServer();
    const pair = (name: string, from: string): object => ({
      metadata: { name, labels: { in: name } },
      rules: [],
      aggregationRule: { clusterRoleSelectors: [{ matchLabels: { in: from } }, { matchLabels: { base: name } }] },
    });
    await server.ask('POST', roles, { body: pair('one', 'two') });
    await server.ask('POST', roles, { body: pair('two', 'one') });
    await server.ask('POST', roles, { body: role('base', { base: 'one' }, 'pods') });
    await until('both have it', async () => (await resourcesOf(server, 'two')).includes('pods'));
    const { body } = await server.ask('GET', `${roles}/two`);
    await server.ask('POST', '/api/v1/namespaces/default/configmaps', { body: { metadata: { name: 'later' } } });
    assert.equal(
      (await server.ask('GET', `${roles}/two`)).body.metadata.resourceVersion,
      body.metadata.resourceVersion,
    );
  });
});
