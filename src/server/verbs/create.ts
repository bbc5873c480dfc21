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
  const body = await readObject(context, request, resource.kind, options.fieldValidation);
  const sent = await body.work.run(() => withUniqueOwners(body.object, body.warnings));
  for (const warning of sent.warnings) warnings.push(warning);
  const write = {
    ...clientRequest(info, { request, warnings }, options, body.work),
    name: sent.object.metadata.name ?? '',
  };
  const defaulted = await body.work.run(() => resource.kind.applyDefaults(sent.object));
  return createObject(context, resource, write, defaulted);
}
