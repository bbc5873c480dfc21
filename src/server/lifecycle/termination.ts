import { ignoreNotFound } from '../../api/errors.ts';
import { namespaceFinalizer, namespaceKind } from '../../api/kinds/core/namespace/kind.ts';
import type { Namespace } from '../../api/kinds/core/namespace/schema.ts';
import type { Kind } from '../../api/kind.ts';
import type { ApiObject } from '../../api/metadata.ts';
import { timestamp } from '../../api/timestamp.ts';
import type { Item } from '../cache/item.ts';
import { forRegistryKey, registryRoot } from '../cache/layout.ts';
import type { ResourceCache } from '../cache/resource-cache.ts';
import type { ServerContext } from '../context.ts';
import type { Resource } from '../resource.ts';
import { deleteObject } from '../verbs/delete-object.ts';
import { updateObject } from '../verbs/update-object.ts';
import { serverRequest } from '../verbs/write-request.ts';
import type { Content, Remaining } from './conditions.ts';
import { terminationConditions } from './conditions.ts';

/** The number of concurrent deletions. */
const batchSize = 64;

/**
 * Deletes the content of a terminating namespace: kinds with `isFirstInNamespace`, and everything else when none of these
 * objects remains. Then removes the finalizer of the namespace. Returns false while content remains.
 */
export async function terminate(context: ServerContext, name: string): Promise<boolean> {
  const caches = [...context.watchCache.caches].filter(({ kind }) => kind.namespaced);
  const first = caches.filter(({ kind }) => kind.deletion.isFirstInNamespace === true);
  for (const cache of first) await deleteContent(context, cache, name);
  const firstLeft = remainingContent(context, first, name);
  if (firstLeft.length > 0) {
    // As in Kubernetes, the conditions count no content while these objects remain.
    await setConditions(context, name, { remaining: [], failures: failuresOf(firstLeft, name) });
    return false;
  }
  for (const cache of caches) await deleteContent(context, cache, name);
  const remaining = remainingContent(context, caches, name);
  const unserved = context.store.isAdopted ? await unservedContent(context, name) : [];
  await setConditions(context, name, {
    remaining: [...remaining, ...unserved],
    failures: failuresOf(remaining, name),
  });
  if (unserved.length > 0) return false;
  // The write of the first conditions is ordered after every creation that had not seen the deletion of the namespace.
  if (remainingContent(context, caches, name).length > 0) return false;
  await finalize(context, name);
  return true;
}

async function deleteContent(context: ServerContext, cache: ResourceCache, namespace: string): Promise<void> {
  const resource: Resource = { kind: cache.kind, cache };
  const items = cache.range(cache.scope(namespace));
  for (let at = 0; at < items.length; at += batchSize) {
    await Promise.all(items.slice(at, at + batchSize).map((item) => deleteItem(context, resource, namespace, item)));
  }
}

async function deleteItem(context: ServerContext, resource: Resource, namespace: string, item: Item): Promise<void> {
  const { name = '', deletionTimestamp } = item.object.metadata;
  // An object that cannot be decoded stays, and so does the namespace.
  if (deletionTimestamp !== undefined || item.problem !== undefined) return;
  await ignoreNotFound(deleteObject(context, resource, { namespace, name }, { propagationPolicy: 'Background' }));
}

interface RemainingContent extends Remaining {
  readonly kind: Kind;
  /** Whether neither a finalizer nor a grace period explains that the objects remain. */
  readonly isUnexpected: boolean;
}

function remainingContent(
  context: ServerContext,
  caches: readonly ResourceCache[],
  namespace: string,
): readonly RemainingContent[] {
  const elapsedSeconds = (): number => (context.clock() - deletionTime(context, namespace)) / 1000;
  return caches
    .map((cache) => {
      const { kind } = cache;
      const items = cache.range(cache.scope(namespace));
      const finalizers = items.flatMap(({ object }) => object.metadata.finalizers ?? []);
      const graceSeconds = items.reduce((longest, item) => Math.max(longest, graceSecondsOf(kind, item)), 0);
      return {
        kind,
        // Kubernetes prints the dot after core resources, too.
        resource: `${kind.plural}.${kind.group}`,
        count: items.length,
        finalizers,
        isUnexpected: finalizers.length === 0 && graceSeconds <= elapsedSeconds(),
      };
    })
    .filter(({ count }) => count > 0);
}

/** Objects of kinds that only a kube-apiserver serves, which shares the store and must delete them. */
async function unservedContent({ store, watchCache }: ServerContext, namespace: string): Promise<readonly Remaining[]> {
  const served = new Map(Array.from(watchCache.caches, (cache) => [cache.prefix, cache] as const));
  const counts = new Map<string, number>();
  const { entries } = await store.range(registryRoot);
  for (const { key } of entries) {
    if (!key.includes(`/${namespace}/`) || forRegistryKey(served, key) !== undefined) continue;
    const [first = '', second = '', third = ''] = key.slice(registryRoot.length).split('/');
    // Custom resources have their group first.
    const resource = second === namespace ? `${first}.` : third === namespace ? `${second}.${first}` : undefined;
    if (resource !== undefined) counts.set(resource, (counts.get(resource) ?? 0) + 1);
  }
  return Array.from(counts, ([resource, count]) => ({ resource, count, finalizers: [] }));
}

function deletionTime({ watchCache }: ServerContext, namespace: string): number {
  const cache = watchCache.of(namespaceKind);
  return Date.parse(cache.get(cache.key('', namespace))?.object.metadata.deletionTimestamp ?? '');
}

const graceSecondsOf = ({ deletion }: Kind, { object, problem }: Item): number =>
  problem === undefined ? (deletion.gracePeriodSeconds?.(object, undefined) ?? 0) : 0;

const failuresOf = (remaining: readonly RemainingContent[], namespace: string): readonly string[] =>
  remaining
    .filter(({ isUnexpected }) => isUnexpected)
    .map(({ kind: { group, version, plural } }) => {
      const gvr = `${group}/${version}, Resource=${plural}`;
      return `unexpected items still remain in namespace: ${namespace} for gvr: ${gvr}`;
    });

async function setConditions(context: ServerContext, name: string, content: Content): Promise<void> {
  await updateNamespace(context, name, 'status', (namespace) => ({
    ...namespace,
    status: {
      ...namespace.status,
      conditions: terminationConditions(namespace.status.conditions ?? [], content, timestamp(context.clock())),
    },
  }));
}

const finalize = (context: ServerContext, name: string): Promise<void> =>
  updateNamespace(context, name, 'finalize', (namespace) => ({
    ...namespace,
    spec: {
      ...namespace.spec,
      finalizers: (namespace.spec.finalizers ?? []).filter((finalizer) => finalizer !== namespaceFinalizer),
    },
  }));

async function updateNamespace(
  context: ServerContext,
  name: string,
  subresource: string,
  change: (namespace: Namespace) => Namespace,
): Promise<void> {
  const resource: Resource = { kind: namespaceKind, cache: context.watchCache.of(namespaceKind) };
  const request = serverRequest({ namespace: '', name, subresource });
  // The cache of namespaces holds namespaces.
  await updateObject(context, resource, request, { revise: (old: ApiObject) => change(old as Namespace) });
}
