// Kubernetes' library for authorization: may a user do something? Only admission declares the variable `authorizer`.

import type { CelFunction } from '../functions.ts';
import { define } from '../functions.ts';
import { CelError, LibraryValue } from '../values.ts';

/** A request whose permission is checked, in the words of a SubjectAccessReview. */
export type AccessCheck =
  | {
      readonly isResource: true;
      readonly group: string;
      readonly resource: string;
      readonly subresource: string;
      readonly namespace: string;
      readonly name: string;
      readonly fieldSelector?: string;
      readonly labelSelector?: string;
    }
  | { readonly isResource: false; readonly path: string };

/** Whether a request is allowed, and why. */
export interface AccessDecision {
  readonly allowed: boolean;
  readonly reason: string;
}

/** Answers access checks for the user of a request, or for a service account. */
export interface Access {
  check(request: AccessCheck, verb: string): AccessDecision;
  /** The access of a service account. */
  as(namespace: string, name: string): Access;
}

interface Pending<Check extends AccessCheck = AccessCheck> {
  readonly access: Access;
  readonly check: Check;
}

type Resource = Extract<AccessCheck, { isResource: true }>;
type ResourceCheck = LibraryValue<Pending<Resource>>;

/** The value of the variable `authorizer`. */
export const authorizerValue = (access: Access): LibraryValue<Access> =>
  new LibraryValue('authorizer', 'authorizer', access);

/** The value of `authorizer.requestResource`. */
export const resourceCheckValue = (access: Access, check: Resource): ResourceCheck =>
  new LibraryValue('resource_check', JSON.stringify(check), { access, check });

const withPart = ({ data: { access, check } }: ResourceCheck, part: Partial<Resource>): ResourceCheck =>
  resourceCheckValue(access, { ...check, ...part });

function decide({ data: { access, check } }: LibraryValue<Pending>, verb: string): LibraryValue<AccessDecision> {
  const decision = access.check(check, verb);
  return new LibraryValue('decision', String(decision.allowed), decision);
}

function pathCheck({ data: access }: LibraryValue<Access>, path: string): LibraryValue<Pending> {
  if (path.trim() === '') throw new CelError('path must not be empty');
  return new LibraryValue('path_check', path, { access, check: { isResource: false, path } });
}

const groupCheck = ({ data: access }: LibraryValue<Access>, group: string): LibraryValue<Pending<Resource>> =>
  new LibraryValue('group_check', group, {
    access,
    check: { isResource: true, group, resource: '', subresource: '', namespace: '', name: '' },
  });

/** Kubernetes' cost of a check. */
const checkCost = (): number => 350_000;

export const authorizerFunctions: readonly CelFunction[] = [
  define('authorizer.path(string): path_check', pathCheck),
  define('authorizer.group(string): group_check', groupCheck),
  define(
    'authorizer.serviceAccount(string, string): authorizer',
    ({ data }: LibraryValue<Access>, namespace: string, name: string) => authorizerValue(data.as(namespace, name)),
  ),
  define('group_check.resource(string): resource_check', ({ data }: ResourceCheck, resource: string) =>
    resourceCheckValue(data.access, { ...data.check, resource }),
  ),
  define('resource_check.subresource(string): resource_check', (check: ResourceCheck, subresource: string) =>
    withPart(check, { subresource }),
  ),
  define('resource_check.namespace(string): resource_check', (check: ResourceCheck, namespace: string) =>
    withPart(check, { namespace }),
  ),
  define('resource_check.name(string): resource_check', (check: ResourceCheck, name: string) =>
    withPart(check, { name }),
  ),
  define('resource_check.fieldSelector(string): resource_check', (check: ResourceCheck, fieldSelector: string) =>
    withPart(check, { fieldSelector }),
  ),
  define('resource_check.labelSelector(string): resource_check', (check: ResourceCheck, labelSelector: string) =>
    withPart(check, { labelSelector }),
  ),
  define('path_check.check(string): decision', decide, checkCost),
  define('resource_check.check(string): decision', decide, checkCost),
  define('decision.allowed(): bool', ({ data }: LibraryValue<AccessDecision>) => data.allowed),
  define('decision.reason(): string', ({ data }: LibraryValue<AccessDecision>) => data.reason),
  define('decision.errored(): bool', () => false),
  define('decision.error(): string', () => ''),
];
