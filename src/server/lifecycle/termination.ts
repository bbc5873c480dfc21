import { isNotFound } from '../../api/errors.ts';
import { namespaceFinalizer, namespaceKind } from '../../api/kinds/core/namespace/kind.ts';
import type { Namespace } from '../../api/kinds/core/namespace/schema.ts';
import type { ApiObject } from '../../api/metadata.ts';
import { timestamp } from '../../api/timestamp.ts';
import type { Item } from '../cache/item.ts';
import type { ResourceCache } from '../cache/resource-cache.ts';
import type { ServerContext } from '../context.ts';
import type { Resource } from '../resource.ts';
import { deleteObject } from '../verbs/delete-object.ts';
import { updateObject } from '../verbs/update-object.ts';
import type { Subresource } from '../verbs/write-request.ts';
import { ownRequest } from '../verbs/write-request.ts';
import type { Remaining } from './conditions.ts';
import { terminationConditions } from './conditions.ts';

/** How many objects are deleted at once. */
const batch = 64;

/** Empties a namespace that is being deleted; true when the namespace itself has gone. */
export async function terminate(context: ServerContext, name: string): Promise<boolean> {
  for (const cache of contentCaches(context)) await deleteContent(context, cache, name);
  await setConditions(context, name, remainingContent(context, name));
  // The first conditions are a write, which comes after everything that was created while the end was not yet seen.
  if (remainingContent(context, name).length > 0) return false;
  await finalize(context, name);
  return true;
}

const contentCaches = (context: ServerContext): ResourceCache[] =>
  [...context.hub.caches].filter(({ kind }) => kind.namespaced);

async function deleteContent(context: ServerContext, cache: ResourceCache, namespace: string): Promise<void> {
  const resource: Resource = { kind: cache.kind, cache };
  const items = cache.range(cache.scope(namespace));
  for (let at = 0; at < items.length; at += batch) {
    await Promise.all(items.slice(at, at + batch).map((item) => deleteItem(context, resource, namespace, item)));
  }
}

async function deleteItem(context: ServerContext, resource: Resource, namespace: string, item: Item): Promise<void> {
  const { name = '', deletionTimestamp } = item.object.metadata;
  // What cannot be read stays, and the namespace with it; the others go.
  if (deletionTimestamp !== undefined || item.problem !== undefined) return;
  try {
    await deleteObject(context, resource, { namespace, name }, { propagationPolicy: 'Background' });
  } catch (error) {
    if (!isNotFound(error)) throw error;
  }
}

function remainingContent(context: ServerContext, namespace: string): readonly Remaining[] {
  return contentCaches(context)
    .map((cache) => {
      const items = cache.range(cache.scope(namespace));
      const finalizers = items.flatMap(({ object }) => object.metadata.finalizers ?? []);
      return { resource: resourceName(cache), count: items.length, finalizers };
    })
    .filter(({ count }) => count > 0);
}

/** With the dot that Kubernetes leaves behind the core resources. */
const resourceName = ({ kind }: ResourceCache): string => `${kind.plural}.${kind.group}`;

async function setConditions(context: ServerContext, name: string, remaining: readonly Remaining[]): Promise<void> {
  await revise(context, name, 'status', (namespace) => ({
    ...namespace,
    status: {
      ...namespace.status,
      conditions: terminationConditions(namespace.status.conditions ?? [], remaining, timestamp(context.clock())),
    },
  }));
}

const finalize = (context: ServerContext, name: string): Promise<void> =>
  revise(context, name, 'finalize', (namespace) => ({
    ...namespace,
    spec: {
      ...namespace.spec,
      finalizers: (namespace.spec.finalizers ?? []).filter((finalizer) => finalizer !== namespaceFinalizer),
    },
  }));

async function revise(
  context: ServerContext,
  name: string,
  subresource: Subresource,
  change: (namespace: Namespace) => Namespace,
): Promise<void> {
  const resource: Resource = { kind: namespaceKind, cache: context.hub.cache(namespaceKind) };
  const request = ownRequest({ namespace: '', name, subresource });
  // The cache of namespaces holds namespaces.
  await updateObject(context, resource, request, { revise: (old: ApiObject) => change(old as Namespace) });
}
