import assert from 'node:assert/strict';
import { describe, test } from 'node:test';

import type { User } from '../../../api/user.ts';
import { testServer } from '../../testing/server.ts';
import { impersonationTargets, impersonatedUser, readImpersonation } from './impersonation.ts';

const known = 'system:authenticated';
const unknown = 'system:unauthenticated';
const account = 'system:serviceaccount:shop:cart';

const users: readonly {
  readonly name: string;
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly want: Partial<User> | undefined;
}[] = [
  { name: 'no header', headers: [['Accept', '*/*']], want: undefined },
  { name: 'an unknown header', headers: [['Impersonate-Foo', 'x']], want: undefined },
  { name: 'an empty user', headers: [['Impersonate-User', '']], want: undefined },
  { name: 'a user', headers: [['Impersonate-User', 'bob']], want: { name: 'bob', groups: [known] } },
  { name: 'header names in any case', headers: [['IMPERSONATE-user', 'bob']], want: { name: 'bob', groups: [known] } },
  {
    name: 'a group with a comma',
    headers: [
      ['Impersonate-User', 'bob'],
      ['Impersonate-Group', 'g,h'],
      ['impersonate-group', 'i'],
    ],
    want: { name: 'bob', groups: ['g,h', 'i', known] },
  },
  {
    name: 'the first of two users and UIDs',
    headers: [
      ['Impersonate-User', 'bob'],
      ['Impersonate-User', 'carl'],
      ['Impersonate-Uid', '1'],
      ['Impersonate-Uid', '2'],
    ],
    want: { name: 'bob', uid: '1', groups: [known] },
  },
  {
    name: 'extras: keys in lower case, percent-decoded if valid',
    headers: [
      ['Impersonate-User', 'bob'],
      ['Impersonate-Extra-Scopes', 'a, b'],
      ['impersonate-extra-scopes', 'c'],
      ['Impersonate-Extra-Ex%2fMple.Org%2fKey', 'z'],
      ['Impersonate-Extra-a%zzb', 'x'],
    ],
    want: {
      name: 'bob',
      groups: [known],
      extra: { scopes: ['a, b', 'c'], 'ex/mple.org/key': ['z'], 'a%zzb': ['x'] },
    },
  },
  {
    name: 'a name in UTF-8',
    headers: [['Impersonate-User', Buffer.from('Jürgen').toString('latin1')]],
    want: { name: 'Jürgen', groups: [known] },
  },
  {
    name: 'a service account, with its groups',
    headers: [['Impersonate-User', account]],
    want: { name: account, groups: ['system:serviceaccounts', 'system:serviceaccounts:shop', known] },
  },
  {
    name: 'a service account with other groups',
    headers: [
      ['Impersonate-User', account],
      ['Impersonate-Group', 'g'],
    ],
    want: { name: account, groups: ['g', known] },
  },
  {
    name: 'a name that is not a valid service account',
    headers: [['Impersonate-User', 'system:serviceaccount:shop:B_']],
    want: { name: 'system:serviceaccount:shop:B_', groups: [known] },
  },
  {
    name: 'the anonymous user',
    headers: [['Impersonate-User', 'system:anonymous']],
    want: { name: 'system:anonymous', groups: [unknown] },
  },
  {
    name: 'the anonymous user in the group of authenticated users',
    headers: [
      ['Impersonate-User', 'system:anonymous'],
      ['Impersonate-Group', known],
    ],
    want: { name: 'system:anonymous', groups: [known, unknown] },
  },
  {
    name: 'a user in the group of unauthenticated users',
    headers: [
      ['Impersonate-User', 'bob'],
      ['Impersonate-Group', unknown],
    ],
    want: { name: 'bob', groups: [unknown] },
  },
];
describe('the user of impersonation headers', () => {
  for (const { name, headers, want } of users) {
    test(name, () => {
      const requested = readImpersonation(headers.flat());
      const user = requested === undefined ? undefined : impersonatedUser(requested);
      assert.deepEqual(user, want === undefined ? undefined : { uid: '', ...want });
    });
  }
});

const withoutUser: readonly (readonly [headers: Readonly<Record<string, string>>, want: string])[] = [
  [{ 'impersonate-group': 'g' }, '{Group  g    }'],
  [{ 'impersonate-group': '' }, '{Group      }'],
  [{ 'impersonate-uid': 'u' }, '{UID  u  authentication.k8s.io/v1  }'],
  [{ 'impersonate-extra-scopes': 'x' }, '{UserExtra  x  authentication.k8s.io/v1  scopes}'],
  [
    { 'impersonate-uid': 'u', 'impersonate-extra-scopes': 'x', 'impersonate-group': 'g' },
    '{Group  g    } {UserExtra  x  authentication.k8s.io/v1  scopes} {UID  u  authentication.k8s.io/v1  }',
  ],
];
for (const [headers, want] of withoutUser) {
  test(`${Object.keys(headers).join(' and ')} without a user are rejected with 400`, async () => {
    await using server = await testServer();
    const { status, body } = await server.ask('GET', '/api/v1/namespaces', { headers });
    assert.deepEqual([status, body.message], [400, `requested [${want}] without impersonating a user`]);
  });
}

test('checks targets in the order of Kubernetes', () => {
  const headers = [
    'Impersonate-Uid',
    '7',
    'Impersonate-Extra-Scopes',
    'a',
    'Impersonate-Group',
    'g',
    'Impersonate-User',
    account,
  ];
  const requested = readImpersonation(headers);
  assert.ok(requested);
  const own = 'authentication.k8s.io';
  assert.deepEqual(impersonationTargets(requested), [
    { group: '', resource: 'serviceaccounts', subresource: '', namespace: 'shop', name: 'cart' },
    { group: '', resource: 'groups', subresource: '', namespace: '', name: 'g' },
    { group: own, resource: 'userextras', subresource: 'scopes', namespace: '', name: 'a' },
    { group: own, resource: 'uids', subresource: '', namespace: '', name: '7' },
  ]);
});

