import assert from 'node:assert/strict';
import { describe, test } from 'node:test';

import type { FieldError } from '../../field-errors.ts';
import { gatesWith } from '../../gates.ts';
import type { Kind } from '../../kind.ts';
import type { ApiObject } from '../../metadata.ts';
import { decode } from '../../schema/decode.ts';
import { clusterRoleKind } from './clusterrole/kind.ts';
import { clusterRoleBindingKind } from './clusterrolebinding/kind.ts';
import { roleKind } from './role/kind.ts';
import { roleBindingKind } from './rolebinding/kind.ts';

const context = { gates: gatesWith(), loopbackEndpoints: [] };
const texts = (errors: readonly FieldError[]): string[] => errors.map(({ path, body }) => `${path}: ${body}`);
const read = (kind: Kind, given: object): ApiObject =>
  kind.applyDefaults(decode<ApiObject>(kind.schema, { metadata: { name: 'x' }, ...given }).object);

const rbac = 'rbac.authorization.k8s.io';
const subdomain =
  "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";

const rows: readonly { name: string; kind: Kind; given: object; want: readonly string[] }[] = [
  { name: 'no rules', kind: roleKind, given: {}, want: [] },
  {
    name: 'a rule',
    kind: roleKind,
    given: { rules: [{ verbs: ['get'], apiGroups: [''], resources: ['pods'] }] },
    want: [],
  },
  {
    name: 'non-resource URLs, an empty rule and an incomplete rule',
    kind: roleKind,
    given: { rules: [{ verbs: [], nonResourceURLs: ['/x'], apiGroups: [''] }, { verbs: ['get'] }, {}] },
    want: [
      'rules[0].verbs: Required value: verbs must contain at least one value',
      'rules[0].nonResourceURLs: Invalid value: ["/x"]: namespaced rules cannot apply to non-resource URLs',
      'rules[0].nonResourceURLs: Invalid value: ["/x"]: rules cannot apply to both regular resources and non-resource URLs',
      'rules[1].apiGroups: Required value: resource rules must supply at least one api group',
      'rules[1].resources: Required value: resource rules must supply at least one resource',
      'rules[2].verbs: Required value: verbs must contain at least one value',
      'rules[2].apiGroups: Required value: resource rules must supply at least one api group',
      'rules[2].resources: Required value: resource rules must supply at least one resource',
    ],
  },
  {
    name: 'non-resource URLs of a ClusterRole',
    kind: clusterRoleKind,
    given: { rules: [{ verbs: ['get'], nonResourceURLs: ['/x'] }] },
    want: [],
  },
  {
    name: 'non-resource URLs beside resources, and an empty aggregation rule',
    kind: clusterRoleKind,
    given: { rules: [{ verbs: ['get'], nonResourceURLs: ['x'], resources: ['a'] }], aggregationRule: {} },
    want: [
      'rules[0].nonResourceURLs: Invalid value: ["x"]: rules cannot apply to both regular resources and non-resource URLs',
      'aggregationRule.clusterRoleSelectors: Required value: at least one clusterRoleSelector required if aggregationRule is non-nil',
    ],
  },
  {
    name: 'invalid selectors',
    kind: clusterRoleKind,
    given: {
      aggregationRule: {
        clusterRoleSelectors: [
          {},
          {
            matchExpressions: [
              { key: 'k', operator: 'Foo', values: ['x'] },
              { key: 'k', operator: 'In' },
              { key: 'k', operator: 'Exists', values: ['x'] },
            ],
          },
        ],
      },
    },
    want: [
      'aggregationRule.clusterRoleSelectors[1].matchExpressions[0].operator: Invalid value: "Foo": not a valid selector operator',
      "aggregationRule.clusterRoleSelectors[1].matchExpressions[1].values: Required value: must be specified when `operator` is 'In' or 'NotIn'",
      "aggregationRule.clusterRoleSelectors[1].matchExpressions[2].values: Forbidden: may not be specified when `operator` is 'Exists' or 'DoesNotExist'",
      'aggregationRule.clusterRoleSelectors[1]: Invalid value: null: invalid label selector.',
    ],
  },
  {
    name: 'no role and invalid subjects',
    kind: roleBindingKind,
    given: {
      subjects: [
        { kind: 'User' },
        { kind: 'ServiceAccount', name: 'A_B', apiGroup: 'x' },
        { kind: 'Foo', name: 'x' },
        { kind: 'Group', name: 'g', apiGroup: 'q' },
      ],
    },
    want: [
      'roleRef.kind: Unsupported value: "": supported values: "Role", "ClusterRole"',
      'roleRef.name: Required value',
      'subjects[0].name: Required value',
      `subjects[1].name: Invalid value: "A_B": ${subdomain}`,
      'subjects[1].apiGroup: Unsupported value: "x": supported values: ""',
      'subjects[2].kind: Unsupported value: "Foo": supported values: "ServiceAccount", "User", "Group"',
      `subjects[3].apiGroup: Unsupported value: "q": supported values: "${rbac}"`,
    ],
  },
  {
    name: 'a service account without a namespace, in one',
    kind: roleBindingKind,
    given: { roleRef: { kind: 'Role', name: 'r' }, subjects: [{ kind: 'ServiceAccount', name: 'ab' }] },
    want: [],
  },
  {
    name: 'a role of a namespace, and a service account of none',
    kind: clusterRoleBindingKind,
    given: {
      roleRef: { kind: 'Role', name: 'a%b', apiGroup: 'z' },
      subjects: [{ kind: 'ServiceAccount', name: 'ab' }],
    },
    want: [
      `roleRef.apiGroup: Unsupported value: "z": supported values: "${rbac}"`,
      'roleRef.kind: Unsupported value: "Role": supported values: "ClusterRole"',
      'roleRef.name: Invalid value: "a%b": may not contain \'%\'',
      'subjects[0].namespace: Required value',
    ],
  },
];

