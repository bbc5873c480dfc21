import type { ApiObject } from '../../api/metadata.ts';
import type { ServerContext } from '../context.ts';
import type { Resource } from '../resource.ts';
import type { WriteRequest } from '../verbs/write-request.ts';
import type { AdmissionAttributes, ReviewOutput } from './attributes.ts';
import type { ChangeObject } from './mutation-round.ts';
import { Reinvocation } from './mutation-round.ts';

/** The change that a write is about to commit. */
export interface Change {
  readonly operation: 'CREATE' | 'UPDATE' | 'DELETE';
  readonly object: ApiObject | undefined;
  readonly old: ApiObject | undefined;
}

/** The request behind a write. */
export interface WriteSource extends Pick<WriteRequest, 'user' | 'dryRun' | 'warnings' | 'sent' | 'annotate'> {
  readonly subresource: string;
  /** How the subresource represents the object that the client wrote; undefined: as itself. */
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
  const stages = stagesOf(context, { mutates: change.object === undefined });
  if (stages === undefined) return undefined;
  const attributes = attributesOf(context, resource, source, change);
  return attributes === undefined ? undefined : runStages(context, attributes, outputOf(source), stages);
}

/** The parts of admission that review a write. */
type Stages = Readonly<Record<'mutate' | 'evaluate' | 'call', boolean>>;

/** The parts that apply to a write, with the mutating webhooks if `mutates` is set. Undefined if none applies. */
export function stagesOf(
  { plugins, webhooks, policies }: ServerContext,
  { mutates }: { readonly mutates: boolean },
): Stages | undefined {
  const stages = {
    mutate: mutates && !webhooks.mutatesNothing && plugins.has('MutatingAdmissionWebhook'),
    evaluate: !policies.isIdle && plugins.has('ValidatingAdmissionPolicy'),
    call: !webhooks.validatesNothing && plugins.has('ValidatingAdmissionWebhook'),
  };
  return stages.mutate || stages.evaluate || stages.call ? stages : undefined;
}

const unchangeable: ChangeObject = (object) => Promise.resolve(object);

/** Evaluates policies and calls webhooks, one part after the other. */
export async function runStages(
  { webhooks, policies }: ServerContext,
  attributes: AdmissionAttributes,
  output: ReviewOutput,
  stages: Stages,
): Promise<void> {
  if (stages.mutate)
    await webhooks.mutate(attributes, { round: 0, output, change: unchangeable, reinvocation: new Reinvocation() });
  if (stages.evaluate) await policies.validate(attributes, output);
  if (stages.call) await webhooks.validate(attributes, output);
}

/** Where the review of a write adds warnings and annotations. */
export const outputOf = ({ warnings, annotate }: Pick<WriteSource, 'warnings' | 'annotate'>): ReviewOutput => ({
  warnings,
  annotate: annotate ?? (() => undefined),
});
