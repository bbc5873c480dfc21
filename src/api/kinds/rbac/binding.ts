// RoleBindings and ClusterRoleBindings, which differ only in their scope and in the roles they can grant.
import { ageColumn, column, nameColumn } from '../../columns.ts';
import type { FieldError } from '../../field-errors.ts';
import { invalidAll, invalidValue, notSupported, required } from '../../field-errors.ts';
import type { Column, Kind } from '../../kind.ts';
import { defineKind } from '../../kind.ts';
import { objectSchema } from '../../metadata.ts';
import { dnsSubdomainErrors, pathSegmentErrors, pathSegmentName } from '../../names.ts';
import type { Infer } from '../../schema/infer.ts';
import { always, atomic, list, optional, string, struct } from '../../schema/schema.ts';
import { rbacGroup, rbacSchemas } from './policy-rule.ts';

const subject = atomic(
  struct(`${rbacSchemas}.Subject`, 'A user, a group or a service account that a role is granted to.', {
    kind: always(1, string, 'User, Group or ServiceAccount.', { required: true }),
    apiGroup: optional(2, string, 'rbac.authorization.k8s.io for users and groups, empty for service accounts.'),
    name: always(3, string, 'The name of the user, group or service account.', { required: true }),
    namespace: optional(4, string, 'The namespace of the service account.'),
  }),
);

const roleRef = atomic(
  struct(`${rbacSchemas}.RoleRef`, 'The role that is granted.', {
    apiGroup: always(1, string, 'rbac.authorization.k8s.io.', { required: true }),
    kind: always(2, string, 'ClusterRole, or Role for one in the namespace of the binding.', { required: true }),
    name: always(3, string, 'The name of the role.', { required: true }),
  }),
);

type BindingName = 'RoleBinding' | 'ClusterRoleBinding';

const bindingSchema = (kind: BindingName, description: string) =>
  objectSchema(`${rbacSchemas}.${kind}`, description, {
    subjects: optional(2, list(subject), 'The subjects that the role is granted to.'),
    roleRef: always(3, roleRef, 'The role that is granted. Cannot be changed.', { required: true }),
  });

export type Subject = Infer<typeof subject>;
export type RoleRef = Infer<typeof roleRef>;

/** A RoleBinding or a ClusterRoleBinding. */
export type Binding = Infer<ReturnType<typeof bindingSchema>>;

/** Sets the default API groups of the role and of subjects. */
function bindingDefaults(binding: Binding): Binding {
  const { roleRef: role, subjects } = binding;
  return {
    ...binding,
    ...(subjects === undefined ? {} : { subjects: subjects.map(subjectDefaults) }),
    roleRef: role.apiGroup === '' ? { ...role, apiGroup: rbacGroup } : role,
  };
}

function subjectDefaults(given: Subject): Subject {
  const { kind, apiGroup = '', ...rest } = given;
  return apiGroup === '' && (kind === 'User' || kind === 'Group') ? { kind, apiGroup: rbacGroup, ...rest } : given;
}

/** Validation errors of a binding whose role may be of `roleKinds`. */
function bindingErrors({ subjects = [], roleRef: role }: Binding, roleKinds: readonly string[]): FieldError[] {
  const isNamespaced = roleKinds.includes('Role');
  return [
    ...(role.apiGroup === rbacGroup ? [] : [notSupported('roleRef.apiGroup', role.apiGroup, [rbacGroup])]),
    ...(roleKinds.includes(role.kind) ? [] : [notSupported('roleRef.kind', role.kind, roleKinds)]),
    ...(role.name === ''
      ? [required('roleRef.name')]
      : invalidAll('roleRef.name', role.name, pathSegmentErrors(role.name))),
    ...subjects.flatMap((given, index) => subjectErrors(`subjects[${index}]`, given, isNamespaced)),
  ];
}

function subjectErrors(path: string, given: Subject, isNamespaced: boolean): FieldError[] {
  const { kind, name, apiGroup = '', namespace = '' } = given;
  const errors = name === '' ? [required(`${path}.name`)] : [];
  const expectGroup = (expected: string): void => {
    if (apiGroup !== expected) errors.push(notSupported(`${path}.apiGroup`, apiGroup, [expected]));
  };
  switch (kind) {
    case 'ServiceAccount':
      if (name !== '') {
        errors.push(...invalidAll(`${path}.name`, name, dnsSubdomainErrors(name)));
      }
      expectGroup('');
      if (!isNamespaced && namespace === '') errors.push(required(`${path}.namespace`));
      break;
    case 'User':
    case 'Group':
      expectGroup(rbacGroup);
      break;
    default:
      errors.push(notSupported(`${path}.kind`, kind, ['ServiceAccount', 'User', 'Group']));
  }
  return errors;
}

/** Errors about changes of the role, which would change the rights of existing subjects unnoticed. */
function roleChangeErrors({ roleRef: next }: Binding, { roleRef: old }: Binding): FieldError[] {
  if (next.apiGroup === old.apiGroup && next.kind === old.kind && next.name === old.name) return [];
  // Kubernetes prints the role with the names of Go fields.
  const printed = { APIGroup: next.apiGroup, Kind: next.kind, Name: next.name };
  return [invalidValue('roleRef', printed, 'cannot change roleRef')];
}

const subjectsOf = ({ subjects = [] }: Binding, kind: string): string =>
  subjects
    .filter((given) => given.kind === kind)
    .map(({ name, namespace = '' }) => (kind === 'ServiceAccount' ? `${namespace}/${name}` : name))
    .join(', ');

const bindingColumns: readonly Column<Binding>[] = [
  nameColumn,
  column<Binding>('Role', 'The role that is granted.', ({ roleRef: { kind, name } }) => `${kind}/${name}`),
  ageColumn,
  column<Binding>('Users', 'The users.', (binding) => subjectsOf(binding, 'User'), { wide: true }),
  column<Binding>('Groups', 'The groups.', (binding) => subjectsOf(binding, 'Group'), { wide: true }),
  column<Binding>('ServiceAccounts', 'The service accounts.', (binding) => subjectsOf(binding, 'ServiceAccount'), {
    wide: true,
  }),
];

/** Defines the kind of bindings that can grant roles of `roleKinds`. */
export const defineBinding = (kind: BindingName, description: string, roleKinds: readonly string[]): Kind<Binding> =>
  defineKind<Binding>({
    group: rbacGroup,
    version: 'v1',
    kind,
    plural: `${kind.toLowerCase()}s`,
    namespaced: kind === 'RoleBinding',
    schema: bindingSchema(kind, description),
    createOnUpdate: true,
    columns: bindingColumns,
    nameErrors: pathSegmentName,
    applyDefaults: bindingDefaults,
    validateCreate: (binding) => bindingErrors(binding, roleKinds),
    validateUpdate: (next, old) => [...bindingErrors(next, roleKinds), ...roleChangeErrors(next, old)],
  });