describe('roles and bindings with', () => {
  for (const { name, kind, given, want } of rows) {
    test(`${name}: ${kind.kind}`, () => {
      const object = read(kind, given);
      assert.deepEqual(texts(kind.validateCreate(object, context)), want);
      assert.deepEqual(texts(kind.validateUpdate(object, object, context)), want);
    });
  }
});

test('accepts any URL path segment as a name', () => {
  for (const kind of [roleKind, clusterRoleKind, roleBindingKind, clusterRoleBindingKind]) {
    assert.deepEqual(kind.nameErrors('system:node/x', false, context), ["may not contain '/'"]);
    assert.deepEqual(kind.nameErrors('..', false, context), ["may not be '..'"]);
    assert.deepEqual(kind.nameErrors('system:Node proxier_1 <&>', false, context), []);
  }
});

test('sets default API groups, and keeps given ones', () => {
  const subjects = [
    { kind: 'User', name: 'a' },
    { kind: 'Group', name: 'b', apiGroup: 'own' },
    { kind: 'ServiceAccount', name: 'c', namespace: 'd' },
  ];
  const binding = read(roleBindingKind, { subjects, roleRef: { kind: 'Role', name: 'r' } });
  assert.deepEqual(binding, {
    metadata: { name: 'x' },
    subjects: [{ kind: 'User', apiGroup: rbac, name: 'a' }, subjects[1], subjects[2]],
    roleRef: { apiGroup: rbac, kind: 'Role', name: 'r' },
  });
  assert.deepEqual(roleBindingKind.applyDefaults(binding as never), binding);
});

test('the role of a binding is immutable', () => {
  const old = read(clusterRoleBindingKind, { roleRef: { kind: 'ClusterRole', name: 'view' } });
  const next = read(clusterRoleBindingKind, { roleRef: { kind: 'ClusterRole', name: 'edit' } });
  assert.deepEqual(texts((clusterRoleBindingKind as Kind).validateUpdate(next, old, context)), [
    `roleRef: Invalid value: {"APIGroup":"${rbac}","Kind":"ClusterRole","Name":"edit"}: cannot change roleRef`,
  ]);
});

test('columns of bindings show the role, and the subjects with -o wide', () => {
  const binding = read(roleBindingKind, {
    roleRef: { kind: 'ClusterRole', name: 'view' },
    subjects: [
      { kind: 'User', name: 'a' },
      { kind: 'User', name: 'b' },
      { kind: 'Group', name: 'g' },
      { kind: 'ServiceAccount', name: 's', namespace: 'n' },
    ],
  });
  const cells = (roleBindingKind as Kind).columns.map((column) => [
    column.name,
    column.priority,
    column.cell(binding, 0),
  ]);
  assert.deepEqual(cells, [
    ['Name', 0, 'x'],
    ['Role', 0, 'ClusterRole/view'],
    ['Age', 0, '<unknown>'],
    ['Users', 1, 'a, b'],
    ['Groups', 1, 'g'],
    ['ServiceAccounts', 1, 'n/s'],
  ]);
  assert.deepEqual(
    roleKind.columns.map(({ name }) => name),
    ['Name', 'Created At'],
  );
});
