import { badRequest, failure, invalid, isStatusError, notFound } from '../../api/errors.ts';
import type { DeleteOptions } from '../../api/delete-options.ts';
import { invalidValue } from '../../api/field-errors.ts';
import { podKind } from '../../api/kinds/core/pod/kind.ts';
import type { Pod } from '../../api/kinds/core/pod/schema.ts';
import type { Eviction } from '../../api/kinds/policy/eviction/kind.ts';
import { evictionKind } from '../../api/kinds/policy/eviction/kind.ts';
import { disrupted, unobserved } from '../../api/kinds/policy/poddisruptionbudget/disrupt.ts';
import type { PodDisruptionBudget } from '../../api/kinds/policy/poddisruptionbudget/kind.ts';
import { podDisruptionBudgetKind } from '../../api/kinds/policy/poddisruptionbudget/kind.ts';
import type { ApiObject } from '../../api/metadata.ts';
import { decode } from '../../api/schema/decode.ts';
import { requirementsOf } from '../../api/selectors/label-selector.ts';
import { matchesLabels } from '../../api/selectors/labels.ts';
import { timestamp } from '../../api/timestamp.ts';
import { restrictNode } from '../admission/node-restriction.ts';
import { validateWrite } from '../admission/review.ts';
import type { ServerContext } from '../context.ts';
import { negotiate } from '../negotiate/accept.ts';
import type { ApiRequest, Reply } from '../reply.ts';
import { statusReply } from '../reply.ts';
import type { ResourceRequest } from '../request.ts';
import type { Resource } from '../resource.ts';
import { subjectOf } from '../resource.ts';
import { readObject } from '../verbs/body.ts';
import { namespaceMismatch } from '../verbs/create.ts';
import { checkPreconditions, deleteObject } from '../verbs/delete-object.ts';
import { updateObject } from '../verbs/update-object.ts';
import { serverRequest } from '../verbs/write-request.ts';
import { parseWriteOptions } from '../verbs/write-options.ts';

/** How often the deletion of a Pod that no budget protects is tried while the Pod changes. */
const attempts = 20;

interface Target {
  readonly context: ServerContext;
  readonly resource: Resource;
  readonly namespace: string;
  readonly name: string;
}

