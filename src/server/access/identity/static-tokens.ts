import { createHash, timingSafeEqual } from 'node:crypto';

import type { User } from '../../../api/user.ts';
import { authenticated } from './users.ts';

/** A bearer token of a user, as a line of `--token-auth-file`. */
export interface StaticToken {
  readonly token: string;
  readonly user: string;
  readonly uid: string;
  readonly groups: readonly string[];
}

/** The tokens of `--token-auth-file`. */
export class StaticTokens {
  /** Tokens are compared by digest, in constant time. */
  readonly #tokens: readonly { readonly digest: Buffer; readonly user: User }[];
  /** Tokens that were used before: token → user. */
  readonly #cached = new Map<string, User>();

  constructor(tokens: readonly StaticToken[]) {
    this.#tokens = tokens.map(({ token, user, uid, groups }) => ({
      digest: digestOf(token),
      user: authenticated({ name: user, uid, groups }),
    }));
  }

  /** Returns the user of a token; undefined if the token is uncached. */
  userOf(token: string): User | undefined {
    if (this.#tokens.length === 0) return undefined;
    const cached = this.#cached.get(token);
    if (cached !== undefined) return cached;
    const digest = digestOf(token);
    const user = this.#tokens.find((candidate) => timingSafeEqual(candidate.digest, digest))?.user;
    if (user !== undefined) this.#cached.set(token, user);
    return user;
  }
}

const digestOf = (token: string): Buffer => createHash('sha256').update(token).digest();
