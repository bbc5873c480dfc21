// The answers to TokenReview and SelfSubjectReview: objects that are asked and never stored.

import { badRequest } from '../../../api/errors.ts';
import type { SelfSubjectReview } from '../../../api/kinds/authentication/selfsubjectreview/kind.ts';
import type { TokenReview } from '../../../api/kinds/authentication/tokenreview/kind.ts';
import type { UserInfo } from '../../../api/kinds/authentication/user-info.ts';
import type { User } from '../../reply.ts';
import type { Authenticator } from './authenticator.ts';
import type { Verdict } from './verdict.ts';

const invalidToken = 'invalid bearer token';

/** Whose token the review asks about. */
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

/** Who asks; `now` is a time as metadata has it. */
export const reviewSelf = (review: SelfSubjectReview, user: User, now: string): SelfSubjectReview => ({
  ...review,
  metadata: { creationTimestamp: now },
  status: { userInfo: userInfoOf(user) },
});

/** A user as the API shows it; what is empty is left out. */
const userInfoOf = ({ name, uid, groups, extra = {} }: User): UserInfo => ({
  ...(name === '' ? {} : { username: name }),
  ...(uid === '' ? {} : { uid }),
  ...(groups.length === 0 ? {} : { groups }),
  ...(Object.keys(extra).length === 0 ? {} : { extra }),
});
