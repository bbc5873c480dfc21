import type { Kind } from '../../api/kind.ts';
import { apiVersionOf } from '../../api/kind.ts';
import type { ApiObject } from '../../api/metadata.ts';
import type { Expectations } from '../../client/expectations.ts';
import type { Informer } from '../../client/informer.ts';
import type { Lister } from '../../client/object-cache.ts';
import type { Key } from '../../client/key.ts';
import { keyFor, keyOf } from '../../client/key.ts';
import { controllerOf } from './owner.ts';

/** How changes of dependent objects concern their owners. */
export interface OwnerEvents<Owner extends ApiObject, T extends ApiObject> {
  readonly kind: Kind<Owner>;
  /** The owners, by namespace. */
  readonly owners: Lister<Owner, 'namespace'>;
  /** Whether an owner would adopt the object. */
  readonly adopts: (owner: Owner, object: T) => boolean;
  readonly writes: Expectations;
  readonly enqueue: (key: Key) => void;
}

/** Enqueues the owners of objects that change, and the owners that could adopt an orphan. Returns how to unsubscribe. */
export function onDependentChange<Owner extends ApiObject, T extends ApiObject>(
  dependents: Pick<Informer<T>, 'subscribe'>,
  { kind, owners, adopts, writes, enqueue }: OwnerEvents<Owner, T>,
): () => void {
  const ownerKey = (object: T): Key | undefined => {
    const ref = controllerOf(object);
    if (ref === undefined || ref.kind !== kind.kind || ref.apiVersion !== apiVersionOf(kind)) return undefined;
    return keyFor({ namespace: object.metadata.namespace, name: ref.name });
  };
  const changed = (object: T, isGone: boolean): void => {
    const key = ownerKey(object);
    if (key !== undefined) {
      writes.observe(key, object, isGone);
      enqueue(key);
    } else if (!isGone && controllerOf(object) === undefined && object.metadata.deletionTimestamp === undefined) {
      for (const owner of owners.by('namespace', object.metadata.namespace ?? '')) {
        if (adopts(owner, object)) enqueue(keyOf(owner));
      }
    }
  };
  return dependents.subscribe({
    added: (object) => changed(object, false),
    updated(object, old) {
      const [before, after] = [ownerKey(old), ownerKey(object)];
      if (before !== undefined && before !== after) changed(old, true);
      changed(object, false);
    },
    deleted: (object) => changed(object, true),
  });
}

/** An index of objects by namespace. */
export const namespaceIndex = ({ metadata: { namespace = '' } }: ApiObject): readonly string[] => [namespace];
