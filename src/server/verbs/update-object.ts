import { conflict, failure, invalid, notFound, staleObject, serverTimeout } from '../../api/errors.ts';
import { invalidValue } from '../../api/field-errors.ts';
import type { Kind, PartialWrite, WriteContext } from '../../api/kind.ts';
import { apiVersionOf } from '../../api/kind.ts';
import type { ApiObject, ObjectMeta } from '../../api/metadata.ts';
import { validateMetadataUpdate } from '../../api/validate-metadata.ts';
import { timestamp } from '../../api/timestamp.ts';
import { checkEscalation, requireCreate } from '../access/rbac/escalation.ts';
import { admit, completed } from '../admission/admission.ts';
import { mutated } from '../admission/mutation.ts';
import { restrictNode } from '../admission/node-restriction.ts';
import { validateWrite } from '../admission/review.ts';
import { requireNamespace } from '../admission/namespace.ts';
import type { Write } from '../../store/store.ts';
import type { Item } from '../cache/item.ts';
import type { ServerContext } from '../context.ts';
import { equalJson } from '../../api/schema/equal-json.ts';
import { settledManagedFields, trackUpdate, withManagedFields } from '../patch/managed.ts';
import type { Work } from '../limits/time-slicer.ts';
import { unsliced } from '../limits/time-slicer.ts';
import type { Resource } from '../resource.ts';
import { kindSubject, subjectOf } from '../resource.ts';
import type { Allocation } from './allocation.ts';
import { allocateForUpdate, checkWriteCount, releaseOnDelete } from './allocation.ts';
import { commitObject, dryRunItem, expiryOf, servedObject, storedValue, writtenItem } from './commit.ts';
import { rejectDamaged } from './damaged.ts';
import { hasFinalizers } from './delete-object.ts';
import type { WriteRequest, Written } from './write-request.ts';
import { resetFieldsOf, withMetadata, writeContext } from './write-request.ts';

/** How often a write is tried when other writes conflict, and a write whose work is sliced. */
const attempts = 64;
const slicedAttempts = 8;

/** A change to an object. */
export interface Revision {
  /** Returns the new object, decoded and defaulted; called again after a conflict. */
  revise(old: ApiObject, work: Work): ApiObject | Promise<ApiObject>;
  /** Creates the object if it does not exist; absent if that is a 404. */
  create?(): Promise<Written>;
}

/**
 * Changes an object: read, revise, allocate, prepare, validate, admit, commit. Retries after a conflict, unless the client
 * sent a revision. A change without effect writes nothing.
 */
export async function updateObject(
  context: ServerContext,
  resource: Resource,
  request: WriteRequest,
  revision: Revision,
): Promise<Written> {
  const key = resource.cache.key(request.namespace, request.name);
  // A small change of a large object costs as much as a large change.
  const work =
    request.work === unsliced
      ? context.timeSlicer.open(resource.cache.get(key)?.entry.value.length ?? 0)
      : request.work;
  const target = { key, work, attempts: work === unsliced ? attempts : slicedAttempts };
  const update = (): Promise<Written> => updateWithRetries(context, resource, request, { revision, target });
  return work === unsliced ? update() : context.timeSlicer.serialize(key, update);
}

/** Retries until the write does not conflict. */
async function updateWithRetries(
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
      rejectDamaged(context, resource, request);
      if (revision.create === undefined) throw notFound(subjectOf(resource, request.name));
      requireNamespace(context, resource, request.namespace);
      requireCreate(context, resource, request);
      return await revision.create();
    }
    const written = await tryUpdate(context, resource, { ...request, work }, { item, revision });
    if (written !== 'retry') return written;
  }
  throw serverTimeout('update', subjectOf(resource, request.name));
}

