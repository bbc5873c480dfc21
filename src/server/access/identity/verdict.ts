import type { User } from '../../reply.ts';

/** What a token turned out to be. */
export type Verdict =
  | { readonly valid: true; readonly user: User; readonly audiences: readonly string[] }
  /** `error` says why a token of the right form is refused; undefined: it is nothing this server knows. */
  | { readonly valid: false; readonly error?: string };

export const unknownToken: Verdict = { valid: false };

/** A user who has shown who they are. */
export const authenticated = (user: User): User => ({ ...user, groups: [...user.groups, 'system:authenticated'] });

/** Who sends a request without credentials. */
export const anonymous: User = { name: 'system:anonymous', uid: '', groups: ['system:unauthenticated'] };

/** The key of `extra` that tells by which credentials a user came. */
export const credentialId = 'authentication.kubernetes.io/credential-id';
