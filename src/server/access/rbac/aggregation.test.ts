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
const gathering = (
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
  { name: 'nothing is selected', given: gathering({ matchLabels: { to: 'nobody' } }), want: [] },
  { name: 'by name, each rule once', given: gathering({ matchLabels: { to: 'sum' } }), want: ['pods', 'services'] },
  {
    name: 'by selectors in their order',
    given: gathering({ matchLabels: { also: 'x' } }, { matchLabels: { to: 'other' } }),
    want: ['pods', 'services', 'secrets', 'nodes'],
  },
  {
    name: 'by expressions',
    given: gathering({
      matchExpressions: [
        { key: 'also', operator: 'Exists' },
        { key: 'to', operator: 'DoesNotExist' },
      ],
    }),
    want: ['secrets'],
  },
  {
    name: 'an empty selector selects all, but never itself',
    given: gathering({}),
    want: ['pods', 'services', 'nodes', 'secrets'],
  },
];

describe('a role gathers rules', () => {
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
  test('what is labelled reaches view, edit and admin, and leaves them again', async () => {
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

  test('rules that somebody writes by hand are replaced', async () => {
    await using server = await testServer();
    const before = await resourcesOf(server, 'view');
    assert.ok(before.includes('services') && before.includes('serviceimports') && !before.includes('secrets'));
    const rules = [{ verbs: ['*'], apiGroups: ['*'], resources: ['secrets'] }];
    await server.ask('PATCH', `${roles}/view`, { body: { rules }, type: merge });
    await until('the rules are back', async () => !(await resourcesOf(server, 'view')).includes('secrets'));
    assert.deepEqual(await resourcesOf(server, 'view'), before);
  });

  test('a role that stops gathering keeps what it has', async () => {
    await using server = await testServer();
    await server.ask('POST', roles, { body: role('part', { to: 'sum' }, 'pods') });
    await server.ask('POST', roles, { body: { ...gathering({ matchLabels: { to: 'sum' } }), rules: null } });
    await until('the rules are gathered', async () => (await resourcesOf(server, 'sum')).includes('pods'));
    await server.ask('PATCH', `${roles}/sum`, { body: { aggregationRule: null }, type: merge });
    await server.ask('DELETE', `${roles}/part`);
    await server.ask('POST', roles, { body: role('later', { to: 'sum' }, 'nodes') });
    assert.deepEqual(await resourcesOf(server, 'sum'), ['pods']);
  });

  test('two that gather each other come to rest', async () => {
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
