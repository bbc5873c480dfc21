import { badRequest, invalid, isStatusError } from '../../api/errors.ts';
import { invalidValue } from '../../api/field-errors.ts';
import type { Kind } from '../../api/kind.ts';
import type { ApiObject } from '../../api/metadata.ts';
import type { ServerContext } from '../context.ts';
import { applyJsonPatch } from '../patch/json.ts';
import { applyMergePatch } from '../patch/merge.ts';
import { asJson } from '../patch/managed.ts';
import { applyStrategicMergePatch } from '../patch/strategic.ts';
import type { ApiRequest } from '../reply.ts';
import type { ResourceRequest } from '../request.ts';
import type { Resource } from '../resource.ts';
import { kindSubject } from '../resource.ts';
import { applyPatch } from './apply.ts';
import { decodeObject, maxBodyBytes, mediaType, unsupportedType } from './body.ts';
import { JsonError, parseJson } from '../../api/schema/json.ts';
import { subresourceOf } from './update.ts';
import { updateObject } from './update-object.ts';
import type { WriteRequest, Written } from './write-request.ts';
import type { WriteOptions } from './write-options.ts';
import { managerOf, parseWriteOptions } from './write-options.ts';

/** Computes a patched document from an object's JSON. */
type Patcher = (document: Record<string, unknown>, body: unknown, kind: Kind) => unknown;

const patchers = new Map<string, Patcher>([
  ['application/json-patch+json', (document, body) => applyJsonPatch(document, body)],
  ['application/merge-patch+json', (document, body) => applyMergePatch(document, body)],
  [
    'application/strategic-merge-patch+json',
    (document, body, kind) => applyStrategicMergePatch(document, body, kind.schema),
  ],
]);

const applyType = 'application/apply-patch+yaml';

/** PATCH in any of its four kinds. */
export async function patch(
  context: ServerContext,
  resource: Resource,
  info: ResourceRequest,
  { request, warnings }: { readonly request: ApiRequest; readonly warnings: string[] },
): Promise<Written> {
  const type = mediaType(request);
  if (type === applyType) return applyPatch(context, resource, info, { request, warnings });
  const patcher = patchers.get(type);
  if (patcher === undefined || (resource.kind.custom && type.includes('strategic'))) {
    throw unsupportedType(acceptedPatches(resource.kind));
  }
  const options = parseWriteOptions(info.query, 'PatchOptions');
  const body = parsePatch(await request.body(maxBodyBytes), options);
  const write: WriteRequest = {
    user: request.user,
    namespace: info.namespace,
    name: info.name,
    subresource: subresourceOf(info),
    dryRun: options.dryRun,
    manager: managerOf(options, request.header('user-agent')),
    warnings,
  };
  return updateObject(context, resource, write, {
    revise: (old) => {
      const patched = patcher(asJson(old), body.value, resource.kind);
      return revised(context, resource, { old, patched, options, duplicates: body.duplicates, warnings });
    },
  });
}

const acceptedPatches = (kind: Kind): string =>
  [...patchers.keys(), applyType].filter((type) => !(kind.custom && type.includes('strategic'))).join(', ');

function parsePatch(
  bytes: Buffer,
  { fieldValidation }: WriteOptions,
): { readonly value: unknown; readonly duplicates: readonly string[] } {
  try {
    const { value, duplicates } = parseJson(bytes.toString());
    return { value, duplicates: fieldValidation === 'Ignore' ? [] : duplicates };
  } catch (error) {
    if (error instanceof JsonError) throw badRequest(`error decoding patch: ${error.message}`);
    throw error;
  }
}

/** The patched document as an object again. A patch that makes a bad one is a 422 about the patch. */
function revised(
  context: ServerContext,
  resource: Resource,
  patch: {
    readonly old: ApiObject;
    readonly patched: unknown;
    readonly options: WriteOptions;
    readonly duplicates: readonly string[];
    readonly warnings: string[];
  },
): ApiObject {
  const { kind } = resource;
  const { old, patched, options, duplicates, warnings } = patch;
  try {
    const { object, warnings: told } = decodeObject(patched, kind, { validation: options.fieldValidation, duplicates });
    for (const warning of told) if (!warnings.includes(warning)) warnings.push(warning);
    checkIdentity(resource, object, old);
    return kind.applyDefaults(object);
  } catch (error) {
    if (!isStatusError(error) || error.status.code !== 400) throw error;
    throw invalid(kindSubject(resource, old.metadata.name ?? ''), [
      invalidValue('patch', JSON.stringify(patched)?.slice(0, 2000), error.message),
    ]);
  }
}

/** A patch cannot rename an object or move it. */
function checkIdentity(resource: Resource, next: ApiObject, old: ApiObject): void {
  const { name = '', namespace } = next.metadata;
  if (name !== old.metadata.name) {
    throw badRequest(
      `the name of the object (${name}) does not match the name on the URL (${old.metadata.name ?? ''})`,
    );
  }
  if (namespace !== old.metadata.namespace && resource.kind.namespaced) {
    throw badRequest('the namespace of the provided object does not match the namespace sent on the request');
  }
  const { kind = resource.kind.kind } = next;
  if (kind !== resource.kind.kind) throw badRequest(`a patch cannot change the kind to ${kind}`);
}
