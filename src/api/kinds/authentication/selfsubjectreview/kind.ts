import { defineKind } from '../../../kind.ts';
import { objectSchema } from '../../../metadata.ts';
import type { Infer } from '../../../schema/infer.ts';
import { always, struct } from '../../../schema/schema.ts';
import { userInfo } from '../tokenreview/kind.ts';

const authentication = 'io.k8s.api.authentication.v1';

const selfSubjectReviewStatus = struct(`${authentication}.SelfSubjectReviewStatus`, 'The result of the review.', {
  userInfo: always(1, userInfo, 'The user of the request.'),
});

/** Used by `kubectl auth whoami`. */
const selfSubjectReview = objectSchema(
  `${authentication}.SelfSubjectReview`,
  'Returns the user of the request, after impersonation.',
  { status: always(2, selfSubjectReviewStatus, 'The user of the request.') },
);

export type SelfSubjectReview = Infer<typeof selfSubjectReview>;

export const selfSubjectReviewKind = defineKind<SelfSubjectReview>({
  group: 'authentication.k8s.io',
  version: 'v1',
  kind: 'SelfSubjectReview',
  plural: 'selfsubjectreviews',
  namespaced: false,
  schema: selfSubjectReview,
  stored: false,
});
