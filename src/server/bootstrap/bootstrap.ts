import { ignoreNotFound, isStatusError } from '../../api/errors.ts';
import { endpointSliceKind } from '../../api/kinds/discovery/endpointslice/kind.ts';
import { serviceCidrKind } from '../../api/kinds/networking/servicecidr/kind.ts';
import type { ServiceCidr } from '../../api/kinds/networking/servicecidr/schema.ts';
import type { Kind } from '../../api/kind.ts';
import type { ApiObject } from '../../api/metadata.ts';
import { decode } from '../../api/schema/decode.ts';
import type { ServerContext } from '../context.ts';
import { equalJson } from '../../api/schema/equal-json.ts';
import type { Resource } from '../resource.ts';
import { createObject } from '../verbs/create.ts';
import { deleteObject } from '../verbs/delete-object.ts';
import { updateObject } from '../verbs/update-object.ts';
import { serverRequest } from '../verbs/write-request.ts';
import type { BootstrapOptions, InitialObject } from './objects.ts';
import { initialObjects, kubernetesName, serviceCidrName } from './objects.ts';

/** Creates missing initial objects and updates the endpoints of the server. */
export async function bootstrap(context: ServerContext, options: BootstrapOptions): Promise<void> {
  await replaceServiceCidr(context, options.serviceCidrs);
  // Unlike endpoints of users, those of the server may be loopback addresses.
  const own = { ...context, write: { ...context.write, loopbackEndpoints: ['127.0.0.0/8', '::1/128'] } };
  const objects = initialObjects(options);
  for (const object of objects) await ensure(own, object);
  await removeOldSlices(context, objects);
}

/** Deletes slices of servers with a port that no server has any more. */
async function removeOldSlices(context: ServerContext, objects: readonly InitialObject[]): Promise<void> {
  const resource: Resource = { kind: endpointSliceKind, cache: context.watchCache.of(endpointSliceKind) };
  const kept = new Set(objects.map(({ content }) => (content['metadata'] as { readonly name: string }).name));
  const prefix = resource.cache.key('default', `${kubernetesName}-`);
  for (const { key } of resource.cache.range(prefix)) {
    const name = key.slice(resource.cache.scope('default').length);
    if (!/^kubernetes-\d$/.test(name) || kept.has(name)) continue;
    await ignoreNotFound(deleteObject(context, resource, { namespace: 'default', name }, {}));
  }
}

/** Creates an initial object unless it exists; restores the content of one that is kept. */
export async function ensure(context: ServerContext, initial: InitialObject): Promise<void> {
  const { kind, content, isKept } = initial;
  const object = kind.applyDefaults(decode<ApiObject>(kind.schema, content).object);
  const { metadata, ...rest } = object;
  const withNamespace = { ...object, metadata: { ...metadata, namespace: initial.namespace } };
  await ensureObject(context, kind, withNamespace, isKept && ((old) => ({ ...old, ...rest })));
}

/** Creates the object unless it exists. Updates an existing one if `revise` returns another object. */
export async function ensureObject(
  context: ServerContext,
  kind: Kind,
  object: ApiObject,
  revise?: (old: ApiObject) => ApiObject,
): Promise<void> {
  const resource: Resource = { kind, cache: context.watchCache.of(kind) };
  const { name = '', namespace = '' } = object.metadata;
  const request = serverRequest({ namespace, name });
  const item = resource.cache.get(resource.cache.key(namespace, name));
  if (item === undefined) {
    await createObject(context, resource, request, object).catch((error: unknown) => {
      // Another server over the same store may create the object first.
      if (!isStatusError(error) || error.status.reason !== 'AlreadyExists') throw error;
    });
  } else if (item.problem === undefined && revise !== undefined && revise(item.object) !== item.object) {
    await updateObject(context, resource, request, { revise });
  }
}

/** Throws if other servers, which run, allocate cluster IPs from other ranges. */
export function requireServiceRange(context: ServerContext, cidrs: readonly string[], hasOthers: boolean): void {
  const cache = context.watchCache.of(serviceCidrKind);
  const item = cache.get(cache.key('', serviceCidrName));
  if (!hasOthers || item === undefined || item.problem !== undefined) return;
  const { spec } = item.object as ServiceCidr; // the cache of ServiceCIDRs holds ServiceCIDRs
  if (equalJson(spec.cidrs, cidrs)) return;
  const range = (spec.cidrs ?? []).join(',');
  throw new Error(`the cluster has the service range ${range}: pass --service-cluster-ip-range ${range}`);
}

/** Deletes the ServiceCIDR if the flag names other ranges, so that it is created again. Services keep their addresses. */
async function replaceServiceCidr(context: ServerContext, cidrs: readonly string[]): Promise<void> {
  const resource: Resource = { kind: serviceCidrKind, cache: context.watchCache.of(serviceCidrKind) };
  const item = resource.cache.get(resource.cache.key('', serviceCidrName));
  if (item === undefined || item.problem !== undefined) return;
  const { spec } = item.object as ServiceCidr; // the cache of ServiceCIDRs holds ServiceCIDRs
  if (equalJson(spec.cidrs, cidrs)) return;
  context.log.warn(
    { before: spec.cidrs, now: cidrs },
    'the service range has changed: Services keep their addresses until they are recreated',
  );
  await deleteObject(context, resource, { namespace: '', name: serviceCidrName }, {});
}
