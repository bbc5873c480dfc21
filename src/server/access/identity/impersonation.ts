import { badRequest } from '../../../api/errors.ts';
import { dnsLabelErrors, dnsSubdomainErrors } from '../../../api/names.ts';
import type { User } from '../../../api/user.ts';
import type { ApiRequest, Impersonation } from '../../reply.ts';
import { accountGroups } from './claims.ts';
import { anonymous } from './users.ts';

/** An object that the user must be allowed to `impersonate`. */
export interface ImpersonationTarget {
  readonly group: '' | 'authentication.k8s.io';
  readonly resource: 'users' | 'groups' | 'serviceaccounts' | 'uids' | 'userextras';
  /** The key of a userextra. */
  readonly subresource: string;
  readonly namespace: string;
  readonly name: string;
}

const prefix = 'impersonate-';
const extraPrefix = 'impersonate-extra-';
const authenticatedGroup = 'system:authenticated';
const unauthenticatedGroup = 'system:unauthenticated';

/**
 * Reads the impersonation headers; undefined without any. `rawHeaders` alternates names and values as sent: a group may
 * contain a comma, so joined values cannot be split again.
 */
export function readImpersonation(rawHeaders: readonly string[]): Impersonation | undefined {
  const groups: string[] = [];
  const extra = new Map<string, string[]>();
  let user: string | undefined;
  let uid: string | undefined;
  for (let index = 0; index + 1 < rawHeaders.length; index += 2) {
    const header = rawHeaders[index] ?? '';
    if (!isImpersonationHeader(header)) continue;
    const name = header.toLowerCase();
    const value = utf8(rawHeaders[index + 1] ?? '');
    if (name === 'impersonate-user') user ??= value;
    else if (name === 'impersonate-uid') uid ??= value;
    else if (name === 'impersonate-group') groups.push(value);
    else if (name.startsWith(extraPrefix)) {
      const key = decoded(name.slice(extraPrefix.length));
      const values = extra.get(key);
      if (values === undefined) extra.set(key, [value]);
      else values.push(value);
    }
  }
  const isAsked = (user ?? '') !== '' || (uid ?? '') !== '' || groups.length > 0 || extra.size > 0;
  return isAsked ? { user: user ?? '', uid: uid ?? '', groups, extra } : undefined;
}

/** Whether a header is an impersonation header, in any case. */
export const isImpersonationHeader = (name: string): boolean =>
  // The cheap checks come first: this runs for every header of every request.
  name.length >= prefix.length && (name[0] === 'i' || name[0] === 'I') && name.toLowerCase().startsWith(prefix);

/** Node reads the bytes of a header as Latin-1; names are UTF-8. */
const utf8 = (value: string): string => Buffer.from(value, 'latin1').toString();

function decoded(key: string): string {
  try {
    return decodeURIComponent(key);
  } catch {
    return key; // as in Kubernetes
  }
}

/**
 * Returns the request with the impersonated user. `allow` throws a 403 for a target that the real user may not
 * impersonate, and is called for each target in order.
 */
export function impersonate(
  request: ApiRequest,
  impersonation: Impersonation,
  allow: (user: User, target: ImpersonationTarget) => void,
): ApiRequest {
  for (const target of impersonationTargets(impersonation)) allow(request.user, target);
  return { ...request, user: impersonatedUser(impersonation), impersonator: request.user, impersonation: undefined };
}

/** All targets that must be allowed, in the order of Kubernetes. Throws a 400 if no user is named. */
export function impersonationTargets(impersonation: Impersonation): readonly ImpersonationTarget[] {
  const { user, groups, extra, uid } = impersonation;
  const extras = [...extra].flatMap(([key, values]) => values.map((value) => ({ key, value })));
  if (user === '') throw userMissing(impersonation);
  const core = { group: '', subresource: '', namespace: '' } as const;
  const own = { group: 'authentication.k8s.io', subresource: '', namespace: '' } as const;
  const account = splitAccountName(user);
  return [
    account === undefined
      ? { ...core, resource: 'users', name: user }
      : { ...core, resource: 'serviceaccounts', ...account },
    ...groups.map((name) => ({ ...core, resource: 'groups', name }) as const),
    ...extras.map(({ key, value }) => ({ ...own, resource: 'userextras', subresource: key, name: value }) as const),
    ...(uid === '' ? [] : [{ ...own, resource: 'uids', name: uid } as const]),
  ];
}

/** The impersonated user. */
export function impersonatedUser({ user, groups, extra, uid }: Impersonation): User {
  const account = splitAccountName(user);
  const own = groups.length === 0 && account !== undefined ? accountGroups(account.namespace) : groups;
  return {
    name: user,
    uid,
    groups: [...own, ...missingGroup(user, own)],
    ...(extra.size === 0 ? {} : { extra: Object.fromEntries(extra) }),
  };
}

/** Adds the group of authenticated or unauthenticated users unless the headers name one of them. */
function missingGroup(user: string, groups: readonly string[]): readonly string[] {
  if (user === anonymous.name) return groups.includes(unauthenticatedGroup) ? [] : [unauthenticatedGroup];
  return groups.includes(authenticatedGroup) || groups.includes(unauthenticatedGroup) ? [] : [authenticatedGroup];
}

/** Splits the user name of a service account; undefined for other names. */
function splitAccountName(user: string): { readonly namespace: string; readonly name: string } | undefined {
  const parts = user.split(':');
  const [system, word, namespace = '', name = ''] = parts;
  if (parts.length !== 4 || system !== 'system' || word !== 'serviceaccount') return undefined;
  const isValid = dnsLabelErrors(namespace).length === 0 && dnsSubdomainErrors(name).length === 0;
  return isValid ? { namespace, name } : undefined;
}

/** The message of Kubernetes, which prints object references as Go does. */
function userMissing({ groups, extra, uid }: Impersonation): Error {
  const own = 'authentication.k8s.io/v1';
  const references = [
    ...groups.map((name) => `{Group  ${name}    }`),
    ...[...extra].flatMap(([key, values]) => values.map((value) => `{UserExtra  ${value}  ${own}  ${key}}`)),
    ...(uid === '' ? [] : [`{UID  ${uid}  ${own}  }`]),
  ];
  return badRequest(`requested [${references.join(' ')}] without impersonating a user`);
}
