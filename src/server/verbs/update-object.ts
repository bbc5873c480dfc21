import { conflict, failure, invalid, notFound, staleObject, tryAgain } from '../../api/errors.ts';
import { invalidValue } from '../../api/field-errors.ts';
import type { Kind } from '../../api/kind.ts';
import { apiVersionOf } from '../../api/kind.ts';
import type { ApiObject, ObjectMeta } from '../../api/metadata.ts';
import { validateMetadataUpdate } from '../../api/validate-metadata.ts';
import { timestamp } from '../../api/timestamp.ts';
import { checkEscalation, requireCreate } from '../access/rbac/escalation.ts';
import { admission } from '../admission/webhooks/admission.ts';
import { denyExternalIps } from '../admission/external-ips.ts';
import { requireNamespace } from '../admission/namespace.ts';
import type { Write } from '../../store/store.ts';
import type { Item } from '../cache/item.ts';
import type { ServerContext } from '../context.ts';
import { equalJson } from '../patch/json-value.ts';
import { settledManagedFields, trackUpdate, withManagedFields } from '../patch/managed.ts';
import type { Work } from '../limits/time-slicer.ts';
import { unsliced } from '../limits/time-slicer.ts';
import type { Resource } from '../resource.ts';
import { kindSubject, subjectOf } from '../resource.ts';
import type { Allocation } from './allocation.ts';
import { allocateForUpdate, atMostAllowed, releaseOnDelete } from './allocation.ts';
import { commitObject } from './commit-object.ts';
import { refuseDamaged } from './damaged.ts';
import { isHeld } from './finalizers.ts';
import { resetFieldsOf } from './reset-fields.ts';
import { dryRunItem, servedObject, storedValue, writtenItem } from './stored.ts';
import type { WriteRequest, Written } from './write-request.ts';
import { withMetadata } from './write-request.ts';

/** How often a write is tried again when another one came first, and one that takes long. */
const attempts = 64;
const longAttempts = 8;

/** A change of an object. */
export interface Revision {
  /** What the object should become, decoded and defaulted; called again when another write came first. */
  revise(old: ApiObject, work: Work): ApiObject | Promise<ApiObject>;
  /** Creates the object when it is not there; absent: that is a 404. */
  create?(): Promise<Written>;
}

/**
 * Changes an object: read, revise, allocate, prepare, validate, commit; again from the start if another write came
 * first, unless the client named the revision it had read. A change that changes nothing writes nothing.
 */
export async function updateObject(
  context: ServerContext,
  resource: Resource,
  request: WriteRequest,
  revision: Revision,
): Promise<Written> {
  const key = resource.cache.key(request.namespace, request.name);
  // A small change of a large object is as much work as a large change.
  const work =
    request.work === unsliced
      ? context.timeSlicer.open(resource.cache.get(key)?.entry.value.length ?? 0)
      : request.work;
  const target = { key, work, attempts: work === unsliced ? attempts : longAttempts };
  const update = (): Promise<Written> => updateFirst(context, resource, request, { revision, target });
  return work === unsliced ? update() : context.timeSlicer.serialize(key, update);
}

/** Tries until no other write comes first. */
async function updateFirst(
  context: ServerContext,
  resource: Resource,
  request: WriteRequest,
  change: {
    readonly revision: Revision;
    readonly target: { readonly key: string; readonly work: Work; readonly attempts: number };
  },
): Promise<Written> {
  const { revision, target } = change;
  const { key, work } = target;
  for (let attempt = 0; attempt < target.attempts; attempt++) {
    const item = resource.cache.get(key);
    if (item === undefined) {
      refuseDamaged(context, resource, request);
      if (revision.create === undefined) throw notFound(subjectOf(resource, request.name));
      requireNamespace(context, resource, request.namespace);
      requireCreate(context, resource, request);
      return await revision.create();
    }
    const written = await tryUpdate(context, resource, { ...request, work }, { item, revision });
    if (written !== 'again') return written;
  }
  throw tryAgain('update', subjectOf(resource, request.name));
}

