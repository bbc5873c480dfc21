// The permissions that a write needs beside its own verb: to create, and every permission that it grants.

import { badRequest, failure, forbidden, notFound } from '../../../api/errors.ts';
import type { Binding } from '../../../api/kinds/rbac/binding.ts';
import type { ClusterRole } from '../../../api/kinds/rbac/clusterrole/kind.ts';
import { clusterRoleKind } from '../../../api/kinds/rbac/clusterrole/kind.ts';
import { rbacGroup } from '../../../api/kinds/rbac/policy-rule.ts';
import type { PolicyRule } from '../../../api/kinds/rbac/policy-rule.ts';
import { roleKind } from '../../../api/kinds/rbac/role/kind.ts';
import type { ApiObject } from '../../../api/metadata.ts';
import type { ServerContext } from '../../context.ts';
import { equalJson } from '../../../api/schema/equal-json.ts';
import type { User } from '../../../api/user.ts';
import type { Resource } from '../../resource.ts';
import { subjectOf } from '../../resource.ts';
import type { WriteRequest } from '../../verbs/write-request.ts';
import { isMaster } from '../authorize.ts';
import type { ResourceAttributes } from './attributes.ts';
import { countPermissions, describePermissions, quoted, uncovered } from './covers.ts';

/** More than any real role has. Checking takes time for each permission and blocks other requests. */
const maxPermissions = 20_000;
/** The bound of permissions × rules of their author. */
const maxChecks = 1_000_000;

const everything: readonly PolicyRule[] = [
  { verbs: ['*'], apiGroups: ['*'], resources: ['*'] },
  { verbs: ['*'], nonResourceURLs: ['*'] },
];

/** Throws a 403 unless a user who updates or applies an absent object may also create it. */
export function requireCreate({ access }: ServerContext, { kind }: Resource, request: WriteRequest): void {
  const { user, subresource, namespace, name } = request;
  if (user === undefined) return;
  const { group, plural: resource } = kind;
  access.requireAttributes(user, { isResource: true, verb: 'create', group, resource, subresource, namespace, name });
}

/**
 * Throws a 403 for a role or binding that grants more than its author holds, so that users cannot raise their own
 * permissions. The verbs `escalate` (on the role) and `bind` (on the bound role) lift the restriction.
 */
export function checkEscalation(
  context: ServerContext,
  resource: Resource,
  request: WriteRequest,
  { next, old }: { readonly next: ApiObject; readonly old: ApiObject | undefined },
): void {
  const { user } = request;
  if (resource.kind.group !== rbacGroup || user === undefined || isMaster(user)) return;
  if (old !== undefined && equalJson(withoutOwnership(next), withoutOwnership(old))) return;
  const write: GuardedWrite = { context, resource, request, user, name: next.metadata.name };
  if (resource.kind === roleKind || resource.kind === clusterRoleKind) {
    checkRole(write, next as ClusterRole, old as ClusterRole | undefined);
  } else {
    checkBinding(write, next as Binding);
  }
}

interface GuardedWrite {
  readonly context: ServerContext;
  readonly resource: Resource;
  readonly request: WriteRequest;
  readonly user: User;
  readonly name: string | undefined;
}

/** Changes of owners and finalizers, which deletion needs, grant nothing. */
function withoutOwnership({ metadata, kind: _kind, apiVersion: _apiVersion, ...content }: ApiObject): object {
  const { finalizers: _, ownerReferences: __, managedFields: ___, resourceVersion: ____, ...rest } = metadata;
  return { ...content, metadata: rest };
}

function checkRole(write: GuardedWrite, next: ClusterRole, old: ClusterRole | undefined): void {
  const { context, resource, request, user } = write;
  const { plural } = resource.kind;
  // As for `create`, rules cannot match the name of a new object.
  const name = old === undefined ? '' : request.name;
  if (context.access.isAllowed(user, onRole('escalate', { plural, name, namespace: request.namespace }))) return;
  checkHeld(write, next.rules ?? []);
  // Labels on other roles decide what is aggregated, so using an aggregationRule requires all permissions.
  if (next.aggregationRule === undefined && old?.aggregationRule === undefined) return;
  const { rules } = context.access.policy.rulesFor(user, request.namespace);
  if (uncovered(rules, everything).length > 0) {
    throw refused(write, 'must have cluster-admin privileges to use the aggregationRule');
  }
}

function checkBinding(write: GuardedWrite, { roleRef }: Binding): void {
  const { context, resource, request, user } = write;
  const { namespace } = request;
  const plural = roleRef.kind === 'Role' ? roleKind.plural : clusterRoleKind.plural;
  if (roleRef.kind !== 'Role' && roleRef.kind !== 'ClusterRole') {
    throw failure({ code: 500, message: `unsupported role reference kind: ${JSON.stringify(roleRef.kind)}` });
  }
  if (context.access.isAllowed(user, onRole('bind', { plural, name: roleRef.name, namespace }))) return;
  if (roleRef.name === '') throw badRequest('Name parameter required.');
  if (roleRef.kind === 'Role' && namespace === '') throw badRequest('Namespace parameter required.');
  const rules = context.access.policy.rulesOf(roleRef, namespace);
  // Kubernetes reports the resource of the binding here.
  if (rules === undefined) throw notFound(subjectOf(resource, roleRef.name));
  checkHeld(write, rules);
}

const onRole = (
  verb: string,
  { plural, name, namespace }: { readonly plural: string; readonly name: string; readonly namespace: string },
): ResourceAttributes => ({
  isResource: true,
  verb,
  group: rbacGroup,
  resource: plural,
  subresource: '',
  namespace,
  name,
});

function checkHeld(write: GuardedWrite, wanted: readonly PolicyRule[]): void {
  const { context, request, user } = write;
  const count = countPermissions(wanted);
  if (count > maxPermissions) {
    throw refused(write, `${count} permissions are too many to check, the limit is ${maxPermissions}: split the role`);
  }
  const { rules, missing: unresolved } = context.access.policy.rulesFor(user, request.namespace);
  if (count * rules.length > maxChecks) {
    throw refused(
      write,
      `${count} permissions are too many to check against the ${rules.length} rules of their author: split the role`,
    );
  }
  const missing = uncovered(rules, wanted);
  if (missing.length === 0) return;
  const errors = unresolved.length === 0 ? '' : `; resolution errors: [${unresolved.join(' ')}]`;
  throw refused(
    write,
    `user ${JSON.stringify(user.name)} (groups=${quoted(user.groups)}) is attempting to grant RBAC permissions not currently held:\n${describePermissions(missing)}${errors}`,
  );
}

const refused = ({ resource, name }: GuardedWrite, why: string): Error => forbidden(subjectOf(resource, name), why);