async function tryUpdate(
  context: ServerContext,
  resource: Resource,
  request: WriteRequest,
  { item, revision }: { readonly item: Item; readonly revision: Revision },
): Promise<Written | 'retry'> {
  const { work } = request;
  const old = await servedObject(context, resource, item, work);
  const revised = await revision.revise(old, work);
  await work.run(() => checkEscalation(context, resource, request, { next: revised, old }));
  checkRevision(resource, revised, old);
  const carried = withServerMetadata(resource.kind, revised, old);
  const sent = await work.run(() => {
    const next = withTrackedFields(context, resource, request, { revised: carried, old });
    return request.subresource === '' ? completed(context, resource, { next, old }) : next;
  });
  const changed = await mutated(context, resource, request, { next: sent, old });
  const tracked = changed ?? sent;
  if (changed !== undefined) await work.run(() => checkEscalation(context, resource, request, { next: changed, old }));
  await work.run(() => restrictNode(context, resource.kind, { ...request, next: tracked, old }));
  const allocation = await work.run(() => allocateForUpdate(context, resource, { next: tracked, old }, request.dryRun));
  try {
    const warnings: string[] = [];
    const next = await work.run(() =>
      validated(context, resource, request, { next: allocation.object, old, warnings }),
    );
    const settled = await work.run(() => withManagedFields(next, settledManagedFields(old, next)));
    admit(context, resource, request, { next: settled, old });
    await validateWrite(context, resource, request, { operation: 'UPDATE', object: settled, old });
    const change = { item, old, next: settled, allocation };
    const written =
      request.subresource === ''
        ? await context.quotas.commit(
            { resource, namespace: request.namespace, next: settled, old, dryRun: request.dryRun },
            (charges) => commitUpdate(context, resource, request, { ...change, charges }),
          )
        : await commitUpdate(context, resource, request, { ...change, charges: [] });
    if (written !== 'retry') for (const warning of warnings) request.warnings.push(warning);
    return written;
  } finally {
    allocation.settle();
  }
}

/** Writes the object, or removes it if it is marked for deletion and its last finalizer was removed. */
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
): Promise<Written | 'retry'> {
  const { item, old, next, allocation, charges } = change;
  // An object that is encrypted with an old key or stored in an old version is written again, so that the key or version
  // can be removed.
  const isStale = !request.dryRun && (item.isOutdated || context.isStale(item.entry));
  if (!isStale && (await request.work.run(() => equalJson(next, old)))) return { item, created: false };
  const value = await storedValue(context, resource, next, request.work);
  if (request.dryRun) return { item: dryRunItem(resource, item.key, value, item.revision), created: false };
  const isGone = next.metadata.deletionTimestamp !== undefined && isFinished(resource.kind, next);
  const { commit, value: written } = await commitObject(context, resource, { object: next, value, old }, (content) =>
    checkWriteCount(resource, next, [
      { key: item.key, value: isGone ? undefined : content, expect: item.revision, ...expiryOf(resource) },
      ...(isGone ? releaseOnDelete(context, resource, old) : [...allocation.writes, ...charges]),
    ]),
  );
  if (commit.ok) {
    const entry = { ...item.entry, value: written, revision: commit.revision };
    return { item: writtenItem(resource, entry), created: false };
  }
  if (!(await context.watchCache.waitForRevision(commit.revision)))
    throw serverTimeout('update', subjectOf(resource, request.name));
  const lost = commit.key === item.key ? 'retry' : allocation.conflictFor(commit.key);
  if (lost !== 'retry') throw lost;
  return 'retry';
}

/** Whether a terminating object can be removed. Pods with a grace period are removed by a second deletion. */
const isFinished = (kind: Kind, object: ApiObject): boolean =>
  !hasFinalizers(kind, object) && (object.metadata.deletionGracePeriodSeconds ?? 0) === 0;

