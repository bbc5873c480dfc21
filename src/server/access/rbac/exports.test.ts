// Permissions to export Services, with only the rules in examples/rbac.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';

import { loadAll } from 'js-yaml';

import type { PolicyRule } from '../../../api/kinds/rbac/policy-rule.ts';
import type { ApiObject } from '../../../api/metadata.ts';
import { openMemoryStore } from '../../../store/memory/memory.ts';
import type { TestServer } from '../../testing/server.ts';
import { testServer } from '../../testing/server.ts';
import { until } from '../../testing/until.ts';

const examples = join(import.meta.dirname, '../../../../examples/rbac');
const today = 'multicluster.x-k8s.io/v1beta1';
const groups = [today, 'multicluster.k8s.io/v1alpha1'];
const exports = (groupVersion: string, namespace: string): string =>
  `/apis/${groupVersion}/namespaces/${namespace}/serviceexports`;
const anExport = (apiVersion: string, namespace?: string): { readonly body: ApiObject } => ({
  body: {
    apiVersion,
    kind: 'ServiceExport',
    metadata: { name: 'web', ...(namespace === undefined ? {} : { namespace }) },
  },
});

/** Applies a manifest like `kubectl apply --server-side`. */
async function apply(server: TestServer, file: string): Promise<void> {
  for (const object of loadAll(readFileSync(join(examples, file), 'utf8')) as ApiObject[]) {
    const { apiVersion = '', kind = '', metadata } = object;
    const place = metadata.namespace === undefined ? '' : `/namespaces/${metadata.namespace}`;
    const root = apiVersion === 'v1' ? '/api/v1' : `/apis/${apiVersion}`;
    const url = `${root}${place}/${kind.toLowerCase()}s/${metadata.name}?fieldManager=admin&force=true`;
    const answer = await server.ask('PATCH', url, { body: object, type: 'application/apply-patch+yaml' });
    assert.ok(answer.status < 300, answer.text);
  }
}

/** Whether a role may create exports. */
async function mayExport(server: TestServer, role: string): Promise<boolean> {
  const { body } = await server.ask('GET', `/apis/rbac.authorization.k8s.io/v1/clusterroles/${role}`);
  const rules: readonly PolicyRule[] = body.rules;
  return rules.some(({ resources, verbs }) => resources?.includes('serviceexports') && verbs?.includes('create'));
}

describe('exports follow roles', () => {
  test('MCS-31 every namespace may be exported from by default', async () => {
    await using server = await testServer();
    await apply(server, 'owners.yaml');
    const owner = server.as({ name: 'olivia' });
    for (const groupVersion of groups) {
      for (const namespace of ['default', 'kube-system']) {
        const created = await server.ask('POST', exports(groupVersion, namespace), anExport(groupVersion));
        assert.equal(created.status, 201);
        assert.match(created.warnings[0] ?? '', /should not be exported to other clusters/);
      }
      for (const namespace of ['shop', 'vault']) {
        const created = await owner.ask('POST', exports(groupVersion, namespace), anExport(groupVersion));
        assert.deepEqual([created.status, created.warnings], [201, []]);
      }
    }
  });

  test('MCS-30 rejects exports of the owner of a locked namespace with 403 and leaves nothing behind', async () => {
    await using server = await testServer();
    await apply(server, 'owners.yaml');
    await apply(server, 'lock-exports.yaml');
    await until('exporting is no part of admin', async () => !(await mayExport(server, 'admin')));
    const owner = server.as({ name: 'olivia' });
    for (const groupVersion of groups) {
      const [group] = groupVersion.split('/');
      const refused = await owner.ask('POST', exports(groupVersion, 'vault'), anExport(groupVersion));
      assert.equal(refused.status, 403);
      assert.equal(
        refused.body.message,
        `serviceexports.${group} is forbidden: User "olivia" cannot create resource "serviceexports" in API group "${group}" in the namespace "vault"`,
      );
      const url = `${exports(groupVersion, 'vault')}/web`;
      const applied = await owner.ask('PATCH', `${url}?fieldManager=olivia`, {
        body: { apiVersion: groupVersion, kind: 'ServiceExport', metadata: { name: 'web' } },
        type: 'application/apply-patch+yaml',
      });
      assert.equal(applied.status, 403);
      assert.equal((await server.ask('GET', url)).status, 404);
      assert.equal((await owner.ask('GET', exports(groupVersion, 'vault'))).body.items.length, 0);
      assert.equal((await owner.ask('POST', exports(groupVersion, 'shop'), anExport(groupVersion))).status, 201);
    }
  });

  test('MCS-30 the lock survives a restart of the server', async () => {
    await using store = openMemoryStore();
    {
      await using server = await testServer({ store });
      assert.equal(await mayExport(server, 'edit'), true);
      await apply(server, 'lock-exports.yaml');
    }
    await using server = await testServer({ store });
    assert.equal(await mayExport(server, 'edit'), false);
    await apply(server, 'owners.yaml');
    const owner = server.as({ name: 'olivia' });
    assert.equal((await owner.ask('POST', exports(today, 'vault'), anExport(today))).status, 403);
  });

  test('MCS-32 the owner of one namespace cannot export from another', async () => {
    await using server = await testServer();
    await apply(server, 'owners.yaml');
    const owner = server.as({ name: 'olivia' });
    const elsewhere = await owner.ask('POST', exports(today, 'default'), anExport(today));
    assert.equal(elsewhere.status, 403);
    assert.equal((await owner.ask('POST', exports(today, 'shop'), anExport(today, 'default'))).status, 400);
    assert.equal((await server.ask('GET', `${exports(today, 'default')}/web`)).status, 404);
  });

  test('MCS-27 MCS-33 an impersonating exporter has exactly the permissions of the impersonated user', async () => {
    await using server = await testServer();
    await apply(server, 'owners.yaml');
    await apply(server, 'lock-exports.yaml');
    await until('exporting is no part of admin', async () => !(await mayExport(server, 'admin')));
    const rules = [{ apiGroups: [''], resources: ['users'], verbs: ['impersonate'], resourceNames: ['olivia'] }];
    const [roles, bindings] = ['clusterroles', 'clusterrolebindings'].map(
      (name) => `/apis/rbac.authorization.k8s.io/v1/${name}`,
    );
    await server.ask('POST', roles ?? '', { body: { metadata: { name: 'for-olivia' }, rules } });
    const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'for-olivia' };
    const subjects = [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'exporter' }];
    await server.ask('POST', bindings ?? '', { body: { metadata: { name: 'for-olivia' }, roleRef, subjects } });
    const automation = server.as({ name: 'exporter' });
    const forUser = (user: string, namespace: string): Promise<number> =>
      automation
        .ask('POST', exports(today, namespace), { ...anExport(today), headers: { 'impersonate-user': user } })
        .then(({ status }) => status);
    assert.equal((await automation.ask('POST', exports(today, 'shop'), anExport(today))).status, 403, 'not by itself');
    assert.equal(await forUser('olivia', 'vault'), 403, 'not where she may not');
    assert.equal(await forUser('kubernetes-admin', 'vault'), 403, 'not as a user that it may not impersonate');
    assert.equal((await server.ask('GET', exports(today, 'vault'))).body.items.length, 0);
    assert.equal(await forUser('olivia', 'shop'), 201);
  });
});
