import { conflict, invalid } from '../../api/errors.ts';
import type { Kind } from '../../api/kind.ts';
import { apiVersionOf } from '../../api/kind.ts';
import type { Scale } from '../../api/kinds/autoscaling/scale/kind.ts';
import { scaleKind, scaleOf, scalePathsOf, withValueAt } from '../../api/kinds/autoscaling/scale/kind.ts';
import { Item, objectInVersion } from '../cache/item.ts';
import { layoutOf, serialise } from '../cache/layout.ts';
import type { ServerContext } from '../context.ts';
import { withManagedFields } from '../patch/managed.ts';
import { managersOfScale, managersWithScale } from '../patch/scale-managers.ts';
import type { ApiCall, Reply } from '../reply.ts';
import { objectReply } from '../reply.ts';
import type { ResourceRequest } from '../request.ts';
import type { Resource } from '../resource.ts';
import { presenterFor } from '../verbs/presenter-for.ts';
import { readItem } from '../verbs/read-item.ts';
import { patch } from '../verbs/patch.ts';
import type { Representation } from '../verbs/representation.ts';
import { update } from '../verbs/update.ts';

const layout = layoutOf(scaleKind);

/** GET, PUT or PATCH of the `scale` subresource. */
export async function scale(
  context: ServerContext,
  resource: Resource,
  info: ResourceRequest,
  call: ApiCall,
): Promise<Reply> {
  const presenter = presenterFor(context, scaleKind, info, call.request);
  const item =
    info.verb === 'get' ? await readItem(context, resource, info) : await write(context, resource, info, call);
  await context.conversions.prepare(resource.kind, [item]);
  return objectReply(200, presenter, scaleItem(resource.kind, item));
}

async function write(context: ServerContext, resource: Resource, info: ResourceRequest, call: ApiCall): Promise<Item> {
  const representation = scaleOfResource(context, resource);
  const verb = info.verb === 'patch' ? patch : update;
  return (await verb(context, resource, info, { ...call, representation })).item;
}

/** The scale of a stored workload. */
function scaleItem(kind: Kind, item: Item): Item {
  return new Item({ ...item.entry, value: serialise(layout, scaleOf(kind, objectInVersion(kind, item))) }, layout);
}

function scaleOfResource(context: ServerContext, resource: Resource): Representation {
  const { kind } = resource;
  const own = { group: kind.group, resource: `${kind.plural}/scale` };
  return {
    kind: scaleKind,
    of: (object) =>
      withManagedFields(
        scaleOf(kind, object),
        managersOfScale(object.metadata.managedFields, scalePathsOf(kind).desired),
      ),
    into(object, changed) {
      const { metadata, spec } = changed as Scale; // decoded by its schema
      const { name = '', uid: stored = '', managedFields } = object.metadata;
      const errors = scaleKind.validateUpdate(changed as Scale, changed as Scale, context.write);
      if (errors.length > 0) throw invalid({ group: scaleKind.group, resource: scaleKind.kind, name }, errors);
      const { uid = '', resourceVersion = '' } = metadata;
      if (uid !== '' && uid !== stored) {
        const why = `Precondition failed: UID in precondition: ${uid}, UID in object meta: ${stored}`;
        throw conflict({ ...own, name }, why);
      }
      const { desired } = scalePathsOf(kind);
      const scaled = {
        ...withValueAt({ ...object }, desired, spec.replicas ?? 0),
        metadata: { ...object.metadata, resourceVersion },
      };
      const writer = { apiVersion: apiVersionOf(kind), path: desired };
      return withManagedFields(scaled, managersWithScale(managedFields, metadata.managedFields, writer));
    },
  };
}
