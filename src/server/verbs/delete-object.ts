import { conflict, forbidden, notFound, serverTimeout } from '../../api/errors.ts';
import type { Kind } from '../../api/kind.ts';
import type { ApiObject } from '../../api/metadata.ts';
import type { DeleteOptions } from '../../api/delete-options.ts';
import { timestamp } from '../../api/timestamp.ts';
import { restrictNode } from '../admission/node-restriction.ts';
import { validateWrite } from '../admission/review.ts';
import type { WriteSource } from '../admission/review.ts';
import type { Item } from '../cache/item.ts';
import type { ServerContext } from '../context.ts';
import { equalJson } from '../../api/schema/equal-json.ts';
import type { User } from '../../api/user.ts';
import type { Resource } from '../resource.ts';
import { kindSubject, subjectOf } from '../resource.ts';
import { releaseOnDelete } from './allocation.ts';
import { dryRunItem, servedObject, storedValue, writtenItem } from './commit.ts';

/** The outcome of a deletion: the object is removed, or marked for deletion. */
export interface Deleted {
  readonly item: Item;
  readonly isRemoved: boolean;
}

export interface Target {
  readonly namespace: string;
  readonly name: string;
  /** The user who deletes it; absent for the server itself. */
  readonly user?: User;
  /** Collects warnings for the client. */
  readonly warnings?: string[];
}

/** How often a deletion is tried when other writes conflict. */
const attempts = 64;

/**
 * Deletes an object: removes it if it has no finalizers and no grace period, otherwise marks it for deletion, so that the
 * owners of the finalizers can clean up and remove them.
 */
export async function deleteObject(
  context: ServerContext,
  resource: Resource,
  target: Target,
  options: DeleteOptions,
): Promise<Deleted> {
  const { deletion, singular } = resource.kind;
  if (deletion.protectedNames?.includes(target.name) === true) {
    throw forbidden(subjectOf(resource, target.name), deletion.protection ?? `this ${singular} may not be deleted`);
  }
  const key = resource.cache.key(target.namespace, target.name);
  for (let attempt = 0; attempt < attempts; attempt++) {
    const item = resource.cache.get(key);
    if (item === undefined) throw notFound(subjectOf(resource, target.name));
    const work = context.timeSlicer.open(item.entry.value.length);
    const old = await servedObject(context, resource, item, work);
    checkPreconditions(resource, old, options);
    restrictNode(context, resource.kind, { user: target.user, subresource: '', next: undefined, old });
    const admitted = validateWrite(context, resource, writerOf(target, options), {
      operation: 'DELETE',
      object: undefined,
      old,
    });
    if (admitted !== undefined) await admitted;
    const outcome = outcomeOf(context, resource.kind, old, options);
    const deleted = await commitDeletion(context, resource, { item, old, outcome, dryRun: isDryRun(options) });
    if (deleted !== 'retry') return deleted;
  }
  throw serverTimeout('delete', subjectOf(resource, target.name));
}

const writerOf = ({ user, warnings = [] }: Target, options: DeleteOptions): WriteSource => ({
  user,
  subresource: '',
  dryRun: isDryRun(options),
  warnings,
  sent: () => ({ ...options }),
});

const isDryRun = ({ dryRun = [] }: DeleteOptions): boolean => dryRun.includes('All');

/** Throws a 409 unless the object has the UID and the revision that the options require. */
export function checkPreconditions(resource: Resource, old: ApiObject, { preconditions }: DeleteOptions): void {
  const { uid, resourceVersion } = preconditions ?? {};
  const subject = kindSubject(resource, old.metadata.name ?? '');
  if (uid !== undefined && uid !== old.metadata.uid) {
    throw conflict(
      subject,
      `the UID in the precondition (${uid}) does not match the UID in record (${old.metadata.uid ?? ''}). The object might have been deleted and then recreated`,
    );
  }
  if (resourceVersion !== undefined && resourceVersion !== old.metadata.resourceVersion) {
    throw conflict(
      subject,
      `the ResourceVersion in the precondition (${resourceVersion}) does not match the ResourceVersion in record (${old.metadata.resourceVersion ?? ''}). The object might have been modified`,
    );
  }
}

