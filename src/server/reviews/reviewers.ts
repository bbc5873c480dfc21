import type { Kind } from '../../api/kind.ts';
import { selfSubjectReviewKind } from '../../api/kinds/authentication/selfsubjectreview/kind.ts';
import { tokenReviewKind } from '../../api/kinds/authentication/tokenreview/kind.ts';
import { localSubjectAccessReviewKind } from '../../api/kinds/authorization/localsubjectaccessreview/kind.ts';
import { selfSubjectAccessReviewKind } from '../../api/kinds/authorization/selfsubjectaccessreview/kind.ts';
import { selfSubjectRulesReviewKind } from '../../api/kinds/authorization/selfsubjectrulesreview/kind.ts';
import { subjectAccessReviewKind } from '../../api/kinds/authorization/subjectaccessreview/kind.ts';
import type { ApiObject } from '../../api/metadata.ts';
import { timestamp } from '../../api/timestamp.ts';
import { reviewSelf, reviewToken } from '../access/identity/reviews.ts';
import { reviewAccess, reviewOwnAccess, reviewOwnRules } from './access.ts';
import type { Question, Reviewer } from './question.ts';

/** A reviewer of one kind: the table sees to it that it gets no other. */
const entry = <T extends ApiObject>(
  kind: Kind<T>,
  review: (question: Question<T>) => ApiObject | Promise<ApiObject>,
): [Kind, Reviewer] => [kind as Kind, review as Reviewer];

/** Who answers which of the kinds that are not stored. */
export const reviewers: ReadonlyMap<Kind, Reviewer> = new Map([
  entry(selfSubjectAccessReviewKind, reviewOwnAccess),
  entry(subjectAccessReviewKind, reviewAccess),
  entry(localSubjectAccessReviewKind, reviewAccess),
  entry(selfSubjectRulesReviewKind, reviewOwnRules),
  entry(tokenReviewKind, ({ object, context }) => reviewToken(object, context.identity.authenticator)),
  entry(selfSubjectReviewKind, ({ object, user, context }) => reviewSelf(object, user, timestamp(context.clock()))),
]);
