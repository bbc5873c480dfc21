// TokenReview and SelfSubjectReview: objects that are answered and never stored.

import { badRequest } from '../../api/errors.ts';
import type { SelfSubjectReview } from '../../api/kinds/authentication/selfsubjectreview/kind.ts';
import type { TokenReview } from '../../api/kinds/authentication/tokenreview/kind.ts';
import type { User } from '../../api/user.ts';
import type { Authenticator } from '../access/identity/authenticator.ts';
import type { Verdict } from '../access/identity/users.ts';
import { userInfoOf } from '../access/identity/users.ts';

const invalidToken = 'invalid bearer token';

/** Answers a TokenReview. */
export async function reviewToken(review: TokenReview, authenticator: Authenticator): Promise<TokenReview> {
  const { token = '', audiences = [] } = review.spec;
  if (token === '') throw badRequest('token is required for TokenReview in authentication');
  return { ...review, status: statusOf(await authenticator.review(token, audiences)) };
}

function statusOf(verdict: Verdict): TokenReview['status'] {
  if (verdict.valid) {
    return { authenticated: true, user: userInfoOf(verdict.user), audiences: verdict.audiences };
  }
  return { user: {}, error: verdict.error === undefined ? invalidToken : `[${invalidToken}, ${verdict.error}]` };
}

/** Answers a SelfSubjectReview; `now` is a timestamp as in metadata. */
export const reviewSelf = (review: SelfSubjectReview, user: User, now: string): SelfSubjectReview => ({
  ...review,
  metadata: { creationTimestamp: now },
  status: { userInfo: userInfoOf(user) },
});
