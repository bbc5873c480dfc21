import assert from 'node:assert/strict';

import type { TestServer } from './server.ts';

const rbac = '/apis/rbac.authorization.k8s.io/v1';

/** Grants rules to a user in one namespace, or in all if it is ''. */
export async function grant(
  server: TestServer,
  { user, namespace, rules }: { readonly user: string; readonly namespace: string; readonly rules: readonly object[] },
): Promise<void> {
  const name = `${user}-${namespace}`;
  const [roles, bindings, kind] =
    namespace === ''
      ? [`${rbac}/clusterroles`, `${rbac}/clusterrolebindings`, 'ClusterRole']
      : [`${rbac}/namespaces/${namespace}/roles`, `${rbac}/namespaces/${namespace}/rolebindings`, 'Role'];
  const role = await server.ask('POST', roles, { body: { metadata: { name }, rules } });
  assert.equal(role.status, 201, role.text);
  const subjects = [{ kind: 'User', name: user }];
  const bound = await server.ask('POST', bindings, { body: { metadata: { name }, subjects, roleRef: { kind, name } } });
  assert.equal(bound.status, 201, bound.text);
}
