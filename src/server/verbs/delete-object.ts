import { conflict, forbidden, notFound, tryAgain } from '../../api/errors.ts';
import type { Kind } from '../../api/kind.ts';
import type { ApiObject } from '../../api/metadata.ts';
import type { DeleteOptions } from '../../api/options.ts';
import { timestamp } from '../../api/timestamp.ts';
import { admission } from '../admission/webhooks/admission.ts';
import type { Writer } from '../admission/webhooks/admission.ts';
import type { Item } from '../cache/item.ts';
import type { ServerContext } from '../context.ts';
import { equalJson } from '../patch/json-value.ts';
import type { User } from '../reply.ts';
import type { Resource } from '../resource.ts';
import { kindSubject, subjectOf } from '../resource.ts';
import { releaseOnDelete } from './allocation.ts';
import { isHeld } from './finalizers.ts';
import { dryRunItem, servedObject, storedValue, writtenItem } from './stored.ts';

/** What became of a deletion: the object has gone, or is on its way. */
export interface Deleted {
  readonly item: Item;
  readonly gone: boolean;
}

export interface Target {
  readonly namespace: string;
  readonly name: string;
  /** Who deletes it; left out: the server itself. */
  readonly user?: User;
  /** Collects what they should be told. */
  readonly warnings?: string[];
}

/** How often a deletion is tried again after a write came first. */
const attempts = 64;

/**
 * Deletes an object: at once when nothing holds it, otherwise by marking it, so that whoever put a finalizer on it can
 * do its work and take it off.
 */
export async function deleteObject(
  context: ServerContext,
  resource: Resource,
  target: Target,
  options: DeleteOptions,
): Promise<Deleted> {
  const { deletion, singular } = resource.kind;
  if (deletion.protectedNames?.includes(target.name) === true) {
    throw forbidden(subjectOf(resource, target.name), `this ${singular} may not be deleted`);
  }
  const key = resource.cache.key(target.namespace, target.name);
  for (let attempt = 0; attempt < attempts; attempt++) {
    const item = resource.cache.get(key);
    if (item === undefined) throw notFound(subjectOf(resource, target.name));
    const work = context.timeSlicer.open(item.entry.value.length);
    const old = await work.run(() => servedObject(resource, item));
    checkPreconditions(resource, old, options);
    const asked = admission(context, resource, writerOf(target, options), {
      operation: 'DELETE',
      object: undefined,
      old,
    });
    if (asked !== undefined) await asked;
    const ending = endingOf(context, resource.kind, old, options);
    const deleted = await commitDeletion(context, resource, { item, old, ending, dryRun: isDryRun(options) });
    if (deleted !== 'again') return deleted;
  }
  throw tryAgain('delete', subjectOf(resource, target.name));
}

const writerOf = ({ user, warnings = [] }: Target, options: DeleteOptions): Writer => ({
  user,
  subresource: '',
  dryRun: isDryRun(options),
  warnings,
  sent: () => ({ ...options }),
});

const isDryRun = ({ dryRun = [] }: DeleteOptions): boolean => dryRun.includes('All');

function checkPreconditions(resource: Resource, old: ApiObject, { preconditions }: DeleteOptions): void {
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

/** What a deletion makes of an object: how it waits for its end, or, if nothing keeps it, how it is last seen. */
interface Ending {
  readonly object: ApiObject;
  readonly gone: boolean;
}

function endingOf(context: ServerContext, kind: Kind, old: ApiObject, options: DeleteOptions): Ending {
  const finalizers = finalizersAfter(old.metadata.finalizers ?? [], options);
  const { finalizers: _, ...kept } = old.metadata;
  const metadata = finalizers.length > 0 ? { ...kept, finalizers } : kept;
  const object = { ...old, metadata };
  const grace = kind.deletion.gracePeriodSeconds?.(object, options.gracePeriodSeconds);
  const gone = (grace ?? 0) === 0 && !isHeld(kind, object);
  // Kinds with graceful deletion return the deletion timestamp even when the grace period is zero.
  if (gone && grace === undefined) return { object: old, gone };
  return { object: terminating(context, kind, object, grace ?? 0), gone };
}

/** The garbage collector's finalizers follow the policy; without one they stay. */
function finalizersAfter(finalizers: readonly string[], options: DeleteOptions): readonly string[] {
  const { propagationPolicy, orphanDependents } = options;
  const policy =
    propagationPolicy ?? (orphanDependents === undefined ? undefined : orphanDependents ? 'Orphan' : 'Background');
  if (policy === undefined || policy === '') return finalizers;
  const others = finalizers.filter((finalizer) => finalizer !== 'orphan' && finalizer !== 'foregroundDeletion');
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
    readonly ending: Ending;
    readonly dryRun: boolean;
  },
): Promise<Deleted | 'again'> {
  const { item, old, ending, dryRun } = deletion;
  const { key, revision: expect } = item;
  const { object, gone } = ending;
  if (!gone && equalJson(object, old)) return { item, gone };
  const answer = object === old ? item.entry.value : storedValue(resource, object);
  if (dryRun) return { item: dryRunItem(resource, key, answer, expect), gone };
  const commit = await context.store.commit([
    { key, value: gone ? undefined : answer, expect, isDeletion: true },
    ...(gone ? releaseOnDelete(context, resource, old) : []),
  ]);
  if (!commit.ok) {
    if (await context.watchCache.waitForRevision(commit.revision)) return 'again';
    throw tryAgain('delete', subjectOf(resource, old.metadata.name));
  }
  const { revision } = commit;
  return { item: writtenItem(resource, { ...item.entry, value: answer, revision }), gone };
}
