import type { Kind } from '../../api/kind.ts';
import { apiVersionOf } from '../../api/kind.ts';
import { decode, DecodeError } from '../../api/schema/decode.ts';
import { isJsonObject } from '../../api/schema/json-object.ts';
import { internalError } from '../../api/errors.ts';
import type { ApiObject } from '../../api/metadata.ts';
import type { ServerContext } from '../context.ts';
import { applyJsonPatch } from '../patch/json-patch.ts';
import { asJson } from '../patch/managed.ts';
import type { Resource } from '../resource.ts';
import type { WriteRequest } from '../verbs/write-request.ts';
import { withMetadata } from '../verbs/write-request.ts';
import type { AdmissionAttributes } from './attributes.ts';
import { reviewed } from './attributes.ts';
import type { ApplyPatch, ReviewOutput } from './webhooks/webhooks.ts';

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
function attributesOf(
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
    ...(kind.webhookVersions === undefined ? {} : { versions: new WeakMap() }),
    equivalents: () => resources.equivalents(kind),
    subresource,
    representation,
    user,
    dryRun,
    options: { ...sent?.(), ...options },
  };
}

/**
 * Evaluates the policies and calls the validating webhooks for a write before it is committed, for dry runs too: webhooks
 * with side effects cannot be configured. For a deletion, mutating webhooks come first. Returns undefined if there is
 * neither, so that the caller need not await.
 */
export function validateWrite(
  context: ServerContext,
  resource: Resource,
  source: WriteSource,
  change: Change,
): Promise<void> | undefined {
  const { plugins, webhooks, policies } = context;
  const stages = {
    mutate: change.object === undefined && !webhooks.mutatesNothing && plugins.has('MutatingAdmissionWebhook'),
    evaluate: !policies.isIdle && plugins.has('ValidatingAdmissionPolicy'),
    call: !webhooks.validatesNothing && plugins.has('ValidatingAdmissionWebhook'),
  };
  if (!stages.mutate && !stages.evaluate && !stages.call) return undefined;
  const attributes = attributesOf(context, resource, source, change);
  return attributes === undefined ? undefined : runStages(context, attributes, outputOf(source), stages);
}

async function runStages(
  { webhooks, policies }: ServerContext,
  attributes: AdmissionAttributes,
  output: ReviewOutput,
  stages: Readonly<Record<'mutate' | 'evaluate' | 'call', boolean>>,
): Promise<void> {
  if (stages.mutate) await webhooks.mutate(attributes, output);
  if (stages.evaluate) await policies.validate(attributes, output);
  if (stages.call) await webhooks.validate(attributes, output);
}

/**
 * Calls the mutating webhooks for a write before it is validated. Returns the changed object, or undefined if there is
 * no webhook. `between` completes an object that a webhook changed.
 */
export async function mutateByWebhooks(
  context: ServerContext,
  resource: Resource,
  source: WriteSource & Pick<WriteRequest, 'work'>,
  { between, ...change }: Change & { readonly between: (object: ApiObject) => Promise<ApiObject> },
): Promise<ApiObject | undefined> {
  const { plugins, webhooks } = context;
  if (webhooks.mutatesNothing || !plugins.has('MutatingAdmissionWebhook')) return undefined;
  const attributes = attributesOf(context, resource, source, change);
  if (attributes === undefined) return undefined;
  const { object: given } = attributes;
  const apply: ApplyPatch = async (object, kind, patch) => {
    const document = asJson(reviewed(attributes, object, kind) ?? object);
    const patched = await source.work.runSteps(applyJsonPatch(document, patch));
    const shown = attributes.representation?.kind ?? kind;
    const made = await source.work.run(() => decoded(shown, patched));
    const next =
      attributes.representation?.into?.(object, made) ??
      (await context.conversions.convert(made, kind, attributes.kind));
    const type = { kind: attributes.kind.kind, apiVersion: apiVersionOf(attributes.kind) };
    return source.work.run(() => withSystemFields({ ...next, ...type }, object));
  };
  const reviewedFirst = change.operation === 'CREATE' && given !== undefined ? withoutSystemFields(given) : given;
  const object = await webhooks.mutate({ ...attributes, object: reviewedFirst }, outputOf(source), { apply, between });
  return object === undefined || given === undefined ? object : withSystemFields(object, given);
}

const outputOf = ({ warnings, annotate }: WriteSource): ReviewOutput => ({
  warnings,
  annotate: annotate ?? (() => undefined),
});

function decoded(kind: Kind, patched: unknown): ApiObject {
  if (!isJsonObject(patched)) throw internalError(`the patched ${kind.kind} is not an object`);
  try {
    return kind.applyDefaults(decode<ApiObject>(kind.schema, patched).object);
  } catch (error) {
    if (error instanceof DecodeError) throw internalError(error.message);
    throw error;
  }
}

/** The metadata that the server sets. As in Kubernetes, mutating webhooks see none of it on a new object. */
const systemFields: ReadonlySet<string> = new Set([
  'uid',
  'creationTimestamp',
  'generation',
  'resourceVersion',
  'managedFields',
  'deletionTimestamp',
  'deletionGracePeriodSeconds',
]);

function withoutSystemFields(object: ApiObject): ApiObject {
  const kept = Object.entries(object.metadata).filter(([name]) => !systemFields.has(name));
  return { ...object, metadata: Object.fromEntries(kept) };
}

/** The object with the system fields of another, which webhooks cannot change. */
function withSystemFields(object: ApiObject, source: ApiObject): ApiObject {
  const fields = Object.entries(source.metadata).filter(([name]) => systemFields.has(name));
  return withMetadata(withoutSystemFields(object), Object.fromEntries(fields));
}