/** POST of `pods/NAME/eviction`: deletes the Pod if its PodDisruptionBudget allows that. */
export async function evict(
  context: ServerContext,
  resource: Resource,
  info: ResourceRequest,
  { request, warnings }: { readonly request: ApiRequest; readonly warnings: string[] },
): Promise<Reply> {
  negotiate(request.header('accept'), { transformations: [], protobuf: true });
  const { dryRun, fieldValidation } = parseWriteOptions(info.query, 'CreateOptions');
  const body = await readObject(context, request, evictionKind, fieldValidation);
  for (const warning of body.warnings) warnings.push(warning);
  const eviction = body.object as Eviction; // decoded by the schema of that kind
  checkIdentity(eviction, info);
  const options = deleteOptionsOf(eviction, dryRun);
  const representation = { kind: evictionKind, of: (object: ApiObject): ApiObject => object };
  const source = { user: request.user, subresource: 'eviction', representation, dryRun, warnings };
  const { namespace, name } = info;
  const target = { context, resource, namespace, name };
  restrictNode(context, podKind, { ...source, next: undefined, old: podOf(target) });
  await validateWrite(context, resource, source, {
    operation: 'CREATE',
    object: eviction,
    old: undefined,
  });
  await evictPod(target, options);
  return statusReply({ kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success', code: 201 });
}

function checkIdentity({ metadata, deleteOptions }: Eviction, { namespace, name }: ResourceRequest): void {
  if ((metadata.namespace ?? '') !== '' && metadata.namespace !== namespace) throw namespaceMismatch();
  if (metadata.name !== name) throw badRequest('name in URL does not match name in Eviction object');
  if (deleteOptions?.ignoreStoreReadErrorWithClusterBreakingPotential === true) {
    const path = 'deleteOptions.ignoreStoreReadErrorWithClusterBreakingPotential';
    throw invalid({ group: evictionKind.group, resource: evictionKind.kind, name }, [
      invalidValue(path, true, 'can not be set for pod eviction, try after removing the option'),
    ]);
  }
}

/** The options of the deletion, which is a dry run if the request or its body requests one. */
function deleteOptionsOf({ deleteOptions = {} }: Eviction, dryRun: boolean): DeleteOptions {
  const { dryRun: inBody = [] } = deleteOptions;
  const all = dryRun ? ['All'] : [];
  if (inBody.length > 0 && dryRun && inBody.join() !== all.join()) {
    const message = `Non-matching dry-run options in request and content: [${all.join(' ')}] and [${inBody.join(' ')}]`;
    throw failure({ code: 500, message }); // as in Kubernetes
  }
  return { ...deleteOptions, dryRun: inBody.length > 0 ? inBody : all };
}

async function evictPod(target: Target, options: DeleteOptions): Promise<void> {
  const isUnpinned = options.preconditions?.resourceVersion === undefined;
  for (let attempt = 1; ; attempt++) {
    const pod = podOf(target);
    if (!isUnprotected(pod)) return evictProtected(target, pod, options);
    try {
      return await removePod(target, isUnpinned && isPending(pod) ? pinned(options, pod) : options);
    } catch (error) {
      if (!isConflict(error) || !isUnpinned || attempt === attempts) throw error;
    }
  }
}

/** Evicts a Pod that a budget may protect. */
async function evictProtected(target: Target, pod: Pod, options: DeleteOptions): Promise<void> {
  const [budget, ...others] = budgetsOf(target, pod);
  if (budget === undefined) return removePod(target, options);
  if (others.length > 0) {
    const message = 'This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.';
    throw failure({ code: 500, message });
  }
  if (!mayDisrupt(pod, budget)) {
    await charge(target, budget, options);
    return removePod(target, options);
  }
  try {
    // If the Pod becomes ready meanwhile, it is protected again.
    await removePod(target, pinned(options, pod));
  } catch (error) {
    const isOurs = options.preconditions?.resourceVersion === undefined;
    throw isConflict(error) && isOurs ? unobserved(budget.metadata.name ?? '') : error;
  }
}

/** Whether a Pod is evicted without its budget: it was disrupted already, or never ran. */
const isUnprotected = ({ status: { phase }, metadata }: Pod): boolean =>
  phase === 'Succeeded' || phase === 'Failed' || phase === 'Pending' || metadata.deletionTimestamp !== undefined;

const isPending = ({ status: { phase }, metadata }: Pod): boolean =>
  phase === 'Pending' && metadata.deletionTimestamp === undefined;

/** Whether a Pod that is not ready may be evicted although the budget counts no disruption for it. */
function mayDisrupt({ status: { conditions = [] } }: Pod, { spec, status }: PodDisruptionBudget): boolean {
  if (conditions.some(({ type, status: is }) => type === 'Ready' && is === 'True')) return false;
  if (spec.unhealthyPodEvictionPolicy === 'AlwaysAllow') return true;
  return status.desiredHealthy > 0 && status.currentHealthy >= status.desiredHealthy;
}

const isConflict = (error: unknown): boolean => isStatusError(error) && error.status.code === 409;

/** The options with the precondition that the Pod has not changed. */
const pinned = (options: DeleteOptions, { metadata: { resourceVersion = '' } }: Pod): DeleteOptions => ({
  ...options,
  preconditions: { ...options.preconditions, resourceVersion },
});

function podOf({ resource, namespace, name }: Target): Pod {
  const item = resource.cache.get(resource.cache.key(namespace, name));
  if (item === undefined) throw notFound(subjectOf(resource, name));
  if (item.problem !== undefined) throw item.problem;
  return item.object as Pod; // the cache holds Pods
}

function budgetsOf({ context, namespace }: Target, { metadata: { labels } }: Pod): readonly PodDisruptionBudget[] {
  const cache = context.watchCache.of(podDisruptionBudgetKind);
  const inNamespace = Array.from(cache.range(cache.key(namespace, '')), ({ object }) => object as PodDisruptionBudget);
  return inNamespace.filter(({ spec: { selector } }) => {
    const requirements = selector === undefined ? undefined : requirementsOf(selector);
    return requirements !== undefined && matchesLabels(requirements, labels);
  });
}

/** Counts the eviction in the status of the budget, or throws the 429 that the budget does not allow it. */
async function charge({ context, namespace, name }: Target, budget: ApiObject, options: DeleteOptions): Promise<void> {
  const resource = { kind: podDisruptionBudgetKind, cache: context.watchCache.of(podDisruptionBudgetKind) };
  const request = serverRequest({ namespace, name: budget.metadata.name ?? '', subresource: 'status' });
  await updateObject(
    context,
    resource,
    { ...request, dryRun: isDryRun(options) },
    {
      revise(old) {
        const current = old as PodDisruptionBudget; // the object of that kind
        return { ...current, status: disrupted(current, name, timestamp(context.clock())) };
      },
    },
  );
}

const isDryRun = ({ dryRun = [] }: DeleteOptions): boolean => dryRun.includes('All');

/** Marks the Pod as evicted, and deletes it. */
async function removePod(target: Target, options: DeleteOptions): Promise<void> {
  const { context, resource, namespace, name } = target;
  if (isDryRun(options)) return void (await deleteObject(context, resource, { namespace, name }, options));
  const request = { ...serverRequest({ namespace, name, subresource: 'status' }), manager: undefined };
  const { item } = await updateObject(context, resource, request, {
    revise(old) {
      checkPreconditions(resource, old, options);
      return withDisruption(old as Pod, timestamp(context.clock())); // the object of that kind
    },
  });
  const isPinned = options.preconditions?.resourceVersion !== undefined;
  // The condition has changed the revision.
  const deletion = isPinned ? pinned(options, item.object as Pod) : options;
  await deleteObject(context, resource, { namespace, name }, deletion);
}

function withDisruption(pod: Pod, now: string): Pod {
  const { conditions = [] } = pod.status;
  const old = conditions.find(({ type }) => type === 'DisruptionTarget');
  const next = {
    type: 'DisruptionTarget',
    status: 'True',
    lastTransitionTime: old?.status === 'True' ? old.lastTransitionTime : now,
    reason: 'EvictionByEvictionAPI',
    message: 'Eviction API: evicting',
  };
  const updated = old === undefined ? [...conditions, next] : conditions.map((each) => (each === old ? next : each));
  // Decoding completes the new condition.
  return decode<Pod>(podKind.schema, { ...pod, status: { ...pod.status, conditions: updated } }).object;
}
