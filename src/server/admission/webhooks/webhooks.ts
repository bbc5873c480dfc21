import type { Logger } from 'pino';

import { mutatingWebhookConfigurationKind } from '../../../api/kinds/admissionregistration/mutatingwebhookconfiguration/kind.ts';
import { validatingWebhookConfigurationKind } from '../../../api/kinds/admissionregistration/validatingwebhookconfiguration/kind.ts';
import type {
  AnyWebhook,
  WebhookConfiguration,
} from '../../../api/kinds/admissionregistration/webhook-configuration.ts';
import { namespaceKind } from '../../../api/kinds/core/namespace/kind.ts';
import { messageOf } from '../../../api/error-message.ts';
import { forbidden, internalError, StatusError } from '../../../api/errors.ts';
import type { Kind } from '../../../api/kind.ts';
import type { ApiObject } from '../../../api/metadata.ts';
import { equalJson } from '../../../api/schema/equal-json.ts';
import { applyJsonPatch } from '../../patch/json-patch.ts';
import type { Authorizer } from '../../access/authorize.ts';
import type { WatchCache } from '../../cache/watch-cache.ts';
import type { Conversions } from '../../conversion/conversions.ts';
import { Caller } from '../../webhooks/caller.ts';
import type { AdmissionAttributes, ReviewOutput } from '../attributes.ts';
import { prepareReview, rethrowInternal, targetOf } from '../attributes.ts';
import { EvaluationError, variablesOf } from '../expressions.ts';
import type { ChangeObject } from '../mutation-round.ts';
import type { Mutated, MutationRound } from '../mutation-round.ts';
import type { CompiledCondition } from '../match-conditions.ts';
import { compileConditions, conditionsMatch } from '../match-conditions.ts';
import { matchedKind } from '../matching.ts';
import { ParsedObjects } from '../parsed-objects.ts';
import { LoopDetector } from './loops.ts';
import type { WebhookType } from './metrics.ts';
import { WebhookMetrics } from './metrics.ts';
import { callError, denial, readVerdict, reviewOf, reviewVersions, UndecodablePatch } from './review.ts';
import type { Verdict } from './review.ts';

export interface WebhooksOptions {
  readonly watchCache: WatchCache;
  /** Converts objects to the versions that webhooks accept. */
  readonly conversions: Pick<Conversions, 'convert'>;
  readonly access: Authorizer;
  readonly log: Logger;
  readonly uid: () => string;
}

/** A webhook of a configuration, with its compiled match conditions. */
interface ConfiguredWebhook {
  readonly configuration: string;
  readonly webhook: AnyWebhook;
  readonly conditions: readonly CompiledCondition[];
}

function webhooksOf(object: ApiObject): readonly ConfiguredWebhook[] {
  const { metadata, webhooks = [] }: WebhookConfiguration = object;
  return webhooks.map((webhook) => ({
    configuration: metadata.name ?? '',
    webhook,
    conditions: compileConditions(webhook.matchConditions ?? []),
  }));
}

/** A webhook that applies to a write, and the kind in which it receives the object. */
interface MatchedWebhook extends ConfiguredWebhook {
  readonly kind: Kind;
}

/** The outcome of a call that did not fail, or whose failure is ignored. */
interface Outcome {
  readonly verdict?: Verdict;
  readonly error?: Error;
}

/** Calls the webhooks of the configurations before a write; see docs/reference/api.md. */
export class Webhooks implements Disposable {
  readonly metrics = new WebhookMetrics();
  readonly #options: WebhooksOptions;
  readonly #validating: ParsedObjects<readonly ConfiguredWebhook[]>;
  readonly #mutating: ParsedObjects<readonly ConfiguredWebhook[]>;
  readonly #caller: Caller;
  readonly #loops = new LoopDetector();

  constructor(options: WebhooksOptions) {
    this.#options = options;
    this.#validating = new ParsedObjects(options.watchCache.of(validatingWebhookConfigurationKind), webhooksOf);
    this.#caller = new Caller(options.watchCache);
    this.#mutating = new ParsedObjects(options.watchCache.of(mutatingWebhookConfigurationKind), webhooksOf);
  }

  /** Whether there is no validating webhook at all: a cheap check for every write. */
  get validatesNothing(): boolean {
    return this.#validating.isEmpty;
  }

  /** Whether there is no mutating webhook at all. */
  get mutatesNothing(): boolean {
    return this.#mutating.isEmpty;
  }