/** Throws a 409 unless the revision that the client sent is that of the stored object; 0 means any. */
function checkRevision(resource: Resource, next: ApiObject, old: ApiObject): void {
  const { resourceVersion = '' } = next.metadata;
  if (!/^\d*$/.test(resourceVersion)) {
    const why = `strconv.ParseUint: parsing ${JSON.stringify(resourceVersion)}: invalid syntax`;
    throw failure({ code: 500, message: why }); // as in Kubernetes
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

/** Restores the metadata that clients cannot change. */
function withServerMetadata(kind: Kind, next: ApiObject, old: ApiObject): ApiObject {
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
  // As in Kubernetes, the namespace in a cluster-scoped object is ignored.
  const { selfLink: _selfLink, generation: _, namespace: _namespace, ...sent } = next.metadata;
  // Clients may omit these fields, but not change them.
  const marks = {
    ...(deletionTimestamp === undefined ? {} : { deletionTimestamp }),
    ...(deletionGracePeriodSeconds === undefined ? {} : { deletionGracePeriodSeconds }),
  };
  return { ...next, kind: kind.kind, apiVersion: apiVersionOf(kind), metadata: { ...marks, ...sent, ...kept } };
}

function withTrackedFields(
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
    // As in Kubernetes, entries of a writer of another representation have no time.
    now: request.representation === undefined ? timestamp(context.clock()) : undefined,
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
  const write = writeContext(context, request);
  const endpoint = endpointOf(kind, request.subresource);
  const prepared = endpoint.prepare(next, old, write);
  const counted = endpoint.keepsGeneration === true ? prepared : withGeneration(kind, prepared, old);
  const errors = [
    ...validateMetadataUpdate(counted.metadata, old.metadata, kind),
    ...endpoint.validate(counted, old, write),
  ];
  if (errors.length > 0) throw invalid(kindSubject(resource, counted.metadata.name ?? ''), errors);
  for (const warning of endpoint.warnings?.(counted, old, write) ?? []) warnings.push(warning);
  return counted;
}

/** What a write of the object, or through one of its subresources, may change. */
interface Endpoint extends PartialWrite {
  warnings?(object: ApiObject, old: ApiObject, context: WriteContext): readonly string[];
}

function endpointOf(kind: Kind, subresource: string): Endpoint {
  if (subresource === 'status') {
    return {
      prepare: (sent, old, write) => kind.prepareForStatusUpdate(withStatusOf(kind, sent, old), old, write),
      validate: (object, old, write) => kind.validateStatus(object, old, write),
      warnings: (object) => kind.statusWarnings(object),
    };
  }
  const write = kind.subresources.find(({ name }) => name === subresource)?.write;
  if (write !== undefined) return write;
  return {
    prepare: (sent, old, context) => kind.prepareForUpdate(kind.hasStatus ? withStatus(sent, old) : sent, old, context),
    validate: (object, old, context) => kind.validateUpdate(object, old, context),
    warnings: (object, old, context) => kind.warnings(object, old, context),
  };
}

/** The stored object with the status that was sent, and its metadata unless it is a custom resource. */
function withStatusOf(kind: Kind, sent: ApiObject, old: ApiObject): ApiObject {
  const { managedFields } = sent.metadata;
  const metadata = kind.custom
    ? withMetadata(old, managedFields === undefined ? {} : { managedFields }).metadata
    : sent.metadata;
  return { ...withStatus(old, sent), metadata };
}

type WithStatus = ApiObject & { readonly status?: unknown };

/** `object` with the status of `source`. */
function withStatus(object: ApiObject, source: ApiObject): ApiObject {
  const { status: _, ...rest } = object as WithStatus;
  const { status } = source as WithStatus;
  const completed: WithStatus = status === undefined ? rest : { ...rest, status };
  return completed;
}

/** Increments the generation if the change affects it. */
function withGeneration(kind: Kind, next: ApiObject, old: ApiObject): ApiObject {
  if (kind.generation === 'none' || !raisesGeneration(kind, next, old)) return next;
  return withMetadata(next, { generation: (old.metadata.generation ?? 0) + 1 });
}

function raisesGeneration({ generation, hasStatus }: Kind, next: ApiObject, old: ApiObject): boolean {
  if (generation === 'spec') return !equalJson(Reflect.get(next, 'spec'), Reflect.get(old, 'spec'));
  const labelsChanged =
    generation === 'contentAndLabels' && !equalJson(next.metadata.labels ?? {}, old.metadata.labels ?? {});
  return labelsChanged || !equalJson(contentOf(next, hasStatus), contentOf(old, hasStatus));
}

function contentOf(object: ApiObject, withoutStatus: boolean): unknown {
  const { metadata: _, status, ...content } = object as WithStatus;
  return withoutStatus ? content : { ...content, status };
}
