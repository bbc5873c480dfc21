import { badRequest, conflict } from '../../api/errors.ts';
import type { ApiObject } from '../../api/metadata.ts';
import type { ServerContext } from '../context.ts';
import type { ApiRequest } from '../reply.ts';
import type { ResourceRequest } from '../request.ts';
import type { Resource } from '../resource.ts';
import { subjectOf } from '../resource.ts';
import { readObject } from './body.ts';
import { createObject, namespaceMismatch } from './create-object.ts';
import { withUniqueOwners } from './owners.ts';
import { updateObject } from './update-object.ts';
import type { Written } from './write-request.ts';
import { clientRequest, withMetadata } from './write-request.ts';
import { parseWriteOptions } from './write-options.ts';

/** PUT: an object as it should be; some kinds are created by it. */
export async function update(
  context: ServerContext,
  resource: Resource,
  info: ResourceRequest,
  { request, warnings }: { readonly request: ApiRequest; readonly warnings: string[] },
): Promise<Written> {
  const options = parseWriteOptions(info.query, 'UpdateOptions');
  const body = await readObject(context, request, resource.kind, options.fieldValidation);
  const sent = await body.work.run(() => withUniqueOwners(body.object, body.warnings));
  for (const warning of sent.warnings) warnings.push(warning);
  const write = clientRequest(info, { request, warnings }, options, body.work);
  const next = await body.work.run(() => resource.kind.applyDefaults(named(sent.object, info)));
  return updateObject(context, resource, write, {
    revise: (old) => {
      checkUid(resource, next, old.metadata.uid);
      return next;
    },
    // A status creates too, as in Kubernetes: without itself, since nobody creates a status.
    ...(resource.kind.createOnUpdate
      ? { create: () => createObject(context, resource, write, asNew(resource, next)) }
      : {}),
  });
}

/** The object in the URL's namespace; the name it brings must be the URL's. */
export function named(object: ApiObject, info: ResourceRequest): ApiObject {
  const { name = '', namespace = '' } = object.metadata;
  if (name !== '' && name !== info.name) {
    throw badRequest(`the name of the object (${name}) does not match the name on the URL (${info.name})`);
  }
  if (name === '') {
    throw badRequest(`the name of the object (${info.name} based on URL) was undeterminable: name must be provided`);
  }
  if (namespace !== '' && info.namespace !== '' && namespace !== info.namespace) throw namespaceMismatch();
  return withMetadata(object, { name: info.name, ...(info.namespace === '' ? {} : { namespace: info.namespace }) });
}

/** A revision of what is not there says nothing; a UID means an object that has gone. */
function asNew(resource: Resource, object: ApiObject): ApiObject {
  checkUid(resource, object, '');
  return withoutRevision(object);
}

/** The object as one that was never stored. */
export function withoutRevision(object: ApiObject): ApiObject {
  const { resourceVersion: _, uid: __, ...metadata } = object.metadata;
  return { ...object, metadata };
}

/** A body that names a UID is about that object and no other; `stored` is '' when there is none. */
function checkUid(resource: Resource, { metadata: { name = '', uid = '' } }: ApiObject, stored = ''): void {
  if (uid === '' || uid === stored) return;
  const why = `Precondition failed: UID in precondition: ${uid}, UID in object meta: ${stored}`;
  throw conflict(subjectOf(resource, name), why);
}
