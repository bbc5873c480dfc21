import type { Kind } from '../../../api/kind.ts';
import { apiVersionOf } from '../../../api/kind.ts';
import { decode, DecodeError } from '../../../api/schema/decode.ts';
import { isJsonObject } from '../../../api/schema/json-object.ts';
import { internalError } from '../../../api/errors.ts';
import type { ApiObject, ObjectMeta } from '../../../api/metadata.ts';
import type { ServerContext } from '../../context.ts';
import { applyJsonPatch } from '../../patch/json-patch.ts';
import { asJson } from '../../patch/managed.ts';
import type { Resource } from '../../resource.ts';
import type { WriteRequest } from '../../verbs/write-request.ts';
import type { AdmissionAttributes } from '../attributes.ts';
import { converted, reviewed } from '../attributes.ts';
import type { ApplyPatch, ReviewOutput } from './webhooks.ts';

/** The change that a write is about to commit. */
export interface Change {
  readonly operation: AdmissionAttributes['operation'];
  readonly object: ApiObject | undefined;
  readonly old: ApiObject | undefined;
}

/** The request behind a write. */
export interface WriteSource extends Pick<WriteRequest, 'user' | 'dryRun' | 'warnings' | 'sent' | 'annotate'> {
  readonly subresource: string;
  /** What the client wrote instead of the object itself, if anything. */
  readonly representation?: AdmissionAttributes['representation'];
}

const optionsKinds = { CREATE: 'CreateOptions', UPDATE: 'UpdateOptions', DELETE: 'DeleteOptions' } as const;

/** A write as admission sees it; undefined for writes of the server itself, which are not reviewed. */
export function attributesOf(
  { resources }: ServerContext,
  { kind }: Resource,
  { user, subresource, representation, dryRun, sent }: WriteSource,
  change: Change,
): AdmissionAttributes | undefined {
  if (user === undefined) return undefined;
  const options = { kind: optionsKinds[change.operation], apiVersion: 'meta.k8s.io/v1' };
  return {
    ...change,
    kind,
    equivalents: () => resources.equivalents(kind),
    subresource,
    representation,
    user,
    dryRun,
    options: { ...sent?.(), ...options },
  };
}

/**
 * Calls the validating webhooks for a write before it is committed, for dry runs too: webhooks with side effects cannot
 * be configured. Returns undefined if there is no webhook, so that the caller need not await.
 */
export function callWebhooks(
  context: ServerContext,
  resource: Resource,
  source: WriteSource,
  change: Change,
): Promise<void> | undefined {
  const { plugins, webhooks } = context;
  if (webhooks.validatesNothing || !plugins.has('ValidatingAdmissionWebhook')) return undefined;
  const attributes = attributesOf(context, resource, source, change);
  return attributes === undefined ? undefined : webhooks.validate(attributes, outputOf(source));
}

/**
 * Calls the mutating webhooks for a write before it is validated. Returns the changed object, or undefined if there is
 * no webhook. `between` completes an object that a webhook changed.
 */
export function mutateByWebhooks(
  context: ServerContext,
  resource: Resource,
  source: WriteSource & Pick<WriteRequest, 'work'>,
  { between, ...change }: Change & { readonly between: (object: ApiObject) => Promise<ApiObject> },
): Promise<ApiObject | undefined> | undefined {
  const { plugins, webhooks } = context;
  if (webhooks.mutatesNothing || !plugins.has('MutatingAdmissionWebhook')) return undefined;
  const attributes = attributesOf(context, resource, source, change);
  if (attributes === undefined) return undefined;
  const apply: ApplyPatch = async (object, kind, patch) => {
    const document = asJson(reviewed(attributes, object, kind) as ApiObject);
    const patched = await source.work.runSteps(applyJsonPatch(document, patch));
    return source.work.run(() => unreviewed(attributes, object, { kind, patched }));
  };
  return webhooks.mutate(attributes, outputOf(source), { apply, between });
}

const outputOf = ({ warnings, annotate }: WriteSource): ReviewOutput => ({
  warnings,
  annotate: annotate ?? (() => undefined),
});

/** The object of the write with what a webhook made of the reviewed one: the opposite of `reviewed`. */
function unreviewed(
  { kind: requested, representation }: AdmissionAttributes,
  object: ApiObject,
  { kind, patched }: { readonly kind: Kind; readonly patched: unknown },
): ApiObject {
  const shown = representation?.kind ?? kind;
  const made = decoded(shown, patched);
  const next =
    representation === undefined ? converted(made, kind, requested) : representation.into(object, made);
  return { ...next, kind: requested.kind, apiVersion: apiVersionOf(requested), metadata: withIdentity(next, object) };
}

function decoded(kind: Kind, patched: unknown): ApiObject {
  if (!isJsonObject(patched)) throw internalError(`the patched ${kind.kind} is not an object`);
  try {
    return kind.applyDefaults(decode<ApiObject>(kind.schema, patched).object);
  } catch (error) {
    if (error instanceof DecodeError) throw internalError(error.message);
    throw error;
  }
}

/** The metadata of a patched object; webhooks cannot change what the server sets. */
function withIdentity({ metadata }: ApiObject, { metadata: before }: ApiObject): ObjectMeta {
  const { uid, creationTimestamp, generation, resourceVersion, managedFields, deletionTimestamp, deletionGracePeriodSeconds } =
    before;
  return {
    ...metadata,
    ...definedOf({ uid, creationTimestamp, generation, resourceVersion, managedFields, deletionTimestamp, deletionGracePeriodSeconds }),
  };
}

const definedOf = (fields: Partial<ObjectMeta>): Partial<ObjectMeta> =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
