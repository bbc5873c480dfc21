import type { User } from '../../reply.ts';

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

/** The key in `extra` that identifies the credentials. */
export const credentialId = 'authentication.kubernetes.io/credential-id';
