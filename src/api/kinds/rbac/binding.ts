// The fields, defaults, validation and columns of RoleBindings and ClusterRoleBindings.
import { ageColumn, column, nameColumn } from '../../columns.ts';
import type { FieldError } from '../../field-errors.ts';
import { invalidAll, invalidValue, notSupported, required } from '../../field-errors.ts';
import type { Column } from '../../kind.ts';
import type { ApiObject } from '../../metadata.ts';
import { dnsSubdomainErrors, pathSegmentErrors } from '../../names.ts';
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

/** The fields of a binding. */
export const bindingFields = {
  subjects: optional(2, list(subject), 'The subjects that the role is granted to.'),
  roleRef: always(3, roleRef, 'The role that is granted. Cannot be changed.', { required: true }),
} as const;

export type Subject = Infer<typeof subject>;
export type RoleRef = Infer<typeof roleRef>;

/** A RoleBinding or a ClusterRoleBinding. */
export interface Binding extends ApiObject {
  readonly subjects?: readonly Subject[];
  readonly roleRef: RoleRef;
}

/** Sets the default API groups of the role and of subjects. */
export function bindingDefaults<T extends Binding>(binding: T): T {
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
export function bindingErrors({ subjects = [], roleRef: role }: Binding, roleKinds: readonly string[]): FieldError[] {
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
export function roleChangeErrors({ roleRef: next }: Binding, { roleRef: old }: Binding): FieldError[] {
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

export const bindingColumns: readonly Column<Binding>[] = [
  nameColumn,
  column<Binding>('Role', 'The role that is granted.', ({ roleRef: { kind, name } }) => `${kind}/${name}`),
  ageColumn,
  column<Binding>('Users', 'The users.', (binding) => subjectsOf(binding, 'User'), { wide: true }),
  column<Binding>('Groups', 'The groups.', (binding) => subjectsOf(binding, 'Group'), { wide: true }),
  column<Binding>('ServiceAccounts', 'The service accounts.', (binding) => subjectsOf(binding, 'ServiceAccount'), {
    wide: true,
  }),
];
