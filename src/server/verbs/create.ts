import { alreadyExists, badRequest, failure, invalid, serverTimeout } from '../../api/errors.ts';
import type { ApiObject, ObjectMeta } from '../../api/metadata.ts';
import { generateName } from '../../api/names.ts';
import { validateMetadataCreate } from '../../api/validate-metadata.ts';
import { checkEscalation } from '../access/rbac/escalation.ts';
import { admit, completed } from '../admission/admission.ts';
import { mutated } from '../admission/mutation.ts';
import { restrictNode } from '../admission/node-restriction.ts';
import { validateWrite } from '../admission/review.ts';
import { checkDefinition, definitionCheck } from '../admission/definitions.ts';
import { awaitNamespace, checkNamespace, namespaceCheck } from '../admission/namespace.ts';
import type { ServerContext } from '../context.ts';
import { trackUpdate, withManagedFields } from '../patch/managed.ts';
import type { Write } from '../../store/store.ts';
import { apiVersionOf, noControllerWarning } from '../../api/kind.ts';
import { timestamp } from '../../api/timestamp.ts';
import type { ApiCall } from '../reply.ts';
import type { ResourceRequest } from '../request.ts';
import type { Resource } from '../resource.ts';
import { kindSubject, subjectOf } from '../resource.ts';
import { allocateForCreate, checkWriteCount } from './allocation.ts';
import type { Allocation } from './allocation.ts';
import { readObject, withUniqueOwners } from './body.ts';
import { commitObject, dryRunItem, expiryOf, storedValue, writtenItem } from './commit.ts';
import { damagedRecord } from './damaged.ts';
import type { WriteRequest, Written } from './write-request.ts';
import { clientRequest, resetFieldsOf, withMetadata, writeContext } from './write-request.ts';
import { parseWriteOptions } from './write-options.ts';

/** How many generated names are tried. */
const nameAttempts = 8;
const claimAttempts = 64;

/** POST of an object. */
export async function create(
  context: ServerContext,
  resource: Resource,
  info: ResourceRequest,
  { request, warnings }: ApiCall,
): Promise<Written> {
  const options = parseWriteOptions(info.query, 'CreateOptions');
  const body = await readObject(context, request, resource.kind, options.fieldValidation);
  const sent = await body.work.run(() => withUniqueOwners(body.object, body.warnings));
  for (const warning of sent.warnings) warnings.push(warning);
  const write = {
    ...clientRequest(info, { request, warnings }, options, body.work),
    name: sent.object.metadata.name ?? '',
  };
  const defaulted = await body.work.run(() => resource.kind.applyDefaults(sent.object));
  return createObject(context, resource, write, defaulted);
}

/**
 * Creates an object: sets its identity, allocates, prepares, validates, admits, and commits atomically. `given` is decoded
 * and defaulted. The order is that of Kubernetes, since it decides which error a client gets.
 */
export async function createObject(
  context: ServerContext,
  resource: Resource,
  request: WriteRequest,
  given: ApiObject,
): Promise<Written> {
  const { work } = request;
  const sent = await work.run(() =>
    // As in Kubernetes, the manager of the request does not own what admission sets.
    completed(context, resource, { next: identify(context, resource, request, given), old: undefined }),
  );
  const { name = '', generateName: prefix = '' } = sent.metadata;
  if (context.store.isShared) await awaitNamespace(context, resource, request.namespace);
  checkNamespace(context, resource, request.namespace, name || prefix);
  const identified = (await mutated(context, resource, request, { next: sent, old: undefined })) ?? sent;
  if (identified.metadata.namespace !== sent.metadata.namespace) throw namespaceMismatch();
  restrictNode(context, resource.kind, { ...request, next: identified, old: undefined });
  await work.run(() => checkEscalation(context, resource, request, { next: identified, old: undefined }));
  const isGenerated = name === '' && prefix !== '';
  let names = isGenerated ? nameAttempts : 1;
  for (let attempt = 0; attempt < claimAttempts; attempt++) {
    const named = isGenerated ? withMetadata(identified, { name: generateName(prefix, context.random) }) : identified;
    const allocation = await work.run(() => allocateForCreate(context, resource, named, request.dryRun));
    try {
      const object = await work.run(() => validated(context, resource, request, allocation.object));
      admit(context, resource, request, { next: object, old: undefined });
      await validateWrite(context, resource, request, { operation: 'CREATE', object, old: undefined });
      if (!request.dryRun) rejectRevision(given); // only a store rejects it, as in Kubernetes
      const value = await storedValue(context, resource, object, work);
      const outcome = await context.quotas.commit(
        { resource, namespace: request.namespace, next: object, old: undefined, dryRun: request.dryRun },
        async (charges) => {
          // Checked again, since they may have been deleted while webhooks ran or the request waited.
          checkNamespace(context, resource, request.namespace, name || prefix);
          checkDefinition(context, resource);
          return commitNew(context, resource, request, { object, value, allocation, charges });
        },
      );
      if (outcome !== 'name taken' && outcome !== 'claim lost') return outcome;
      if (outcome === 'name taken' && --names === 0) throw nameTaken(context, resource, object.metadata, isGenerated);
    } finally {
      allocation.settle();
    }
  }
  throw serverTimeout('create', subjectOf(resource));
}

