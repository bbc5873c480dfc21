import assert from 'node:assert/strict';
import { test } from 'node:test';

import fc from 'fast-check';

import type { Binding, Subject } from '../../../api/kinds/rbac/binding.ts';
import type { Role } from '../../../api/kinds/rbac/role/kind.ts';
import type { ApiObject } from '../../../api/metadata.ts';
import type { User } from '../../../api/user.ts';
import type { TestServer } from '../../testing/server.ts';
import { testServer } from '../../testing/server.ts';
import type { ResourceAttributes } from './attributes.ts';
import { allows, normalized } from './rules.ts';

const rbac = '/apis/rbac.authorization.k8s.io/v1';
const namespaces = ['default', 'kube-public'];
const names = ['a', 'b'];
const resources = ['pods', 'services'];

type Step =
  | { readonly do: 'role'; readonly namespace: string; readonly name: string; readonly rules: Role['rules'] }
  | {
      readonly do: 'bind';
      readonly namespace: string;
      readonly name: string;
      readonly kind: string;
      readonly role: string;
      readonly subjects: readonly Subject[];
    }
  | { readonly do: 'delete'; readonly what: 'role' | 'binding'; readonly namespace: string; readonly name: string };

const anyNamespace = fc.constantFrom('', ...namespaces);
const anyName = fc.constantFrom(...names);
const anySubject: fc.Arbitrary<Subject> = fc.oneof(
  fc.record({ kind: fc.constant('User'), name: fc.constantFrom('u1', 'u2', 'system:serviceaccount:default:u1') }),
  fc.record({ kind: fc.constant('Group'), name: fc.constantFrom('g1', 'g2', 'u1') }),
  fc.record({
    kind: fc.constant('ServiceAccount'),
    name: fc.constant('u1'),
    namespace: fc.constantFrom(...namespaces),
  }),
);
const anyRules: fc.Arbitrary<Role['rules']> = fc.array(
  fc.record({
    verbs: fc.constant(['get']),
    apiGroups: fc.constant(['']),
    resources: fc.subarray([...resources, '*'], { minLength: 1 }),
  }),
  { maxLength: 2 },
);
const anyStep: fc.Arbitrary<Step> = fc.oneof(
  fc.record({ do: fc.constant('role' as const), namespace: anyNamespace, name: anyName, rules: anyRules }),
  fc.record({
    do: fc.constant('bind' as const),
    namespace: anyNamespace,
    name: anyName,
    kind: fc.constantFrom('Role', 'ClusterRole'),
    role: anyName,
    subjects: fc.array(anySubject, { maxLength: 3 }),
  }),
  fc.record({
    do: fc.constant('delete' as const),
    what: fc.constantFrom('role' as const, 'binding' as const),
    namespace: anyNamespace,
    name: anyName,
  }),
);

const rolesIn = (namespace: string): string =>
  namespace === '' ? `${rbac}/clusterroles` : `${rbac}/namespaces/${namespace}/roles`;
const bindingsIn = (namespace: string): string =>
  namespace === '' ? `${rbac}/clusterrolebindings` : `${rbac}/namespaces/${namespace}/rolebindings`;

async function perform(server: TestServer, step: Step): Promise<void> {
  const { namespace, name } = step;
  if (step.do === 'delete') {
    await server.ask('DELETE', `${step.what === 'role' ? rolesIn(namespace) : bindingsIn(namespace)}/${name}`);
  } else if (step.do === 'role') {
    await server.ask('PUT', `${rolesIn(namespace)}/${name}`, { body: { metadata: { name }, rules: step.rules } });
  } else {
    const kind = namespace === '' ? 'ClusterRole' : step.kind;
    // A change of the role is rejected with 422 and leaves the binding unchanged.
    const body = { metadata: { name }, roleRef: { kind, name: step.role }, subjects: step.subjects };
    await server.ask('PUT', `${bindingsIn(namespace)}/${name}`, { body });
  }
}

type Objects = Readonly<
  Record<'roles' | 'clusterroles' | 'rolebindings' | 'clusterrolebindings', readonly ApiObject[]>
>;

async function readAll(server: TestServer): Promise<Objects> {
  const list = async (plural: string): Promise<readonly ApiObject[]> =>
    (await server.ask('GET', `${rbac}/${plural}`)).body.items;
  return {
    roles: await list('roles'),
    clusterroles: await list('clusterroles'),
    rolebindings: await list('rolebindings'),
    clusterrolebindings: await list('clusterrolebindings'),
  };
}

/** A naive implementation that checks every binding. */
function naive(objects: Objects, user: User, attributes: ResourceAttributes): boolean {
  const isUser = (subject: Subject, binding: Binding): boolean => {
    if (subject.kind === 'User') return subject.name === user.name;
    if (subject.kind === 'Group') return user.groups.includes(subject.name);
    const namespace = subject.namespace ?? binding.metadata.namespace;
    return user.name === `system:serviceaccount:${namespace}:${subject.name}`;
  };
  const local = objects.rolebindings.filter(({ metadata }) => metadata.namespace === attributes.namespace);
  return ([...objects.clusterrolebindings, ...local] as Binding[]).some((binding) => {
    if (!(binding.subjects ?? []).some((subject) => isUser(subject, binding))) return false;
    const { kind, name } = binding.roleRef;
    const roles = (kind === 'Role' ? objects.roles : objects.clusterroles) as readonly Role[];
    const role = roles.find(
      ({ metadata }) =>
        metadata.name === name && (kind === 'ClusterRole' || metadata.namespace === binding.metadata.namespace),
    );
    return role !== undefined && allows((role.rules ?? []).map(normalized), attributes);
  });
}

const users: readonly User[] = [
  { name: 'u1', uid: '', groups: [] },
  { name: 'u2', uid: '', groups: ['g1'] },
  { name: 'u3', uid: '', groups: ['g2', 'u1'] },
  { name: 'system:serviceaccount:default:u1', uid: '', groups: [] },
  { name: 'system:serviceaccount:kube-public:u1', uid: '', groups: [] },
];

test('decides as a naive implementation after any sequence of writes', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(anyStep, { minLength: 1, maxLength: 12 }), async (steps) => {
      await using server = await testServer();
      for (const step of steps) await perform(server, step);
      const objects = await readAll(server);
      for (const user of users) {
        for (const namespace of ['', ...namespaces]) {
          for (const resource of resources) {
            const attributes = {
              isResource: true as const,
              verb: 'get',
              group: '',
              resource,
              subresource: '',
              namespace,
              name: '',
            };
            const decided = server.context.access.isAllowed(user, attributes);
            assert.equal(decided, naive(objects, user, attributes), JSON.stringify({ user, namespace, resource }));
          }
        }
      }
    }),
    { numRuns: 15 },
  );
});
