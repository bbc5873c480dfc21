import { ignoreNotFound } from '../../api/errors.ts';
import type { ObjectMeta } from '../../api/metadata.ts';
import type { Item } from '../cache/item.ts';
import type { ServerContext } from '../context.ts';
import type { Presenter } from '../negotiate/presenter.ts';
import type { ApiCall, ListReply, Reply } from '../reply.ts';
import { jsonReply, presentedHeaders } from '../reply.ts';
import type { ResourceRequest } from '../request.ts';
import type { Resource } from '../resource.ts';
import { parseSelection } from '../selection.ts';
import { findUnreadable, deleteUnreadable } from './damaged.ts';
import { deleteObject } from './delete-object.ts';
import { readDeleteOptions } from './delete-options.ts';
import { itemReply } from './item-reply.ts';
import { readPage } from './list.ts';
import { parseListOptions } from './read-options.ts';

/** Objects of a collection that are deleted concurrently. */
const batch = 64;

interface Removal extends ApiCall {
  readonly presenter: Presenter;
}

/** DELETE of one object. */
export async function remove(
  context: ServerContext,
  resource: Resource,
  info: ResourceRequest,
  { request, warnings, presenter }: Removal,
): Promise<Reply> {
  const options = await readDeleteOptions(context, request, info.query);
  const { namespace, name } = info;
  const find = (): ReturnType<typeof findUnreadable> =>
    findUnreadable(context, resource, { info, user: request.user, options });
  if (find() !== undefined) {
    await deleteUnreadable(context, resource, { named: info, find, options });
    return jsonReply(200, `${JSON.stringify(successOf(resource, { name }))}\n`);
  }
  const deleted = await deleteObject(context, resource, { namespace, name, user: request.user, warnings }, options);
  const code = !deleted.isRemoved && options.orphanDependents === false ? 202 : 200;
  if (!deleted.isRemoved || resource.kind.deleteReturns === 'object') {
    return itemReply(context, code, presenter, deleted.item);
  }
  return jsonReply(code, `${JSON.stringify(successOf(resource, deleted.item.object.metadata))}\n`);
}

function successOf({ kind }: Resource, { name, uid }: Pick<ObjectMeta, 'name' | 'uid'>): unknown {
  const details = { name, ...(kind.group === '' ? {} : { group: kind.group }), kind: kind.plural, uid };
  return { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success', details };
}

/** DELETE of all selected objects; not atomic, and ignores objects that were deleted meanwhile. */
export async function removeCollection(
  context: ServerContext,
  resource: Resource,
  info: ResourceRequest,
  { request, warnings, presenter }: Removal,
): Promise<ListReply> {
  const deletion = await readDeleteOptions(context, request, info.query);
  const options = parseListOptions(info.query);
  const selection = parseSelection(resource.kind, info.query);
  const { inVersion } = presenter;
  const page = await readPage(context, resource, { namespace: info.namespace, options, selection, request, inVersion });
  const deleted: Item[] = [];
  const found = [...page.items];
  for (let at = 0; at < found.length; at += batch) {
    const results = await Promise.all(
      found.slice(at, at + batch).map(async (item) => {
        const { namespace = '', name = '' } = item.object.metadata;
        const target = { namespace, name, user: request.user, warnings };
        const result = await ignoreNotFound(deleteObject(context, resource, target, deletion));
        return result === undefined ? [] : [item]; // the reply has the objects as they were listed
      }),
    );
    deleted.push(...results.flat());
  }
  const list = presenter.list(deleted, { resourceVersion: String(page.revision) });
  return {
    status: 200,
    headers: presentedHeaders(presenter.contentType),
    list,
  };
}
