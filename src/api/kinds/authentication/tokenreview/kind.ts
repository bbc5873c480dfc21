import { defineKind } from '../../../kind.ts';
import { objectSchema } from '../../../metadata.ts';
import { subdomainName } from '../../../names.ts';
import type { Infer } from '../../../schema/infer.ts';
import { always, boolean, list, optional, string, struct } from '../../../schema/schema.ts';
import { userInfo } from '../user-info.ts';

const authentication = 'io.k8s.api.authentication.v1';

const tokenReviewSpec = struct(`${authentication}.TokenReviewSpec`, 'The token to look at.', {
  token: optional(1, string, 'The token.'),
  audiences: optional(2, list(string), 'Whom the asker is; the token must be meant for one of them.'),
});

const tokenReviewStatus = struct(`${authentication}.TokenReviewStatus`, 'Whose token it is.', {
  authenticated: optional(1, boolean, 'Whether the token belongs to somebody known.'),
  user: always(2, userInfo, 'Whom it belongs to.'),
  audiences: optional(4, list(string), 'Those of the audiences asked for that the token is meant for.'),
  error: optional(3, string, 'Why the token could not be checked.'),
});

/** A question whose token something is, and the answer. */
const tokenReview = objectSchema(`${authentication}.TokenReview`, 'Asks whose token something is.', {
  spec: always(2, tokenReviewSpec, 'The token to look at.', { required: true }),
  status: always(3, tokenReviewStatus, 'Whose token it is.'),
});

export type TokenReview = Infer<typeof tokenReview>;

export const tokenReviewKind = defineKind<TokenReview>({
  group: 'authentication.k8s.io',
  version: 'v1',
  kind: 'TokenReview',
  plural: 'tokenreviews',
  namespaced: false,
  schema: tokenReview,
  verbs: ['create'],
  stored: false,
  sensitive: true,
  nameErrors: subdomainName,
});
