import { notFound } from '../../api/errors.ts';
import type { Item } from '../cache/item.ts';
import type { ServerContext } from '../context.ts';
import type { ResourceRequest } from '../request.ts';
import type { Resource } from '../resource.ts';
import { subjectOf } from '../resource.ts';
import { rejectDamaged } from './damaged.ts';
import { parseRevision, revisionTooLarge } from './read-options.ts';

/** GET of one object, not older than `resourceVersion`. */
export async function readItem(context: ServerContext, resource: Resource, info: ResourceRequest): Promise<Item> {
  const revision = parseRevision(info.query.get('resourceVersion') ?? '') ?? 0;
  if (!(await context.watchCache.waitForRevision(revision)))
    throw revisionTooLarge(revision, context.watchCache.revision);
  const item = resource.cache.get(resource.cache.key(info.namespace, info.name));
  if (item === undefined) rejectDamaged(context, resource, info);
  if (item === undefined) throw notFound(subjectOf(resource, info.name));
  if (item.problem !== undefined) throw item.problem;
  return item;
}
