// What RoleBindings and ClusterRoleBindings share: who is bound, and to which role.
import { ageColumn, column, nameColumn } from '../../columns.ts';
import type { FieldError } from '../../field-errors.ts';
import { invalidValue, notSupported, required } from '../../field-errors.ts';
import type { Column } from '../../kind.ts';
import type { ApiObject } from '../../metadata.ts';
import { dnsSubdomainErrors, pathSegmentErrors } from '../../names.ts';
import type { Infer } from '../../schema/infer.ts';
import { always, atomic, list, optional, string, struct } from '../../schema/schema.ts';
import { rbacGroup, rbacSchemas } from './group.ts';

const subject = atomic(
  struct(`${rbacSchemas}.Subject`, 'A user, a group or a service account that a role is given to.', {
    kind: always(1, string, 'User, Group or ServiceAccount.', { required: true }),
    apiGroup: optional(2, string, 'rbac.authorization.k8s.io for users and groups, empty for service accounts.'),
    name: always(3, string, 'The name of the user, group or service account.', { required: true }),
    namespace: optional(4, string, 'The namespace of the service account.'),
  }),
);

const roleRef = atomic(
  struct(`${rbacSchemas}.RoleRef`, 'The role that is given.', {
    apiGroup: always(1, string, 'rbac.authorization.k8s.io.', { required: true }),
    kind: always(2, string, 'ClusterRole, or Role for one in the namespace of the binding.', { required: true }),
    name: always(3, string, 'The name of the role.', { required: true }),
  }),
);

/** The fields of a binding. */
export const bindingFields = {
  subjects: optional(2, list(subject), 'Who gets the role.'),
  roleRef: always(3, roleRef, 'The role that they get. Cannot be changed.', { required: true }),
} as const;

export type Subject = Infer<typeof subject>;
export type RoleRef = Infer<typeof roleRef>;

/** A RoleBinding or a ClusterRoleBinding. */
export interface Binding extends ApiObject {
  readonly subjects?: readonly Subject[];
  readonly roleRef: RoleRef;
}

/** Fills in the group of the role, and of the subjects that have one. */
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

/** What is wrong with a binding whose role may be of `roleKinds`. */
export function bindingErrors({ subjects = [], roleRef: role }: Binding, roleKinds: readonly string[]): FieldError[] {
  const isNamespaced = roleKinds.includes('Role');
  return [
    ...(role.apiGroup === rbacGroup ? [] : [notSupported('roleRef.apiGroup', role.apiGroup, [rbacGroup])]),
    ...(roleKinds.includes(role.kind) ? [] : [notSupported('roleRef.kind', role.kind, roleKinds)]),
    ...(role.name === ''
      ? [required('roleRef.name')]
      : pathSegmentErrors(role.name).map((problem) => invalidValue('roleRef.name', role.name, problem))),
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
        errors.push(...dnsSubdomainErrors(name).map((problem) => invalidValue(`${path}.name`, name, problem)));
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

/** What is wrong with pointing a binding at another role: those who hold it would get something else unnoticed. */
export function roleChangeErrors({ roleRef: next }: Binding, { roleRef: old }: Binding): FieldError[] {
  if (next.apiGroup === old.apiGroup && next.kind === old.kind && next.name === old.name) return [];
  // Kubernetes prints it by the names of its own fields.
  const printed = { APIGroup: next.apiGroup, Kind: next.kind, Name: next.name };
  return [invalidValue('roleRef', printed, 'cannot change roleRef')];
}

const subjectsOf = ({ subjects = [] }: Binding, kind: string): string =>
  subjects
    .filter((given) => given.kind === kind)
    .map(({ name, namespace = '' }) => (kind === 'ServiceAccount' ? `${namespace}/${name}` : name))
    .join(', ');

/** The columns of a binding; who is bound is shown with `-o wide`. */
export const bindingColumns: readonly Column<Binding>[] = [
  nameColumn,
  column<Binding>('Role', 'The role that is given.', ({ roleRef: { kind, name } }) => `${kind}/${name}`),
  ageColumn,
  column<Binding>('Users', 'The users who get it.', (binding) => subjectsOf(binding, 'User'), { wide: true }),
  column<Binding>('Groups', 'The groups that get it.', (binding) => subjectsOf(binding, 'Group'), { wide: true }),
  column<Binding>(
    'ServiceAccounts',
    'The service accounts that get it.',
    (binding) => subjectsOf(binding, 'ServiceAccount'),
    { wide: true },
  ),
];
