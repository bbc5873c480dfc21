import { badRequest } from '../../api/errors.ts';
import type { AccessAttributes as ReviewedAttributes } from '../../api/kinds/authorization/attributes.ts';
import type { LocalSubjectAccessReview } from '../../api/kinds/authorization/localsubjectaccessreview/kind.ts';
import type { SelfSubjectAccessReview } from '../../api/kinds/authorization/selfsubjectaccessreview/kind.ts';
import type {
  RulesReviewStatus,
  SelfSubjectRulesReview,
} from '../../api/kinds/authorization/selfsubjectrulesreview/kind.ts';
import type { SubjectAccessReview } from '../../api/kinds/authorization/subjectaccessreview/kind.ts';
import type { Attributes } from '../access/rbac/attributes.ts';
import type { NormalizedRule } from '../access/rbac/rules.ts';
import type { User } from '../../api/user.ts';
import type { ApiObject } from '../../api/metadata.ts';
import type { ServerContext } from '../context.ts';

/** A decoded, defaulted and validated object of a kind that is not stored. */
export interface ReviewRequest<T extends ApiObject = ApiObject> {
  readonly object: T;
  /** The user of the request. */
  readonly user: User;
  readonly context: ServerContext;
}

/** Returns the object with its status, as the client receives it. */
export type Reviewer = (request: ReviewRequest) => ApiObject | Promise<ApiObject>;

/** Answers a SelfSubjectAccessReview. */
export const reviewOwnAccess = (request: ReviewRequest<SelfSubjectAccessReview>): SelfSubjectAccessReview => ({
  ...request.object,
  status: statusFor(request, request.user, request.object.spec),
});

/** Answers a SubjectAccessReview or LocalSubjectAccessReview. */
export function reviewAccess<T extends SubjectAccessReview | LocalSubjectAccessReview>(request: ReviewRequest<T>): T {
  const { user = '', uid = '', groups = [] } = request.object.spec;
  return { ...request.object, status: statusFor(request, { name: user, uid, groups }, request.object.spec) };
}

/** Answers a SelfSubjectRulesReview. Roles that do not exist are reported in `evaluationError`. */
export function reviewOwnRules({
  object,
  user,
  context,
}: ReviewRequest<SelfSubjectRulesReview>): SelfSubjectRulesReview {
  const { namespace = '' } = object.spec;
  if (namespace === '') throw badRequest('no namespace on request');
  const { rules, missing } = context.access.policy.rulesFor(user, namespace);
  return {
    metadata: {},
    spec: {},
    status: { ...splitRules(rules), ...(missing.length === 0 ? {} : { evaluationError: missing.join(', ') }) },
  };
}

function splitRules(rules: readonly NormalizedRule[]): RulesReviewStatus {
  const isForPaths = ({ nonResourceURLs }: NormalizedRule): boolean => nonResourceURLs.length > 0;
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

function statusFor(
  { context }: Pick<ReviewRequest, 'context'>,
  user: User,
  spec: ReviewedAttributes,
): SubjectAccessReview['status'] {
  const { allowed, reason } = context.access.decide(user, attributesOfReview(spec));
  return { allowed, ...(reason === '' ? {} : { reason }) };
}

/** A `*` in a review is literal: only a rule with `*` allows it. */
function attributesOfReview({ resourceAttributes, nonResourceAttributes: path }: ReviewedAttributes): Attributes {
  if (resourceAttributes === undefined) return { isResource: false, verb: path?.verb ?? '', path: path?.path ?? '' };
  const { verb = '', group = '', resource = '', subresource = '', namespace = '', name = '' } = resourceAttributes;
  const fieldSelector = fieldSelectorOf(resourceAttributes);
  const query = fieldSelector === '' ? {} : { query: new URLSearchParams({ fieldSelector }) };
  return { isResource: true, verb, group, resource, subresource, namespace, name, ...query };
}

/** The field selector in the format of the query parameter, which has no form for other requirements than equality. */
function fieldSelectorOf({ fieldSelector }: NonNullable<ReviewedAttributes['resourceAttributes']>): string {
  const { rawSelector = '', requirements = [] } = fieldSelector ?? {};
  if (rawSelector !== '') return rawSelector;
  return requirements
    .flatMap(({ key, operator, values: [value, ...others] = [] }) =>
      operator === 'In' && value !== undefined && others.length === 0
        ? [`${escapeTerm(key)}=${escapeTerm(value)}`]
        : [],
    )
    .join(',');
}

const escapeTerm = (text: string): string => text.replace(/[\\,=]/g, (character) => `\\${character}`);
