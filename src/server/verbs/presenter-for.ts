import type { Kind } from '../../api/kind.ts';
import type { ServerContext } from '../context.ts';
import { negotiate } from '../negotiate/accept.ts';
import type { Presenter } from '../negotiate/presenter.ts';
import {
  convertedPresenter,
  metadataPresenter,
  protobufMetadataPresenter,
  protobufPresenter,
  storedPresenter,
  versionPresenter,
} from '../negotiate/presenter.ts';
import { parseIncludeObject, tablePresenter } from '../negotiate/table.ts';
import type { ApiRequest } from '../reply.ts';
import type { ResourceRequest } from '../request.ts';

/** The presenter of objects of a kind that the `Accept` header requests. */
export function presenterFor(
  context: ServerContext,
  kind: Kind,
  info: ResourceRequest,
  request: ApiRequest,
): Presenter {
  const isList = info.verb === 'list' || info.verb === 'deletecollection';
  const { as, version, encoding } = negotiate(request.header('accept'), {
    transformations: isList ? ['table', 'metadataList'] : ['table', 'metadata'],
    protobuf: !kind.custom && kind.jsonOnly !== true,
  });
  if (as === 'metadata' || as === 'metadataList')
    return encoding === 'protobuf' ? protobufMetadataPresenter(version) : metadataPresenter(version);
  if (encoding === 'protobuf') return protobufPresenter(kind);
  const whole = wholePresenter(kind);
  if (as === 'object') return whole;
  const includeObject = parseIncludeObject(info.query.get('includeObject'));
  return tablePresenter({ kind, version, includeObject, whole, clock: context.clock });
}

function wholePresenter(kind: Kind): Presenter<string> {
  if (kind.webhookVersions !== undefined) return versionPresenter(kind);
  return kind.storage === undefined ? storedPresenter(kind) : convertedPresenter(kind, kind.storage);
}
