import type { UserInfo } from '../../../api/kinds/authentication/tokenreview/kind.ts';
import type { User } from '../../../api/user.ts';

/** The result of a token check. */
export type Verdict =
  | { readonly valid: true; readonly user: User; readonly audiences: readonly string[] }
  /** `error` is the reason why a well-formed token is rejected; undefined: the token is unknown. */
  | { readonly valid: false; readonly error?: string };

export const unknownToken: Verdict = { valid: false };

/** Adds the group of authenticated users. */
export const authenticated = (user: User): User => ({ ...user, groups: [...user.groups, 'system:authenticated'] });

/** The user of requests without credentials. */
export const anonymous: User = { name: 'system:anonymous', uid: '', groups: ['system:unauthenticated'] };

/** A user as in the API, without empty fields. */
export const userInfoOf = ({ name, uid, groups, extra = {} }: User): UserInfo => ({
  ...(name === '' ? {} : { username: name }),
  ...(uid === '' ? {} : { uid }),
  ...(groups.length === 0 ? {} : { groups }),
  ...(Object.keys(extra).length === 0 ? {} : { extra }),
});

/** The key in `extra` that identifies the credentials. */
export const credentialId = 'authentication.kubernetes.io/credential-id';

/** The user name of a part of Fairlead. */
export const partUser = (part: string): string => `system:fairlead:${part}`;

/** The user of API servers at the servers of nodes. */
export const kubeletClientUser = 'kube-apiserver-kubelet-client';

/** The common name of the client certificate with which the API server passes requests on to aggregated API servers. */
export const frontProxyClientName = 'front-proxy-client';