async function tryUpdate(
  context: ServerContext,
  resource: Resource,
  request: WriteRequest,
  { item, revision }: { readonly item: Item; readonly revision: Revision },
): Promise<Written | 'again'> {
  const { work } = request;
  const old = await work.run(() => servedObject(resource, item));
  const revised = await revision.revise(old, work);
  await work.run(() => checkEscalation(context, resource, request, { next: revised, old }));
  checkRevision(resource, revised, old);
  const carried = carriedOver(resource.kind, revised, old);
  const tracked = await work.run(() => track(context, resource, request, { revised: carried, old }));
  const allocation = await work.run(() => allocateForUpdate(context, resource, { next: tracked, old }, request.dryRun));
  try {
    const warnings: string[] = [];
    const next = await work.run(() =>
      validated(context, resource, request, { next: allocation.object, old, warnings }),
    );
    const settled = await work.run(() => withManagedFields(next, settledManagedFields(old, next)));
    if (request.subresource === '') denyExternalIps(context, resource, { next: settled, old });
    await admission(context, resource, request, { operation: 'UPDATE', object: settled, old });
    const change = { item, old, next: settled, allocation };
    const written =
      request.subresource === ''
        ? await context.quotas.commit(
            { resource, namespace: request.namespace, next: settled, old, dryRun: request.dryRun },
            (charges) => commitUpdate(context, resource, request, { ...change, charges }),
          )
        : await commitUpdate(context, resource, request, { ...change, charges: [] });
    if (written !== 'again') for (const warning of warnings) request.warnings.push(warning); // else in vain
    return written;
  } finally {
    allocation.settle();
  }
}

/** Writes the object, or removes it if the last that held it has let go. */
async function commitUpdate(
  context: ServerContext,
  resource: Resource,
  request: WriteRequest,
  change: {
    readonly item: Item;
    readonly old: ApiObject;
    readonly next: ApiObject;
    readonly allocation: Allocation;
    readonly charges: readonly Write[];
  },
): Promise<Written | 'again'> {
  const { item, old, next, allocation, charges } = change;
  // What is stored with a key that no longer writes is written again, so that the key can be removed.
  const isStale = !request.dryRun && context.isStale(item.entry);
  if (!isStale && (await request.work.run(() => equalJson(next, old)))) return { item, created: false };
  const value = await request.work.run(() => storedValue(resource, next));
  if (request.dryRun) return { item: dryRunItem(resource, item.key, value, item.revision), created: false };
  const isGone = next.metadata.deletionTimestamp !== undefined && isFinished(resource.kind, next);
  const { commit, value: written } = await commitObject(context, resource, { object: next, value, old }, (content) =>
    atMostAllowed(resource, next, [
      { key: item.key, value: isGone ? undefined : content, expect: item.revision },
      ...(isGone ? releaseOnDelete(context, resource, old) : [...allocation.writes, ...charges]),
    ]),
  );
  if (commit.ok) {
    const entry = { ...item.entry, value: written, revision: commit.revision };
    return { item: writtenItem(resource, entry), created: false };
  }
  if (!(await context.watchCache.waitForRevision(commit.revision)))
    throw tryAgain('update', subjectOf(resource, request.name));
  const lost = commit.key === item.key ? 'retry' : allocation.conflictFor(commit.key);
  if (lost !== 'retry') throw lost;
  return 'again';
}

/** Nothing keeps a terminating object any more. Graceful Pods wait for their own deletion. */
const isFinished = (kind: Kind, object: ApiObject): boolean =>
  !isHeld(kind, object) && (object.metadata.deletionGracePeriodSeconds ?? 0) === 0;

/** The revision that the client sent, if any, must be that of the stored object; 0 means any. */
function checkRevision(resource: Resource, next: ApiObject, old: ApiObject): void {
  const { resourceVersion = '' } = next.metadata;
  if (!/^\d*$/.test(resourceVersion)) {
    const why = `strconv.ParseUint: parsing ${JSON.stringify(resourceVersion)}: invalid syntax`;
    throw failure({ code: 500, message: why }); // Kubernetes blames itself
  }
  if (Number(resourceVersion) > 0) {
    if (resourceVersion === old.metadata.resourceVersion) return;
    throw conflict(subjectOf(resource, old.metadata.name ?? ''), staleObject);
  }
  if (!resource.kind.unconditionalUpdate) {
    throw invalid(subjectOf(resource, old.metadata.name ?? ''), [
      invalidValue('metadata.resourceVersion', 0, 'must be specified for an update'),
    ]);
  }
}