/** Impersonation by role. */
describe('impersonation', () => {
  const rules: Readonly<Record<string, readonly object[]>> = {
    'any-user': [{ apiGroups: [''], resources: ['users'], verbs: ['impersonate'] }],
    'only-bob': [{ apiGroups: [''], resources: ['users'], resourceNames: ['bob'], verbs: ['impersonate'] }],
    'users-and-group-g': [
      { apiGroups: [''], resources: ['users'], verbs: ['impersonate'] },
      { apiGroups: [''], resources: ['groups'], resourceNames: ['g'], verbs: ['impersonate'] },
    ],
    'users-and-groups': [{ apiGroups: [''], resources: ['users', 'groups'], verbs: ['impersonate'] }],
    'users-and-scopes': [
      { apiGroups: [''], resources: ['users'], verbs: ['impersonate'] },
      { apiGroups: ['authentication.k8s.io'], resources: ['userextras/scopes', 'uids'], verbs: ['impersonate'] },
    ],
    accounts: [{ apiGroups: [''], resources: ['serviceaccounts'], verbs: ['impersonate'] }],
    'everything-but': [{ apiGroups: ['*'], resources: ['*'], verbs: ['get', 'list', 'create', 'update', 'delete'] }],
    nobody: [],
  };
  const bob = { 'impersonate-user': 'bob' };
  const masters = { ...bob, 'impersonate-group': 'system:masters' };
  const refused = (who: string, what: string, where = 'at the cluster scope'): string => {
    const [group = '', resource = '', name = ''] = what.split('|');
    const [plural] = resource.split('/');
    return `${plural}${group === '' ? '' : `.${group}`} "${name}" is forbidden: User "${who}" cannot impersonate resource "${resource}" in API group "${group}" ${where}`;
  };
  const own = 'authentication.k8s.io';
  const matrix: readonly (readonly [
    who: string,
    headers: Readonly<Record<string, string>>,
    refusal: string | undefined,
  ])[] = [
    ['nobody', bob, '|users|bob'],
    ['everything-but', bob, '|users|bob'],
    ['any-user', bob, undefined],
    ['any-user', masters, '|groups|system:masters'],
    ['any-user', { ...bob, 'impersonate-uid': '7' }, `${own}|uids|7`],
    ['any-user', { ...bob, 'impersonate-extra-scopes': 'a' }, `${own}|userextras/scopes|a`],
    ['any-user', { 'impersonate-user': account }, 'shop:|serviceaccounts|cart'],
    ['only-bob', bob, undefined],
    ['only-bob', { 'impersonate-user': 'carl' }, '|users|carl'],
    ['only-bob', { 'impersonate-user': 'kubernetes-admin' }, '|users|kubernetes-admin'],
    ['users-and-group-g', { ...bob, 'impersonate-group': 'g' }, undefined],
    ['users-and-group-g', masters, '|groups|system:masters'],
    ['users-and-groups', masters, undefined],
    ['users-and-scopes', { ...bob, 'impersonate-extra-scopes': 'a', 'impersonate-uid': '7' }, undefined],
    ['users-and-scopes', { ...bob, 'impersonate-extra-other': 'a' }, `${own}|userextras/other|a`],
    ['accounts', { 'impersonate-user': account }, undefined],
    ['accounts', bob, '|users|bob'],
    ['system:anonymous', bob, '|users|bob'],
    ['system:anonymous', masters, '|users|bob'],
  ];
  for (const [who, headers, refusal] of matrix) {
    test(`${who} as ${Object.values(headers).join(', ')}: ${refusal === undefined ? 'allowed' : 'forbidden'}`, async () => {
      await using server = await testServer();
      const rbac = '/apis/rbac.authorization.k8s.io/v1';
      for (const [name, role] of Object.entries(rules)) {
        const made = await server.ask('POST', `${rbac}/clusterroles`, { body: { metadata: { name }, rules: role } });
        assert.equal(made.status, 201, made.text);
        const bound = await server.ask('POST', `${rbac}/clusterrolebindings`, {
          body: {
            metadata: { name },
            roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name },
            subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name }],
          },
        });
        assert.equal(bound.status, 201, bound.text);
      }
      const review = '/apis/authentication.k8s.io/v1/selfsubjectreviews';
      const { status, body } = await server.as({ name: who }).ask('POST', review, { body: {}, headers });
      if (refusal !== undefined) {
        const [place = '', ...rest] = refusal.split('|');
        const isPlaced = place.endsWith(':');
        const where = isPlaced ? `in the namespace "${place.slice(0, -1)}"` : undefined;
        const want = refused(who, [isPlaced ? '' : place, ...rest].join('|'), where);
        assert.deepEqual([status, body.message], [403, want]);
        return;
      }
      assert.equal(status, 201);
      assert.equal(body.status.userInfo.username, headers['impersonate-user']);
    });
  }

  test('gives exactly the permissions of the impersonated user', async () => {
    await using server = await testServer();
    const { status, body } = await server.ask('GET', '/api/v1/namespaces', { headers: bob });
    assert.equal(status, 403);
    assert.match(body.message, /User "bob" cannot list resource "namespaces"/);
    assert.equal((await server.ask('GET', '/api/v1/namespaces', { headers: masters })).status, 200);
  });
});
