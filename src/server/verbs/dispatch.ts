import type { Choice } from '../negotiate/accept.ts';
import { negotiate } from '../negotiate/accept.ts';
import { metadataPresenter } from '../negotiate/metadata.ts';
import type { Presenter } from '../negotiate/presenter.ts';
import { convertedPresenter, storedPresenter } from '../negotiate/presenter.ts';
import { parseIncludeObject, tablePresenter } from '../negotiate/table.ts';
import { requestToken } from '../access/identity/token-request.ts';
import type { ServerContext } from '../context.ts';
import type { ApiRequest, ListReply, Reply } from '../reply.ts';
import { jsonReply, methodNotAllowed } from '../reply.ts';
import type { ResourceRequest } from '../request.ts';
import type { Resource } from '../resource.ts';
import { create } from './create.ts';
import { remove, removeCollection } from './delete.ts';
import { get } from './get.ts';
import { list } from './list.ts';
import { patch } from './patch.ts';
import { update } from './update.ts';
import { watch } from './watch.ts';
import type { Written } from './write-request.ts';

interface Asked {
  readonly request: ApiRequest;
  readonly warnings: string[];
}

/** Does what a request asks of a resource. */
export async function dispatchVerb(
  context: ServerContext,
  resource: Resource,
  info: ResourceRequest,
  asked: Asked,
): Promise<Reply | ListReply> {
  if (info.subresource === 'token') return requestToken(context, info, asked);
  const { deprecation } = resource.kind;
  if (deprecation !== undefined) asked.warnings.push(deprecation);
  const presenter = presenterFor(context, resource, info, asked.request);
  const { request } = asked;
  switch (info.verb) {
    case 'get':
      return get(context, resource, info, presenter);
    case 'list':
      return list(context, resource, info, { request, presenter });
    case 'watch':
      return watch(context, resource, info, { request, presenter });
    case 'create':
      return writtenReply(await create(context, resource, info, asked), presenter);
    case 'update':
      return writtenReply(await update(context, resource, info, asked), presenter);
    case 'patch':
      return writtenReply(await patch(context, resource, info, asked), presenter);
    case 'delete':
      return remove(context, resource, info, { ...asked, presenter });
    case 'deletecollection':
      return removeCollection(context, resource, info, { ...asked, presenter });
    case 'unsupported':
      return methodNotAllowed();
  }
}

const writtenReply = ({ item, created }: Written, presenter: Presenter): Reply =>
  jsonReply(created ? 201 : 200, `${presenter.object(item)}\n`);

function presenterFor(
  context: ServerContext,
  { kind }: Resource,
  info: ResourceRequest,
  request: ApiRequest,
): Presenter {
  const isList = info.verb === 'list' || info.verb === 'deletecollection';
  const allowed: readonly Choice['as'][] = isList ? ['table', 'metadataList'] : ['table', 'metadata'];
  const choice = negotiate(request.header('accept'), allowed);
  const whole = kind.storage === undefined ? storedPresenter(kind) : convertedPresenter(kind, kind.storage);
  switch (choice.as) {
    case 'object':
      return whole;
    case 'metadata':
    case 'metadataList':
      return metadataPresenter(choice.version);
    case 'table':
      return tablePresenter({
        kind,
        version: choice.version,
        includeObject: parseIncludeObject(info.query.get('includeObject')),
        whole,
        clock: context.clock,
      });
  }
}