/** The object after a deletion: marked for deletion, or as it is returned when it is removed. */
interface Outcome {
  readonly object: ApiObject;
  readonly isRemoved: boolean;
}

function outcomeOf(context: ServerContext, kind: Kind, old: ApiObject, options: DeleteOptions): Outcome {
  const finalizers = finalizersAfter(kind, old.metadata.finalizers ?? [], options);
  const { finalizers: _, ...kept } = old.metadata;
  const metadata = finalizers.length > 0 ? { ...kept, finalizers } : kept;
  const object = { ...old, metadata };
  const grace = kind.deletion.gracePeriodSeconds?.(object, options.gracePeriodSeconds);
  const isRemoved = (grace ?? 0) === 0 && !hasFinalizers(kind, object);
  // Kinds with graceful deletion return the deletion timestamp even when the grace period is zero.
  if (isRemoved && grace === undefined) return { object: old, isRemoved };
  return { object: terminating(context, kind, object, grace ?? 0), isRemoved };
}

/** Sets the finalizers of the garbage collector by the propagation policy; without one they are kept. */
function finalizersAfter(kind: Kind, finalizers: readonly string[], options: DeleteOptions): readonly string[] {
  const { propagationPolicy, orphanDependents } = options;
  const others = finalizers.filter((finalizer) => finalizer !== 'orphan' && finalizer !== 'foregroundDeletion');
  const isUndecided = others.length === finalizers.length;
  const policy =
    propagationPolicy ??
    (orphanDependents === undefined
      ? kind.deletion.orphansByDefault === true && isUndecided
        ? 'Orphan'
        : undefined
      : orphanDependents
        ? 'Orphan'
        : 'Background');
  if (policy === undefined || policy === '') return finalizers;
  if (policy === 'Orphan') return [...others, 'orphan'];
  return policy === 'Foreground' ? [...others, 'foregroundDeletion'] : others;
}

function terminating(context: ServerContext, kind: Kind, object: ApiObject, grace: number): ApiObject {
  const { deletionTimestamp, deletionGracePeriodSeconds, generation = 0 } = object.metadata;
  const isShorter = deletionGracePeriodSeconds !== undefined && grace < deletionGracePeriodSeconds;
  const marks =
    deletionTimestamp !== undefined && !isShorter
      ? {}
      : {
          deletionTimestamp: timestamp(context.clock() + grace * 1000),
          deletionGracePeriodSeconds: grace,
          ...(generation > 0 && deletionTimestamp === undefined ? { generation: generation + 1 } : {}),
        };
  const marked = { ...object, metadata: { ...object.metadata, ...marks } };
  return kind.deletion.markTerminating?.(marked) ?? marked;
}

async function commitDeletion(
  context: ServerContext,
  resource: Resource,
  deletion: {
    readonly item: Item;
    readonly old: ApiObject;
    readonly outcome: Outcome;
    readonly dryRun: boolean;
  },
): Promise<Deleted | 'retry'> {
  const { item, old, outcome, dryRun } = deletion;
  const { key, revision: expect } = item;
  const { object, isRemoved } = outcome;
  if (!isRemoved && equalJson(object, old)) return { item, isRemoved };
  const value = object === old ? item.entry.value : await storedValue(context, resource, object);
  if (dryRun) return { item: dryRunItem(resource, key, value, expect), isRemoved };
  const commit = await context.store.commit([
    { key, value: isRemoved ? undefined : value, expect, isDeletion: true },
    ...(isRemoved ? releaseOnDelete(context, resource, old) : []),
  ]);
  if (!commit.ok) {
    if (await context.watchCache.waitForRevision(commit.revision)) return 'retry';
    throw serverTimeout('delete', subjectOf(resource, old.metadata.name));
  }
  const { revision } = commit;
  return { item: writtenItem(resource, { ...item.entry, value, revision }), isRemoved };
}

/** Whether finalizers keep the object from being removed. */
export const hasFinalizers = ({ deletion }: Kind, object: ApiObject): boolean =>
  (object.metadata.finalizers ?? []).length > 0 || (deletion.finalizers?.(object) ?? []).length > 0;
