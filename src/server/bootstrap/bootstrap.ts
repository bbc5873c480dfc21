import { isStatusError } from '../../api/errors.ts';
import { serviceCidrKind } from '../../api/kinds/networking/servicecidr/kind.ts';
import type { ServiceCidr } from '../../api/kinds/networking/servicecidr/schema.ts';
import type { ApiObject } from '../../api/metadata.ts';
import { decode } from '../../api/schema/decode.ts';
import type { ServerContext } from '../context.ts';
import { equalJson } from '../patch/json-value.ts';
import type { Resource } from '../resource.ts';
import { createObject } from '../verbs/create-object.ts';
import { deleteObject } from '../verbs/delete-object.ts';
import { updateObject } from '../verbs/update-object.ts';
import { ownRequest } from '../verbs/write-request.ts';
import type { BootstrapOptions, InitialObject } from './objects.ts';
import { initialObjects, rangeName } from './objects.ts';

/** Creates what is missing, and brings the server's own endpoints up to date. */
export async function bootstrap(context: ServerContext, options: BootstrapOptions): Promise<void> {
  await replaceRange(context, options.serviceCidrs);
  // The server itself may well listen on loopback, which endpoints of users may not.
  const own = { ...context, write: { ...context.write, loopbackEndpoints: ['127.0.0.0/8', '::1/128'] } };
  for (const object of initialObjects(options)) await ensure(own, object);
}

/** Creates the object unless it exists; what is kept gets its content again. */
export async function ensure(context: ServerContext, initial: InitialObject): Promise<void> {
  const { kind, namespace, content, isKept = false } = initial;
  const resource: Resource = { kind, cache: context.watchCache.of(kind) };
  const object = kind.applyDefaults(decode<ApiObject>(kind.schema, content).object);
  const name = object.metadata.name ?? '';
  const request = ownRequest({ namespace, name });
  const item = resource.cache.get(resource.cache.key(namespace, name));
  if (item === undefined) {
    await createObject(context, resource, request, object).catch(ignoreExisting);
    return;
  }
  if (!isKept || item.problem !== undefined) return;
  const { metadata: _, ...rest } = object;
  await updateObject(context, resource, request, { revise: (old) => ({ ...old, ...rest }) });
}

/** The range that the flag names now; Services keep the addresses they have. */
async function replaceRange(context: ServerContext, cidrs: readonly string[]): Promise<void> {
  const resource: Resource = { kind: serviceCidrKind, cache: context.watchCache.of(serviceCidrKind) };
  const item = resource.cache.get(resource.cache.key('', rangeName));
  if (item === undefined || item.problem !== undefined) return;
  const { spec } = item.object as ServiceCidr; // what that cache holds
  if (equalJson(spec.cidrs, cidrs)) return;
  context.log.warn(
    { before: spec.cidrs, now: cidrs },
    'the service range has changed: Services keep their addresses until they are recreated',
  );
  await deleteObject(context, resource, { namespace: '', name: rangeName }, {});
}

/** Another server over the same store was first. */
function ignoreExisting(error: unknown): void {
  if (!isStatusError(error) || error.status.reason !== 'AlreadyExists') throw error;
}