/** What the server keeps of an object's identity, whatever the client sent. */
function carriedOver(kind: Kind, next: ApiObject, old: ApiObject): ApiObject {
  const { generation, creationTimestamp, uid, deletionTimestamp, deletionGracePeriodSeconds, resourceVersion } =
    old.metadata;
  const kept: Partial<ObjectMeta> = {
    ...(old.metadata.namespace === undefined ? {} : { namespace: next.metadata.namespace ?? old.metadata.namespace }),
    name: next.metadata.name ?? old.metadata.name ?? '',
    ...(uid === undefined ? {} : { uid: next.metadata.uid ?? uid }),
    ...(generation === undefined ? {} : { generation }),
    ...(creationTimestamp === undefined ? {} : { creationTimestamp }),
    ...(resourceVersion === undefined ? {} : { resourceVersion }),
  };
  const { selfLink: _selfLink, generation: _, ...sent } = next.metadata;
  // What a client may leave out, but not change.
  const marks = {
    ...(deletionTimestamp === undefined ? {} : { deletionTimestamp }),
    ...(deletionGracePeriodSeconds === undefined ? {} : { deletionGracePeriodSeconds }),
  };
  return { ...next, kind: kind.kind, apiVersion: apiVersionOf(kind), metadata: { ...marks, ...sent, ...kept } };
}

function track(
  context: ServerContext,
  { kind }: Resource,
  request: WriteRequest,
  { revised, old }: { readonly revised: ApiObject; readonly old: ApiObject },
): ApiObject {
  if (request.manager === undefined) return revised;
  const managedFields = trackUpdate({
    schema: kind.schema,
    live: old,
    next: revised,
    manager: request.manager,
    apiVersion: apiVersionOf(kind),
    subresource: request.subresource,
    now: timestamp(context.clock()),
    resetFields: resetFieldsOf(kind, request.subresource),
  });
  return withManagedFields(revised, managedFields);
}

function validated(
  context: ServerContext,
  resource: Resource,
  request: WriteRequest,
  { next, old, warnings }: { readonly next: ApiObject; readonly old: ApiObject; readonly warnings: string[] },
): ApiObject {
  const { kind } = resource;
  const isStatus = request.subresource === 'status';
  const endpoint = throughEndpoint(kind, request, next, old);
  const prepared = request.subresource === '' ? kind.prepareForUpdate(endpoint, old, context.write) : endpoint;
  const counted = withGeneration(kind, prepared, old);
  const errors = [
    ...validateMetadataUpdate(counted.metadata, old.metadata),
    ...(isStatus ? kind.validateStatus(counted, old, context.write) : kind.validateUpdate(counted, old, context.write)),
  ];
  if (errors.length > 0) throw invalid(kindSubject(resource, counted.metadata.name ?? ''), errors);
  if (request.subresource === '')
    for (const warning of kind.warnings(counted, old, context.write)) warnings.push(warning);
  if (isStatus) for (const warning of kind.statusWarnings(counted)) warnings.push(warning);
  return counted;
}

/** The main endpoint leaves the status alone, `/status` everything else, `/finalize` all but the finalizers. */
function throughEndpoint(kind: Kind, { subresource }: WriteRequest, next: ApiObject, old: ApiObject): ApiObject {
  if (subresource === '') return kind.hasStatus ? withPart(next, old, 'status') : next;
  if (subresource === 'finalize') return { ...withPart(old, next, 'spec'), metadata: next.metadata };
  const { managedFields } = next.metadata;
  const metadata = kind.custom
    ? withMetadata(old, managedFields === undefined ? {} : { managedFields }).metadata
    : next.metadata;
  return { ...withPart(old, next, 'status'), metadata };
}

/** `object` with one top-level field of `source`. */
function withPart(object: ApiObject, source: ApiObject, part: 'status' | 'spec'): ApiObject {
  const value: unknown = Reflect.get(source, part);
  if (value !== undefined) return { ...object, [part]: value };
  const { [part]: _, ...rest } = object as ApiObject & Record<string, unknown>;
  return rest;
}

/** Raises the generation when what it counts has changed. */
function withGeneration(kind: Kind, next: ApiObject, old: ApiObject): ApiObject {
  if (kind.generation === 'none' || !countsAsChange(kind, next, old)) return next;
  return withMetadata(next, { generation: (old.metadata.generation ?? 0) + 1 });
}

function countsAsChange({ generation, hasStatus }: Kind, next: ApiObject, old: ApiObject): boolean {
  if (generation === 'spec') return !equalJson(Reflect.get(next, 'spec'), Reflect.get(old, 'spec'));
  const labelsChanged =
    generation === 'contentAndLabels' && !equalJson(next.metadata.labels ?? {}, old.metadata.labels ?? {});
  return labelsChanged || !equalJson(contentOf(next, hasStatus), contentOf(old, hasStatus));
}

function contentOf(object: ApiObject, withoutStatus: boolean): unknown {
  const { metadata: _, status, ...content } = object as ApiObject & { readonly status?: unknown };
  return withoutStatus ? content : { ...content, status };
}
