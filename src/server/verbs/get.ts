import { notFound } from '../../api/errors.ts';
import type { ServerContext } from '../context.ts';
import type { Presenter } from '../negotiate/presenter.ts';
import type { Reply } from '../reply.ts';
import { jsonReply } from '../reply.ts';
import type { ResourceRequest } from '../request.ts';
import type { Resource } from '../resource.ts';
import { subjectOf } from '../resource.ts';
import { refuseDamaged } from './damaged.ts';
import { parseRevision, revisionTooLarge } from './read-options.ts';

/** One object, at least as new as `resourceVersion` asks. */
export async function get(
  context: ServerContext,
  resource: Resource,
  info: ResourceRequest,
  presenter: Presenter,
): Promise<Reply> {
  const revision = parseRevision(info.query.get('resourceVersion') ?? '') ?? 0;
  if (!(await context.watchCache.waitForRevision(revision)))
    throw revisionTooLarge(revision, context.watchCache.revision);
  const item = resource.cache.get(resource.cache.key(info.namespace, info.name));
  if (item === undefined) refuseDamaged(context, resource, info);
  if (item === undefined) throw notFound(subjectOf(resource, info.name));
  if (item.problem !== undefined) throw item.problem;
  return jsonReply(200, `${presenter.object(item)}\n`);
}
