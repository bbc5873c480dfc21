import { forbidden, notFound } from '../../api/errors.ts';
import type { Write } from '../../store/store.ts';
import type { ServerContext } from '../context.ts';
import type { Resource } from '../resource.ts';
import { subjectOf } from '../resource.ts';
import { namespaceKind } from '../../api/kinds/core/namespace/kind.ts';

/** Waits for a namespace that another server may just have created. */
export async function awaitNamespace(
  { store, watchCache }: ServerContext,
  { kind }: Resource,
  namespace: string,
): Promise<void> {
  if (!store.isShared || !kind.namespaced) return;
  const cache = watchCache.of(namespaceKind);
  if (cache.get(cache.key('', namespace)) === undefined) await watchCache.sync();
}

/**
 * The check that a commit in a namespace needs if other servers share the store: one of them may delete the namespace at
 * the same time.
 */
export function namespaceCheck(
  { store, watchCache }: ServerContext,
  { kind }: Resource,
  namespace: string,
): readonly Write[] {
  if (!store.isShared || !kind.namespaced) return [];
  const cache = watchCache.of(namespaceKind);
  const key = cache.key('', namespace);
  const item = cache.get(key);
  return item === undefined ? [] : [{ key, value: undefined, expect: item.revision, isCheck: true }];
}

/** Throws the 404 or 403 of Kubernetes unless the namespace of a new object exists and is not terminating. */
export function checkNamespace(context: ServerContext, resource: Resource, namespace: string, name: string): void {
  if (!resource.kind.namespaced) return;
  const cache = context.watchCache.of(namespaceKind);
  const item = cache.get(cache.key('', namespace));
  if (item === undefined) throw namespaceNotFound(namespace);
  if (item.object.metadata.deletionTimestamp === undefined) return;
  throw forbidden(
    subjectOf(resource, name),
    `unable to create new content in namespace ${namespace} because it is being terminated`,
    [
      {
        reason: 'NamespaceTerminating',
        message: `namespace ${namespace} is being terminated`,
        field: 'metadata.namespace',
      },
    ],
  );
}

/** Throws a 404 if the namespace of a namespaced resource does not exist. */
export function requireNamespace(context: ServerContext, resource: Resource, namespace: string): void {
  if (!resource.kind.namespaced) return;
  const cache = context.watchCache.of(namespaceKind);
  if (cache.get(cache.key('', namespace)) === undefined) throw namespaceNotFound(namespace);
}

const namespaceNotFound = (name: string): Error => notFound({ group: '', resource: 'namespaces', name });
