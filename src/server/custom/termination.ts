import { isNotFound } from '../../api/errors.ts';
import { isEstablished, withCondition } from '../../api/kinds/apiextensions/customresourcedefinition/conditions.ts';
import { cleanupFinalizer } from '../../api/kinds/apiextensions/customresourcedefinition/kind.ts';
import { isNative } from '../../api/kinds/apiextensions/customresourcedefinition/native.ts';
import type {
  CrdCondition,
  CustomResourceDefinition,
} from '../../api/kinds/apiextensions/customresourcedefinition/schema.ts';
import { timestamp } from '../../api/timestamp.ts';
import type { Item } from '../cache/item.ts';
import type { ServerContext } from '../context.ts';
import type { Resource } from '../resource.ts';
import { deleteObject } from '../verbs/delete-object.ts';

type Change = (crd: CustomResourceDefinition) => CustomResourceDefinition;

/** The number of concurrent deletions. */
const batchSize = 64;

/**
 * Deletes the objects of a definition that is deleted, and then removes its finalizer. Returns false while objects remain.
 */
export async function terminateDefinition(
  context: ServerContext,
  crd: CustomResourceDefinition,
  write: (change: Change) => Promise<void>,
): Promise<boolean> {
  if (crd.metadata.finalizers?.includes(cleanupFinalizer) !== true) return true;
  const set = (condition: CrdCondition): Change => {
    const now = timestamp(context.clock());
    return (stored) => withCondition(stored, condition, now);
  };
  const finish = (reason: string, message: string): Promise<void> => {
    const change = set({ type: 'Terminating', status: 'False', reason, message });
    return write((stored) => withoutFinalizer(change(stored)));
  };
  if (isNative(crd, context.resources.own)) {
    await finish('OverlappingBuiltInResource', 'instances overlap with built-in resources in storage');
    return true;
  }
  if (!isEstablished(crd)) {
    await finish('NeverEstablished', 'resource was never established');
    return true;
  }
  await write(
    set({
      type: 'Terminating',
      status: 'True',
      reason: 'InstanceDeletionInProgress',
      message: 'CustomResource deletion is in progress',
    }),
  );
  if (!(await deleteObjects(context, crd.metadata.name ?? ''))) return false;
  await finish('InstanceDeletionCompleted', 'removed all instances');
  return true;
}

function withoutFinalizer(crd: CustomResourceDefinition): CustomResourceDefinition {
  const { finalizers: held = [], ...metadata } = crd.metadata;
  const finalizers = held.filter((finalizer) => finalizer !== cleanupFinalizer);
  return { ...crd, metadata: finalizers.length === 0 ? metadata : { ...metadata, finalizers } };
}

/** Deletes all objects of a definition. Returns whether none remains. */
async function deleteObjects(context: ServerContext, definition: string): Promise<boolean> {
  const kind = context.resources.custom.get(definition)?.all[0];
  if (kind === undefined) return false;
  const cache = context.watchCache.of(kind);
  const resource: Resource = { kind, cache };
  const items = cache.range(cache.prefix);
  for (let at = 0; at < items.length; at += batchSize) {
    await Promise.all(items.slice(at, at + batchSize).map((item) => deleteItem(context, resource, item)));
  }
  return cache.size === 0;
}

async function deleteItem(context: ServerContext, resource: Resource, item: Item): Promise<void> {
  const { namespace = '', name = '', deletionTimestamp } = item.object.metadata;
  if (item.problem !== undefined) {
    // It cannot be read any more, and its definition is deleted as well.
    await context.store.commit([{ key: item.key, value: undefined, expect: item.revision, isDeletion: true }]);
    return;
  }
  if (deletionTimestamp !== undefined) return;
  try {
    await deleteObject(context, resource, { namespace, name }, { propagationPolicy: 'Background' });
  } catch (error) {
    if (!isNotFound(error)) throw error;
  }
}