  /** Calls all validating webhooks that apply, concurrently. Throws the error for the client if one denies the write. */
  async validate(attributes: AdmissionAttributes, output: ReviewOutput): Promise<void> {
    if (isExempt(attributes)) return;
    const matches: MatchedWebhook[] = [];
    for (const each of this.#validating.all.flat()) {
      const kind = await this.#matchedKind(each, attributes, 'validating');
      if (kind !== undefined) matches.push({ ...each, kind });
    }
    const outcomes = await Promise.all(
      matches.map(async (each) => ({ ...(await this.#review(each, attributes, 'validating', output)), each })),
    );
    for (const { verdict } of outcomes) output.warnings.push(...(verdict?.warnings ?? []));
    const refusal = outcomes.find(({ error }) => error !== undefined)?.error;
    if (refusal !== undefined) throw refusal;
  }

  /**
   * Calls the mutating webhooks that apply, one after the other, and returns the changed object, which a deletion does
   * not have. In the second round, only those whose call is to be repeated.
   */
  async mutate(
    attributes: AdmissionAttributes,
    { round, output, change, reinvocation }: MutationRound,
  ): Promise<Mutated> {
    let { object } = attributes;
    if (isExempt(attributes)) return { object, isChanged: false };
    let isChanged = false;
    for (const [index, each] of this.#mutating.all.flat().entries()) {
      const { configuration, webhook } = each;
      const key = `${configuration}/${webhook.name}`;
      if (round === 1 && !reinvocation.isRepeated(key)) continue;
      const current = { ...attributes, object };
      const kind = await this.#matchedKind(each, current, 'admit');
      if (kind === undefined) continue;
      const matched = { ...each, kind };
      const { verdict, error } = await this.#review(matched, current, 'admit', output, `round_${round}_index_${index}`);
      output.warnings.push(...(verdict?.warnings ?? []));
      if (error !== undefined) throw error;
      const patched =
        verdict?.patch === undefined ? object : await this.#patched(matched, current, verdict.patch, change);
      const mutated = patched !== object && !equalJson(patched, object);
      annotateMutation(each, output, { round, index, mutated, patch: verdict?.patch });
      if (mutated) {
        isChanged = true;
        reinvocation.requireRepetition();
      }
      object = patched;
      if (webhook.reinvocationPolicy === 'IfNeeded') reinvocation.record(key);
    }
    return { object, isChanged };
  }

  [Symbol.dispose](): void {
    this.#caller[Symbol.dispose]();
  }

  /** The kind in which the webhook reviews the write; undefined if it does not apply. Throws a 403 if its conditions fail. */
  async #matchedKind(
    { webhook, conditions }: ConfiguredWebhook,
    attributes: AdmissionAttributes,
    type: WebhookType,
  ): Promise<Kind | undefined> {
    const kind = matchedKind(webhook, attributes, (namespace) => this.#labelsOf(namespace));
    if (kind === undefined) return undefined;
    await prepareReview(attributes, kind, this.#options.conversions)?.catch(rethrowInternal);
    if (conditions.length === 0) return kind;
    const variables = variablesOf(attributes, kind, { access: this.#options.access });
    const matches = conditionsMatch(conditions, variables, webhook.failurePolicy);
    if (matches instanceof EvaluationError) {
      const { name } = targetOf(attributes);
      throw forbidden({ group: attributes.kind.group, resource: attributes.kind.plural, name }, matches.message);
    }
    if (!matches) this.metrics.excluded(webhook.name, type, attributes.operation);
    return matches ? kind : undefined;
  }

  #labelsOf(namespace: string): Readonly<Record<string, string>> | undefined {
    const cache = this.#options.watchCache.of(namespaceKind);
    return cache.get(cache.key('', namespace))?.object.metadata.labels;
  }

  async #review(
    { configuration, webhook, kind }: MatchedWebhook,
    attributes: AdmissionAttributes,
    type: WebhookType,
    output: ReviewOutput,
    place = '',
  ): Promise<Outcome> {
    const { name, failurePolicy } = webhook;
    const labels = { name, type, operation: attributes.operation };
    const started = performance.now();
    const seconds = (): number => (performance.now() - started) / 1000;
    let verdict: Verdict;
    try {
      verdict = await this.#loops.run(`${configuration}/${name}`, attributes, () =>
        this.#call({ configuration, webhook, kind }, attributes, type),
      );
    } catch (error) {
      const isOpen = failurePolicy === 'Ignore';
      const refusedFor = isOpen ? undefined : 'calling_webhook_error';
      this.metrics.record(labels, { seconds: seconds(), code: 400, refusedFor });
      if (isOpen) {
        this.metrics.failedOpen(name, type);
        if (place !== '') output.annotate(`failed-open.mutation.webhook.admission.k8s.io/${place}`, name);
      }
      this.#options.log.warn({ webhook: name, failurePolicy, err: error }, 'failed calling webhook');
      return isOpen ? {} : { error: callError(name, error) };
    }
    for (const [key, value] of Object.entries(verdict.auditAnnotations)) output.annotate(`${name}/${key}`, value);
    const error = verdict.allowed ? undefined : denial(name, verdict);
    const refusedFor = verdict.allowed ? undefined : 'no_error';
    this.metrics.record(labels, { seconds: seconds(), code: error?.status.code ?? 200, refusedFor });
    return error === undefined ? { verdict } : { verdict, error };
  }

  async #call(
    { configuration, webhook, kind }: Pick<MatchedWebhook, 'configuration' | 'webhook' | 'kind'>,
    attributes: AdmissionAttributes,
    type: WebhookType,
  ): Promise<Verdict> {
    const { clientConfig, admissionReviewVersions, timeoutSeconds = 10 } = webhook;
    const uid = this.#options.uid();
    const version = (admissionReviewVersions ?? [])
      .map((wanted) => reviewVersions.find((known) => known === wanted))
      .find((known) => known !== undefined);
    if (version === undefined) {
      const why = 'webhook does not accept known AdmissionReview versions (v1, v1beta1)';
      throw new Error(`could not create admission objects: ${why}`);
    }
    const body = JSON.stringify(reviewOf(attributes, { kind, version, uid }));
    const answer = await this.#caller
      .call({ key: `${configuration}/${webhook.name}`, clientConfig, body, timeoutSeconds })
      .catch((error: unknown) => rethrow('failed to call webhook', error));
    try {
      return readVerdict(answer, { uid, version, mutates: type === 'admit' });
    } catch (error) {
      const isPatch = error instanceof UndecodablePatch;
      return rethrow(
        isPatch ? 'received undecodable patch in webhook response' : 'received invalid webhook response',
        error,
      );
    }
  }

  /** The object with the patch of a webhook; throws a 500 if it cannot be applied. */
  async #patched(
    { webhook, kind }: MatchedWebhook,
    { object, operation }: AdmissionAttributes,
    patch: unknown,
    change: ChangeObject,
  ): Promise<ApiObject> {
    const refuse = (message: string): Error => {
      const labels = { name: webhook.name, type: 'admit', operation } as const;
      this.metrics.record(labels, { seconds: 0, code: 0, refusedFor: 'apiserver_internal_error' });
      return internalError(message);
    };
    if (object === undefined) {
      const name = JSON.stringify(webhook.name);
      throw refuse(
        `admission webhook ${name} attempted to modify the object, which is not supported for this operation`,
      );
    }
    try {
      return await change(object, kind, (document) => applyJsonPatch(document, patch));
    } catch (error) {
      if (error instanceof StatusError) throw refuse(messageOf(error));
      throw error;
    }
  }
}

/** Webhooks never see configurations of admission: a broken webhook must not prevent its own removal. */
const isExempt = ({ kind }: AdmissionAttributes): boolean => kind.group === validatingWebhookConfigurationKind.group;

/** Records a call of a mutating webhook in the audit log, with the keys of Kubernetes. */
function annotateMutation(
  { configuration, webhook }: ConfiguredWebhook,
  { annotate }: ReviewOutput,
  { round, index, mutated, patch }: { round: number; index: number; mutated: boolean; patch: unknown },
): void {
  const place = `round_${round}_index_${index}`;
  const source = { configuration, webhook: webhook.name };
  annotate(`mutation.webhook.admission.k8s.io/${place}`, JSON.stringify({ ...source, mutated }));
  if (patch === undefined) return;
  const value = JSON.stringify({ ...source, patch, patchType: 'JSONPatch' });
  annotate(`patch.webhook.admission.k8s.io/${place}`, value);
}

function rethrow(doing: string, error: unknown): never {
  throw new Error(`${doing}: ${messageOf(error)}`, { cause: error });
}
