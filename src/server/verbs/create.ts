import type { ServerContext } from '../context.ts';
import type { ApiRequest } from '../reply.ts';
import type { ResourceRequest } from '../request.ts';
import type { Resource } from '../resource.ts';
import { readObject } from './body.ts';
import { createObject } from './create-object.ts';
import { withUniqueOwners } from './owners.ts';
import type { Written } from './write-request.ts';
import { clientRequest } from './write-request.ts';
import { parseWriteOptions } from './write-options.ts';

/** POST: a new object. */
export async function create(
  context: ServerContext,
  resource: Resource,
  info: ResourceRequest,
  { request, warnings }: { readonly request: ApiRequest; readonly warnings: string[] },
): Promise<Written> {
  const options = parseWriteOptions(info.query, 'CreateOptions');
  const body = await readObject(request, resource.kind, options.fieldValidation);
  const sent = withUniqueOwners(body.object, body.warnings);
  warnings.push(...sent.warnings);
  const write = {
    ...clientRequest(info, { request, warnings }, options),
    name: sent.object.metadata.name ?? '',
  };
  return createObject(context, resource, write, resource.kind.applyDefaults(sent.object));
}
