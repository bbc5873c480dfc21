// Objects that cannot be read and only be deleted: their record in the store is damaged, so that lists do not have them,
// or cannot be decrypted.

import { releaseUnreadable } from './allocation.ts';
import { conflict, internalError } from '../../api/errors.ts';
import type { DeleteOptions } from '../../api/delete-options.ts';
import type { DamagedRecord } from '../../store/store.ts';
import type { ServerContext } from '../context.ts';
import type { User } from '../../api/user.ts';
import type { ResourceRequest } from '../request.ts';
import type { Resource } from '../resource.ts';
import { kindSubject } from '../resource.ts';

interface Named {
  readonly namespace: string;
  readonly name: string;
}

/** The damaged record of an object, if its record is damaged. */
export const damagedRecord = (
  { store }: ServerContext,
  { cache }: Resource,
  { namespace, name }: Named,
): DamagedRecord | undefined => store.status().damaged.get(cache.key(namespace, name));

/** Throws a 500 if the record of an object that is not in the cache is damaged. */
export function rejectDamaged(context: ServerContext, resource: Resource, named: Named): void {
  const record = damagedRecord(context, resource, named);
  if (record === undefined) return;
  const { kind } = resource;
  const what = `${kind.plural}${kind.group === '' ? '' : `.${kind.group}`} ${JSON.stringify(named.name)}`;
  throw internalError(
    `the stored record of ${what} is damaged (${record.key}, revision ${record.revision}): ` +
      'delete the object and create it again, or restore the store from a backup',
  );
}

/** The key and revision of an unreadable object. */
type Unreadable = Pick<DamagedRecord, 'key' | 'revision'>;

/**
 * The object if it can only be deleted: its record is damaged, or it cannot be decrypted and the options accept the loss.
 * The latter requires a separate permission, as in Kubernetes, since the key may be found later.
 */
export function findUnreadable(
  context: ServerContext,
  resource: Resource,
  { info, user, options }: { readonly info: ResourceRequest; readonly user: User; readonly options: DeleteOptions },
): Unreadable | undefined {
  const damaged = damagedRecord(context, resource, info);
  if (damaged !== undefined) return damaged;
  const item = resource.cache.get(resource.cache.key(info.namespace, info.name));
  const isAccepted = options.ignoreStoreReadErrorWithClusterBreakingPotential === true;
  if (item?.problem === undefined || !isAccepted) return undefined;
  context.access.requireAttributes(user, { ...info, verb: 'unsafe-delete-ignore-read-errors' });
  return item;
}

/**
 * Deletes an unreadable object and its claims, without finalizers, preconditions on the UID and webhooks, which need the
 * object.
 */
export async function deleteUnreadable(
  context: ServerContext,
  resource: Resource,
  {
    named,
    find,
    options,
  }: {
    readonly named: Named;
    /** Returns the current record; undefined if the object is deleted or readable. */
    readonly find: () => Unreadable | undefined;
    readonly options: DeleteOptions;
  },
): Promise<void> {
  const { preconditions, dryRun = [] } = options;
  for (;;) {
    const record = find();
    if (record === undefined) return;
    const { key, revision } = record;
    const { uid, resourceVersion = String(revision) } = preconditions ?? {};
    if (uid !== undefined || resourceVersion !== String(revision)) {
      const why = `the preconditions cannot be checked: the stored record cannot be read, at ResourceVersion ${revision}`;
      throw conflict(kindSubject(resource, named.name), why);
    }
    if (dryRun.includes('All')) return;
    const writes = [{ key, value: undefined, expect: revision }, ...releaseUnreadable(context, resource, named)];
    const commit = await context.store.commit(writes);
    if (commit.ok) return;
    if (!(await context.watchCache.waitForRevision(commit.revision))) rejectDamaged(context, resource, named);
  }
}
