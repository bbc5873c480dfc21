import type { Infer } from '../../../schema/infer.ts';
import { list, map, optional, string, struct, always, boolean } from '../../../schema/schema.ts';
import { defineKind } from '../../../kind.ts';
import { objectSchema } from '../../../metadata.ts';

/** An authenticated user, as authorization sees it. */
export const userInfo = struct('io.k8s.api.authentication.v1.UserInfo', 'The user of a request.', {
  username: optional(1, string, 'The unique name of the user.'),
  uid: optional(2, string, 'Distinguishes users who had the same name at different times.'),
  groups: optional(3, list(string), 'The groups this user is in.'),
  extra: optional(4, map(list(string)), 'Further attributes of the user from the credentials.'),
});

export type UserInfo = Infer<typeof userInfo>;

const authentication = 'io.k8s.api.authentication.v1';

const tokenReviewSpec = struct(`${authentication}.TokenReviewSpec`, 'The token to review.', {
  token: optional(1, string, 'The token.'),
  audiences: optional(2, list(string), 'Audiences of the caller; the token must be valid for one of them.'),
});

const tokenReviewStatus = struct(`${authentication}.TokenReviewStatus`, 'The result of the review.', {
  authenticated: optional(1, boolean, 'Whether the token is valid.'),
  user: always(2, userInfo, 'The user of the token.'),
  audiences: optional(4, list(string), 'The audiences of the caller that the token is valid for.'),
  error: optional(3, string, 'Why the token could not be reviewed.'),
});

const tokenReview = objectSchema(`${authentication}.TokenReview`, 'Authenticates a token.', {
  spec: always(2, tokenReviewSpec, 'The token to review.', { required: true }),
  status: always(3, tokenReviewStatus, 'The result of the review.'),
});

export type TokenReview = Infer<typeof tokenReview>;

export const tokenReviewKind = defineKind<TokenReview>({
  group: 'authentication.k8s.io',
  version: 'v1',
  kind: 'TokenReview',
  plural: 'tokenreviews',
  namespaced: false,
  schema: tokenReview,
  stored: false,
  sensitive: true,
});
