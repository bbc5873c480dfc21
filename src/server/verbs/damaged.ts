// Objects whose record in the store is damaged: they are in no list, and can only be deleted.

import { conflict, internalError } from '../../api/errors.ts';
import { endpointsKind } from '../../api/kinds/core/endpoints/kind.ts';
import { serviceKind } from '../../api/kinds/core/service/kind.ts';
import type { DeleteOptions } from '../../api/options.ts';
import type { DamagedRecord, Write } from '../../store/store.ts';
import type { ServerContext } from '../context.ts';
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

/**
 * Deletes an object whose record is damaged, and what it may have claimed. Finalizers, preconditions on the UID and
 * webhooks need the object, and nobody has it any more.
 */
export async function deleteDamaged(
  context: ServerContext,
  resource: Resource,
  named: Named,
  { preconditions, dryRun = [] }: DeleteOptions,
): Promise<void> {
  for (;;) {
    const record = damagedRecord(context, resource, named);
    if (record === undefined) return;
    const { key, revision } = record;
    const { uid, resourceVersion = String(revision) } = preconditions ?? {};
    if (uid !== undefined || resourceVersion !== String(revision)) {
      const why = `the preconditions cannot be checked: the stored record is damaged, at ResourceVersion ${revision}`;
      throw conflict(kindSubject(resource, named.name), why);
    }
    if (dryRun.includes('All')) return;
    const writes = [{ key, value: undefined, expect: revision }, ...belongings(context, resource, named)];
    const commit = await context.store.commit(writes);
    if (commit.ok) return;
    if (!(await context.hub.reached(commit.revision))) refuseDamaged(context, resource, named);
  }
}

/** What is deleted together with a Service: its claims, and the Endpoints of its name. */
function belongings(context: ServerContext, { kind }: Resource, { namespace, name }: Named): readonly Write[] {
  if (kind !== serviceKind) return [];
  const endpoints = context.hub.cache(endpointsKind);
  const item = endpoints.get(endpoints.key(namespace, name));
  return [
    ...context.allocator.planRelease({ metadata: { namespace, name } }),
    ...(item === undefined ? [] : [{ key: item.key, value: undefined, expect: item.revision }]),
  ];
}
