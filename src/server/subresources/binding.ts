import { badRequest, conflict, failure } from '../../api/errors.ts';
import type { FieldError } from '../../api/field-errors.ts';
import { notSupported, required } from '../../api/field-errors.ts';
import type { Binding } from '../../api/kinds/core/binding/kind.ts';
import { bindingKind } from '../../api/kinds/core/binding/kind.ts';
import { podKind } from '../../api/kinds/core/pod/kind.ts';
import type { Pod } from '../../api/kinds/core/pod/schema.ts';
import type { ApiObject } from '../../api/metadata.ts';
import { decode } from '../../api/schema/decode.ts';
import { timestamp } from '../../api/timestamp.ts';
import { validateWrite } from '../admission/review.ts';
import type { ServerContext } from '../context.ts';
import { negotiate } from '../negotiate/accept.ts';
import type { ApiCall, Reply } from '../reply.ts';
import { statusReply } from '../reply.ts';
import type { ResourceRequest } from '../request.ts';
import type { Resource } from '../resource.ts';
import { readObject } from '../verbs/body.ts';
import { namespaceMismatch } from '../verbs/create.ts';
import { updateObject } from '../verbs/update-object.ts';
import { serverRequest } from '../verbs/write-request.ts';
import { parseWriteOptions } from '../verbs/write-options.ts';

/** POST of `pods/NAME/binding`: assigns a Pod without a node to a node, which does not have to exist. */
export async function bind(
  context: ServerContext,
  resource: Resource,
  info: ResourceRequest,
  { request, warnings }: ApiCall,
): Promise<Reply> {
  negotiate(request.header('accept'), { transformations: [], protobuf: true });
  const { dryRun, fieldValidation } = parseWriteOptions(info.query, 'CreateOptions');
  const body = await readObject(context, request, bindingKind, fieldValidation);
  for (const warning of body.warnings) warnings.push(warning);
  const binding = body.object as Binding; // decoded by the schema of that kind
  checkBinding(binding, info);
  const representation = { kind: bindingKind, of: (object: ApiObject): ApiObject => object };
  const source = { user: request.user, subresource: 'binding', representation, dryRun, warnings };
  await validateWrite(context, resource, source, { operation: 'CREATE', object: binding, old: undefined });
  const { namespace, name } = info;
  const target = { ...serverRequest({ namespace, name, subresource: 'binding' }), manager: undefined, dryRun };
  await updateObject(context, resource, target, {
    revise: (old) => boundPod(old as Pod, binding, timestamp(context.clock())), // the object of that kind
  });
  return statusReply({ kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success', code: 201 });
}

function checkBinding({ metadata, target }: Binding, { namespace, name }: ResourceRequest): void {
  if ((metadata.namespace ?? '') !== '' && metadata.namespace !== namespace) throw namespaceMismatch();
  if (metadata.name !== name) throw badRequest('name in URL does not match name in Binding object');
  const errors: FieldError[] = [];
  const { kind = '', name: node = '' } = target;
  if (kind !== '' && kind !== 'Node') errors.push(notSupported('target.kind', kind, ['Node', '<empty>']));
  if (node === '') errors.push(required('target.name'));
  if (errors.length === 0) return;
  const texts = errors.map(({ path, body }) => `${path}: ${body}`);
  throw failure({ code: 500, message: texts.length === 1 ? texts.join() : `[${texts.join(', ')}]` }); // as in Kubernetes
}

/** The Pod on its node, with the labels and annotations of the binding. Throws a 409 if it cannot be assigned. */
function boundPod(pod: Pod, { metadata: given, target: { name: node = '' } }: Binding, now: string): Pod {
  const { metadata, spec, status } = pod;
  const why = problemOf(pod, given);
  if (why !== undefined) throw conflict({ group: '', resource: 'pods/binding', name: metadata.name ?? '' }, why);
  const { nominatedNodeName: _nominated, conditions = [], ...others } = status;
  const old = conditions.find(({ type }) => type === 'PodScheduled');
  const isScheduled = {
    type: 'PodScheduled',
    status: 'True',
    lastTransitionTime: old?.status === 'True' ? old.lastTransitionTime : now,
  };
  const merged = (own: Labels = {}, more: Labels = {}): Labels => ({ ...own, ...more });
  const labels = merged(metadata.labels, given.labels);
  const annotations = merged(metadata.annotations, given.annotations);
  // Decoding orders the fields.
  return decode<Pod>(podKind.schema, {
    ...pod,
    metadata: {
      ...metadata,
      ...(Object.keys(labels).length === 0 ? {} : { labels }),
      ...(Object.keys(annotations).length === 0 ? {} : { annotations }),
    },
    spec: { ...spec, nodeName: node },
    status: { ...others, conditions: [...conditions.filter((each) => each !== old), isScheduled] },
  }).object;
}

type Labels = Readonly<Record<string, string>>;

function problemOf(
  { metadata, spec }: Pod,
  { uid = '', resourceVersion = '' }: Binding['metadata'],
): string | undefined {
  const { name = '' } = metadata;
  if (uid !== '' && uid !== metadata.uid) {
    return `Precondition failed: UID in precondition: ${uid}, UID in object meta: ${metadata.uid}`;
  }
  if (resourceVersion !== '' && resourceVersion !== metadata.resourceVersion) {
    return `Precondition failed: ResourceVersion in precondition: ${resourceVersion}, ResourceVersion in object meta: ${metadata.resourceVersion}`;
  }
  if (metadata.deletionTimestamp !== undefined) return `pod ${name} is being deleted, cannot be assigned to a host`;
  if (spec.nodeName) return `pod ${name} is already assigned to node "${spec.nodeName}"`;
  return (spec.schedulingGates ?? []).length > 0 ? `pod ${name} has non-empty .spec.schedulingGates` : undefined;
}