/** Sets the system metadata, which clients cannot choose, and the namespace of the URL. */
function identify(context: ServerContext, { kind }: Resource, request: WriteRequest, given: ApiObject): ApiObject {
  const {
    uid: _uid,
    creationTimestamp: _creation,
    deletionTimestamp: _deletion,
    deletionGracePeriodSeconds: _grace,
    selfLink: _selfLink,
    resourceVersion: _revision,
    namespace = '',
    ...kept
  } = given.metadata;
  if (kind.namespaced && namespace !== '' && namespace !== request.namespace) throw namespaceMismatch();
  const metadata: ObjectMeta = {
    ...kept,
    ...(kind.namespaced ? { namespace: request.namespace } : {}),
    uid: context.uid(),
    creationTimestamp: timestamp(context.clock()),
    ...(kind.generation === 'none' ? {} : { generation: 1 }),
  };
  const object = { ...given, kind: kind.kind, apiVersion: apiVersionOf(kind), metadata };
  if (request.manager === undefined) return object;
  const managedFields = trackUpdate({
    schema: kind.schema,
    live: undefined,
    next: object,
    manager: request.manager,
    apiVersion: apiVersionOf(kind),
    now: timestamp(context.clock()),
    resetFields: resetFieldsOf(kind, ''),
  });
  return withManagedFields(object, managedFields);
}

/** Rejects a revision on a new object, after all other checks and with a 500, as in Kubernetes. */
function rejectRevision({ metadata: { resourceVersion = '' } }: ApiObject): void {
  if (!/^\d+$/.test(resourceVersion) || Number(resourceVersion) === 0) return;
  throw failure({ code: 500, message: 'resourceVersion should not be set on objects to be created' });
}

export const namespaceMismatch = (): Error =>
  badRequest('the namespace of the provided object does not match the namespace sent on the request');

function validated(context: ServerContext, resource: Resource, request: WriteRequest, object: ApiObject): ApiObject {
  const { kind } = resource;
  const write = writeContext(context, request);
  const prepared = kind.prepareForCreate(object, write);
  const errors = [
    ...validateMetadataCreate(prepared.metadata, {
      namespaced: kind.namespaced,
      plainFinalizers: kind.plainFinalizers,
      nameErrors: (name, isPrefix) => kind.nameErrors(name, isPrefix, write),
    }),
    ...kind.validateCreate(prepared, write),
  ];
  if (errors.length > 0) throw invalid(kindSubject(resource, prepared.metadata.name ?? ''), errors);
  for (const warning of kind.warnings(prepared, undefined, write)) request.warnings.push(warning);
  const warning = noControllerWarning(kind);
  if (warning !== undefined) request.warnings.push(warning);
  return prepared;
}

async function commitNew(
  context: ServerContext,
  resource: Resource,
  request: WriteRequest,
  {
    object,
    value,
    allocation,
    charges,
  }: {
    readonly object: ApiObject;
    readonly value: string;
    readonly allocation: Allocation;
    readonly charges: readonly Write[];
  },
): Promise<Written | 'name taken' | 'claim lost'> {
  const { cache } = resource;
  const key = cache.key(request.namespace, object.metadata.name ?? '');
  // In a shared store, another server may have deleted the object: its commit decides.
  if (cache.get(key) !== undefined && (request.dryRun || !context.store.isShared)) return 'name taken';
  if (request.dryRun) return { item: dryRunItem(resource, key, value, 0), created: true };
  const checks = [...namespaceCheck(context, resource, request.namespace), ...definitionCheck(context, resource)];
  const { commit, value: written } = await commitObject(
    context,
    resource,
    { object, value, old: undefined },
    (content) =>
      checkWriteCount(resource, object, [
        { key, value: content, expect: 0, ...expiryOf(resource) },
        ...allocation.writes,
        ...charges,
        ...checks,
      ]),
  );
  if (commit.ok) {
    const { revision } = commit;
    return { item: writtenItem(resource, { key, value: written, revision, created: revision }), created: true };
  }
  if (!(await context.watchCache.waitForRevision(commit.revision))) throw serverTimeout('create', subjectOf(resource));
  if (commit.key === key) return 'name taken';
  if (checks.some((check) => check.key === commit.key)) return 'claim lost';
  const conflict = allocation.conflictFor(commit.key);
  if (conflict !== 'retry') throw conflict;
  return 'claim lost';
}

/** The error for a name that is taken: by a live or terminating object, or by all generated names. */
function nameTaken(
  context: ServerContext,
  resource: Resource,
  { namespace = '', name = '' }: ObjectMeta,
  isGenerated: boolean,
): Error {
  const subject = subjectOf(resource, name);
  if (isGenerated) {
    const { status } = alreadyExists(subject);
    return failure({
      code: 409,
      reason: 'AlreadyExists',
      message: `${status.message}, the server was not able to generate a unique name for the object`,
      details: { ...status.details, retryAfterSeconds: 1 },
    });
  }
  const { cache } = resource;
  const isTerminating = cache.get(cache.key(namespace, name))?.object.metadata.deletionTimestamp !== undefined;
  const isDamaged = damagedRecord(context, resource, { namespace, name }) !== undefined;
  const prefix = isDamaged ? 'the stored record is damaged, delete the object first: ' : '';
  return alreadyExists(subject, isTerminating ? 'object is being deleted: ' : prefix);
}
