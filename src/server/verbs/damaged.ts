// Objects that can only be deleted: those whose record in the store is damaged, which are in no list, and those that
// cannot be decrypted.

import { releaseUnread } from './allocation.ts';
import { conflict, internalError } from '../../api/errors.ts';
import type { DeleteOptions } from '../../api/options.ts';
import type { DamagedRecord } from '../../store/store.ts';
import type { ServerContext } from '../context.ts';
import type { User } from '../reply.ts';
import type { ResourceRequest } from '../request.ts';
import type { Resource } from '../resource.ts';
import { kindSubject } from '../resource.ts';

interface Named {
  readonly namespace: string;
  readonly name: string;
}

/** The damaged record of an object, if it has one. */
export const damagedRecord = (
  { store }: ServerContext,
  { cache }: Resource,
  { namespace, name }: Named,
): DamagedRecord | undefined => store.status().damaged.get(cache.key(namespace, name));

/** Throws a 500 when the record of an object that is not in the cache is damaged. */
export function refuseDamaged(context: ServerContext, resource: Resource, named: Named): void {
  const record = damagedRecord(context, resource, named);
  if (record === undefined) return;
  const { kind } = resource;
  const what = `${kind.plural}${kind.group === '' ? '' : `.${kind.group}`} ${JSON.stringify(named.name)}`;
  throw internalError(
    `the stored record of ${what} is damaged (${record.key}, revision ${record.revision}): ` +
      'delete the object and create it again, or restore the store from a backup',
  );
}

/** Where an object is that can only be deleted. */
type Unreadable = Pick<DamagedRecord, 'key' | 'revision'>;

/**
 * The object, if nothing but a deletion is possible: its record is damaged, or it cannot be decrypted and the options
 * accept that it is lost, although its key may be found again. That needs a right of its own, as in Kubernetes.
 */
export function deletableUnread(
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
 * Deletes an object that cannot be read, and what it may have claimed. Finalizers, preconditions on the UID and webhooks
 * need the object, and nobody has it any more.
 */
export async function deleteUnread(
  context: ServerContext,
  resource: Resource,
  {
    named,
    find,
    options,
  }: {
    readonly named: Named;
    /** The object as it is now; undefined: it is gone, or can be read. */
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
    const writes = [{ key, value: undefined, expect: revision }, ...releaseUnread(context, resource, named)];
    const commit = await context.store.commit(writes);
    if (commit.ok) return;
    if (!(await context.watchCache.waitForRevision(commit.revision))) refuseDamaged(context, resource, named);
  }
}
