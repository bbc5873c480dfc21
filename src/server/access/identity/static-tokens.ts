import { createHash, timingSafeEqual } from 'node:crypto';

import type { User } from '../../reply.ts';
import { authenticated } from './verdict.ts';

/** A bearer token that stands for a user, as `--token-auth-file` lists them. */
export interface StaticToken {
  readonly token: string;
  readonly user: string;
  readonly uid: string;
  readonly groups: readonly string[];
}

/** The tokens of a file. */
export class StaticTokens {
  /** Tokens are compared by digest, in constant time. */
  readonly #tokens: readonly { readonly digest: Buffer; readonly user: User }[];
  /** Tokens that were right before: token → user. Never more than there are. */
  readonly #known = new Map<string, User>();

  constructor(tokens: readonly StaticToken[]) {
    this.#tokens = tokens.map(({ token, user, uid, groups }) => ({
      digest: digestOf(token),
      user: authenticated({ name: user, uid, groups }),
    }));
  }

  /** Whose token it is; undefined when it is nobody's. */
  userOf(token: string): User | undefined {
    if (this.#tokens.length === 0) return undefined;
    const known = this.#known.get(token);
    if (known !== undefined) return known;
    const digest = digestOf(token);
    const user = this.#tokens.find((candidate) => timingSafeEqual(candidate.digest, digest))?.user;
    if (user !== undefined) this.#known.set(token, user);
    return user;
  }
}

const digestOf = (token: string): Buffer => createHash('sha256').update(token).digest();
