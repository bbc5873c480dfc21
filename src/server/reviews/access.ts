import { badRequest } from '../../api/errors.ts';
import type { Question as Asked } from '../../api/kinds/authorization/attributes.ts';
import type { LocalSubjectAccessReview } from '../../api/kinds/authorization/localsubjectaccessreview/kind.ts';
import type { SelfSubjectAccessReview } from '../../api/kinds/authorization/selfsubjectaccessreview/kind.ts';
import type {
  RulesReviewStatus,
  SelfSubjectRulesReview,
} from '../../api/kinds/authorization/selfsubjectrulesreview/kind.ts';
import type { SubjectAccessReview } from '../../api/kinds/authorization/subjectaccessreview/kind.ts';
import type { Attributes } from '../access/rbac/attributes.ts';
import type { WholeRule } from '../access/rbac/rules.ts';
import type { User } from '../reply.ts';
import type { Question } from './question.ts';

/** May I? */
export const reviewOwnAccess = (question: Question<SelfSubjectAccessReview>): SelfSubjectAccessReview => ({
  ...question.object,
  status: statusFor(question, question.user, question.object.spec),
});

/** May they? */
export function reviewAccess<T extends SubjectAccessReview | LocalSubjectAccessReview>(question: Question<T>): T {
  const { user = '', uid = '', groups = [] } = question.object.spec;
  return { ...question.object, status: statusFor(question, { name: user, uid, groups }, question.object.spec) };
}

/** What may I? Rules of roles that do not exist are told as an error beside those that do. */
export function reviewOwnRules({ object, user, context }: Question<SelfSubjectRulesReview>): SelfSubjectRulesReview {
  const { namespace = '' } = object.spec;
  if (namespace === '') throw badRequest('no namespace on request');
  const { rules, missing } = context.access.policy.rulesFor(user, namespace);
  return {
    metadata: {},
    spec: {},
    status: { ...splitRules(rules), ...(missing.length === 0 ? {} : { evaluationError: missing.join(', ') }) },
  };
}

function splitRules(rules: readonly WholeRule[]): RulesReviewStatus {
  const isForPaths = ({ nonResourceURLs }: WholeRule): boolean => nonResourceURLs.length > 0;
  return {
    resourceRules: rules
      .filter((rule) => !isForPaths(rule))
      .map(({ verbs, apiGroups, resources, resourceNames }) => ({
        verbs,
        apiGroups,
        resources,
        ...(resourceNames.length === 0 ? {} : { resourceNames }),
      })),
    nonResourceRules: rules.filter(isForPaths).map(({ verbs, nonResourceURLs }) => ({ verbs, nonResourceURLs })),
    incomplete: false,
  };
}

function statusFor({ context }: Pick<Question, 'context'>, user: User, asked: Asked): SubjectAccessReview['status'] {
  const { allowed, reason } = context.access.decide(user, attributesAsked(asked));
  return { allowed, ...(reason === '' ? {} : { reason }) };
}

/** Words such as `*` are taken as they are: only a rule that says `*` too allows them. */
function attributesAsked({ resourceAttributes: asked, nonResourceAttributes: path }: Asked): Attributes {
  if (asked === undefined) return { isResource: false, verb: path?.verb ?? '', path: path?.path ?? '' };
  const { verb = '', group = '', resource = '', subresource = '', namespace = '', name = '' } = asked;
  return { isResource: true, verb, group, resource, subresource, namespace, name };
}
