import type { Kind } from '../../api/kind.ts';
import type { Presenter } from '../negotiate/presenter.ts';
import { subresourcesOf } from '../discovery/subresources.ts';
import { requestToken } from '../access/identity/token-request.ts';
import type { ServerContext } from '../context.ts';
import type { ApiCall, ListReply, Reply, UpgradeReply } from '../reply.ts';
import { methodNotAllowed } from '../reply.ts';
import { command, log, portForward } from '../nodes/pod-streams.ts';
import { proxy } from '../nodes/proxy.ts';
import type { ResourceRequest } from '../request.ts';
import type { Resource } from '../resource.ts';
import { bind } from '../subresources/binding.ts';
import { evict } from '../subresources/eviction.ts';
import { scale } from '../subresources/scale.ts';
import { create } from './create.ts';
import { itemReply } from './item-reply.ts';
import { remove, removeCollection } from './delete.ts';
import { list } from './list.ts';
import { presenterFor } from './presenter-for.ts';
import { readItem } from './read-item.ts';
import { patch } from './patch.ts';
import { update } from './update.ts';
import { watch } from './watch.ts';
import type { Written } from './write-request.ts';

type SubresourceHandler = (
  context: ServerContext,
  resource: Resource,
  info: ResourceRequest,
  call: ApiCall,
) => Promise<Reply | UpgradeReply>;

/** The subresources that are not writes of the object. */
const subresourceHandlers = new Map<string, SubresourceHandler>([
  ['attach', command],
  ['binding', bind],
  ['eviction', evict],
  ['exec', command],
  ['log', log],
  ['portforward', portForward],
  ['proxy', proxy],
  ['scale', scale],
  ['token', (context, _resource, info, call) => requestToken(context, info, call)],
]);

/** Calls the verb of a resource request and encodes its result. */
export async function dispatchVerb(
  context: ServerContext,
  resource: Resource,
  info: ResourceRequest,
  call: ApiCall,
): Promise<Reply | ListReply | UpgradeReply> {
  if (context.store.isShared && isConsistent(context, info)) await context.watchCache.sync();
  const below = subresourceHandlers.get(info.subresource);
  if (below !== undefined) return below(context, resource, info, call);
  const { deprecation } = resource.kind;
  if (deprecation !== undefined) call.warnings.push(deprecation);
  const { request } = call;
  const presenter = presenterFor(context, resource.kind, info, request);
  switch (info.verb) {
    case 'get':
      return itemReply(context, 200, presenter, await readItem(context, resource, info));
    case 'list':
      return list(context, resource, info, { request, presenter });
    case 'watch':
      return watch(context, resource, info, { request, presenter });
    case 'create':
      return writtenReply(context, await create(context, resource, info, call), presenter);
    case 'update':
      return writtenReply(context, await update(context, resource, info, call), presenter);
    case 'patch':
      return writtenReply(context, await patch(context, resource, info, call), presenter);
    case 'delete':
      return remove(context, resource, info, { ...call, presenter });
    case 'deletecollection':
      return removeCollection(context, resource, info, { ...call, presenter });
    case 'unsupported':
      return methodNotAllowed();
  }
}

/** Whether a request must see all writes that other servers have acknowledged. A create is decided by the store. */
function isConsistent({ watchCache }: ServerContext, { verb, query, subresource }: ResourceRequest): boolean {
  if (verb === 'create') return subresource !== '' || query.has('dryRun');
  if (verb !== 'get' && verb !== 'list' && verb !== 'watch') return true;
  const revision = query.get('resourceVersion') ?? '';
  // A revision that this server has not reached may be that of another server.
  return revision === '' ? (query.get('continue') ?? '') === '' : Number(revision) > watchCache.revision;
}

const writtenReply = (context: ServerContext, { item, created }: Written, presenter: Presenter): Promise<Reply> =>
  itemReply(context, created ? 201 : 200, presenter, item);

/** Whether a path exists for a kind and supports the verb. */
export type PathSupport = 'not found' | 'not allowed' | 'supported';

const itemVerbs: readonly string[] = ['get', 'update', 'patch', 'delete'];

/** Whether the kind serves the path and the verb of a request. */
export function pathSupport(kind: Kind, info: ResourceRequest): PathSupport {
  const { verb, name, namespace, subresource } = info;
  if (namespace !== '' && !kind.namespaced) return 'not found';
  if (subresource !== '') return subresourceSupport(kind, info);
  // The name of a list or watch comes from a field selector; the path is that of the collection.
  const isItem = name !== '' && verb !== 'list' && verb !== 'watch';
  const isAllNamespaces = kind.namespaced && namespace === '';
  const isReview = !kind.stored && !kind.verbs.includes('get');
  if ((isAllNamespaces || isReview) && isItem) return 'not found';
  if (isAllNamespaces && isReview) return 'not found';
  if (isAllNamespaces && verb !== 'list' && verb !== 'watch') return 'not allowed';
  const fits = isItem ? itemVerbs.includes(verb) : !itemVerbs.includes(verb);
  return fits && (kind.verbs as readonly string[]).includes(verb) ? 'supported' : 'not allowed';
}

function subresourceSupport(kind: Kind, { subresource, verb, namespace }: ResourceRequest): PathSupport {
  if (kind.namespaced && namespace === '') return 'not found';
  const found = subresourcesOf(kind).find(({ name }) => name === subresource);
  if (found === undefined) return 'not found';
  // OPTIONS has no verb, and is passed on with the others.
  if (found.name === 'proxy' && verb === 'unsupported') return 'supported';
  return (found.verbs as readonly string[]).includes(verb) ? 'supported' : 'not allowed';
}
