import { badRequest, conflict } from '../../api/errors.ts';
import type { ApiObject } from '../../api/metadata.ts';
import type { ServerContext } from '../context.ts';
import type { ResourceRequest } from '../request.ts';
import type { Resource } from '../resource.ts';
import { subjectOf } from '../resource.ts';
import { readObject, withUniqueOwners } from './body.ts';
import { createObject, namespaceMismatch } from './create.ts';
import { updateObject } from './update-object.ts';
import type { WriteCall, Written } from './write-request.ts';
import { clientRequest, withMetadata } from './write-request.ts';
import { parseWriteOptions } from './write-options.ts';

/** PUT of an object; creates objects of some kinds. */
export async function update(
  context: ServerContext,
  resource: Resource,
  info: ResourceRequest,
  { request, warnings, representation }: WriteCall,
): Promise<Written> {
  const options = parseWriteOptions(info.query, 'UpdateOptions');
  const { kind } = representation ?? resource;
  const body = await readObject(context, request, kind, options.fieldValidation);
  const sent = await body.work.run(() => withUniqueOwners(body.object, body.warnings));
  for (const warning of sent.warnings) warnings.push(warning);
  const write = { ...clientRequest(info, { request, warnings }, options, body.work), representation };
  const next = await body.work.run(() => kind.applyDefaults(withUrlName(sent.object, info)));
  return updateObject(context, resource, write, {
    revise: (old) => {
      if (representation !== undefined) return representation.into(old, next);
      checkUid(resource, next, old.metadata.uid);
      return next;
    },
    // As in Kubernetes, a PUT to `/status` creates the object too, without the status.
    ...(resource.kind.createOnUpdate
      ? { create: () => createObject(context, resource, write, asNew(resource, next)) }
      : {}),
  });
}

/** The object with the namespace of the URL; throws a 400 unless its name is that of the URL. */
export function withUrlName(object: ApiObject, info: ResourceRequest): ApiObject {
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

/** The object to create; a revision is ignored, but a UID refers to a deleted object. */
function asNew(resource: Resource, object: ApiObject): ApiObject {
  checkUid(resource, object, '');
  return withoutRevision(object);
}

/** The object without the metadata of a stored object. */
export function withoutRevision(object: ApiObject): ApiObject {
  const { resourceVersion: _, uid: __, ...metadata } = object.metadata;
  return { ...object, metadata };
}

/** Throws a 409 if the body has another UID than the stored object; `stored` is '' if there is none. */
function checkUid(resource: Resource, { metadata: { name = '', uid = '' } }: ApiObject, stored = ''): void {
  if (uid === '' || uid === stored) return;
  const why = `Precondition failed: UID in precondition: ${uid}, UID in object meta: ${stored}`;
  throw conflict(subjectOf(resource, name), why);
}
