import { badRequest, invalid, notFound } from '../../api/errors.ts';
import type { Kind } from '../../api/kind.ts';
import { apiVersionOf } from '../../api/kind.ts';
import type { ApiObject } from '../../api/metadata.ts';
import type { Verdict } from '../access/identity/users.ts';
import { userInfoOf } from '../access/identity/users.ts';
import type { ServerContext } from '../context.ts';
import { negotiate } from '../negotiate/accept.ts';
import type { ApiCall, Reply } from '../reply.ts';
import { jsonReply } from '../reply.ts';
import type { ResourceRequest } from '../request.ts';
import { readObject } from '../verbs/body.ts';
import { namespaceMismatch } from '../verbs/create.ts';
import { parseWriteOptions } from '../verbs/write-options.ts';
import type { SelfSubjectReview } from '../../api/kinds/authentication/selfsubjectreview/kind.ts';
import { selfSubjectReviewKind } from '../../api/kinds/authentication/selfsubjectreview/kind.ts';
import type { TokenReview } from '../../api/kinds/authentication/tokenreview/kind.ts';
import { tokenReviewKind } from '../../api/kinds/authentication/tokenreview/kind.ts';
import { localSubjectAccessReviewKind } from '../../api/kinds/authorization/localsubjectaccessreview/kind.ts';
import { selfSubjectAccessReviewKind } from '../../api/kinds/authorization/selfsubjectaccessreview/kind.ts';
import { selfSubjectRulesReviewKind } from '../../api/kinds/authorization/selfsubjectrulesreview/kind.ts';
import { subjectAccessReviewKind } from '../../api/kinds/authorization/subjectaccessreview/kind.ts';
import { timestamp } from '../../api/timestamp.ts';
import { reviewAccess, reviewOwnAccess, reviewOwnRules } from './access.ts';
import type { ReviewRequest, Reviewer } from './access.ts';

/** A row of the table: the types ensure that a reviewer only gets objects of its kind. */
const entry = <T extends ApiObject>(
  kind: Kind<T>,
  review: (request: ReviewRequest<T>) => ApiObject | Promise<ApiObject>,
): [Kind, Reviewer] => [kind as Kind, review as Reviewer];

const reviewers: ReadonlyMap<Kind, Reviewer> = new Map([
  entry(selfSubjectAccessReviewKind, reviewOwnAccess),
  entry(subjectAccessReviewKind, reviewAccess),
  entry(localSubjectAccessReviewKind, reviewAccess),
  entry(selfSubjectRulesReviewKind, reviewOwnRules),
  entry(tokenReviewKind, reviewToken),
  entry(selfSubjectReviewKind, reviewSelf),
]);

/** Handles a POST of a kind that is not stored and replies with the object and its status. */
export async function answerReview(
  context: ServerContext,
  kind: Kind,
  info: ResourceRequest,
  { request, warnings }: ApiCall,
): Promise<Reply> {
  const reviewer = reviewers.get(kind);
  if (reviewer === undefined) throw notFound({ group: kind.group, resource: kind.plural, name: '' });
  negotiate(request.header('accept'), { transformations: [], protobuf: true }); // reviews have no table and no PartialObjectMetadata
  const options = parseWriteOptions(info.query, 'CreateOptions');
  const body = await readObject(context, request, kind, options.fieldValidation);
  for (const warning of body.warnings) warnings.push(warning);
  const object = kind.applyDefaults(withNamespace(kind, info, body.object));
  const errors = await body.work.run(() => kind.validateCreate(object, context.write));
  // Kubernetes omits the kind in this error.
  if (errors.length > 0) throw invalid({ group: kind.group, resource: '', name: '' }, errors);
  const answer = await reviewer({ object, user: request.user, context });
  const { kind: _kind, apiVersion: _apiVersion, ...rest } = answer;
  return jsonReply(201, `${JSON.stringify({ kind: kind.kind, apiVersion: apiVersionOf(kind), ...rest })}\n`);
}

/** The object with the namespace of the URL, if its kind is namespaced. */
function withNamespace(kind: Kind, info: ResourceRequest, object: ApiObject): ApiObject {
  const { namespace = '', ...metadata } = object.metadata;
  if (!kind.namespaced) return { ...object, metadata };
  if (namespace !== '' && namespace !== info.namespace) throw namespaceMismatch();
  return { ...object, metadata: { ...metadata, namespace: info.namespace } };
}

async function reviewToken({ object, context }: ReviewRequest<TokenReview>): Promise<TokenReview> {
  const { token = '', audiences = [] } = object.spec;
  if (token === '') throw badRequest('token is required for TokenReview in authentication');
  return { ...object, status: statusOf(await context.identity.authenticator.review(token, audiences)) };
}

const invalidToken = 'invalid bearer token';

function statusOf(verdict: Verdict): TokenReview['status'] {
  if (verdict.valid) {
    return { authenticated: true, user: userInfoOf(verdict.user), audiences: verdict.audiences };
  }
  return { user: {}, error: verdict.error === undefined ? invalidToken : `[${invalidToken}, ${verdict.error}]` };
}

function reviewSelf({ object, user, context }: ReviewRequest<SelfSubjectReview>): SelfSubjectReview {
  const metadata = { creationTimestamp: timestamp(context.clock()) };
  return { ...object, metadata, status: { userInfo: userInfoOf(user) } };
}
