import { invalid, notFound } from '../../api/errors.ts';
import type { Kind } from '../../api/kind.ts';
import { apiVersionOf } from '../../api/kind.ts';
import type { ApiObject } from '../../api/metadata.ts';
import type { ServerContext } from '../context.ts';
import { negotiate } from '../negotiate/accept.ts';
import type { ApiRequest, Reply } from '../reply.ts';
import { jsonReply } from '../reply.ts';
import type { ResourceRequest } from '../request.ts';
import { readObject } from '../verbs/body.ts';
import { namespaceMismatch } from '../verbs/create-object.ts';
import { parseWriteOptions } from '../verbs/write-options.ts';
import { reviewers } from './reviewers.ts';

/** POST of a kind that is not stored: the object is a question, and comes back with the answer in it. */
export async function answerReview(
  context: ServerContext,
  kind: Kind,
  info: ResourceRequest,
  { request, warnings }: { readonly request: ApiRequest; readonly warnings: string[] },
): Promise<Reply> {
  const reviewer = reviewers.get(kind);
  if (reviewer === undefined) throw notFound({ group: kind.group, resource: kind.plural, name: '' });
  negotiate(request.header('accept'), []); // there is neither a table nor metadata of an answer
  const options = parseWriteOptions(info.query, 'CreateOptions');
  const body = await readObject(context, request, kind, options.fieldValidation);
  for (const warning of body.warnings) warnings.push(warning);
  const object = kind.applyDefaults(placed(kind, info, body.object));
  const errors = await body.work.run(() => kind.validateCreate(object, context.write));
  // Kubernetes leaves out the kind here.
  if (errors.length > 0) throw invalid({ group: kind.group, resource: '', name: '' }, errors);
  const answer = await reviewer({ object, user: request.user, context });
  const { kind: _kind, apiVersion: _apiVersion, ...rest } = answer;
  return jsonReply(201, `${JSON.stringify({ kind: kind.kind, apiVersion: apiVersionOf(kind), ...rest })}\n`);
}

/** The question with the namespace of the URL, if its kind is in one. */
function placed(kind: Kind, info: ResourceRequest, object: ApiObject): ApiObject {
  const { namespace = '', ...metadata } = object.metadata;
  if (!kind.namespaced) return { ...object, metadata };
  if (namespace !== '' && namespace !== info.namespace) throw namespaceMismatch();
  return { ...object, metadata: { ...metadata, namespace: info.namespace } };
}
