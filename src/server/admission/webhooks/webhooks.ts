import type { Logger } from 'pino';

import { validatingWebhookConfigurationKind } from '../../../api/kinds/admissionregistration/validatingwebhookconfiguration/kind.ts';
import type {
  ValidatingWebhook,
  ValidatingWebhookConfiguration,
} from '../../../api/kinds/admissionregistration/validatingwebhookconfiguration/schema.ts';
import { namespaceKind } from '../../../api/kinds/core/namespace/kind.ts';
import type { Kind } from '../../../api/kind.ts';
import { messageOf } from '../../../api/error-message.ts';
import type { WatchCache } from '../../cache/watch-cache.ts';
import type { ResourceCache } from '../../cache/resource-cache.ts';
import type { AdmissionAttributes } from './attributes.ts';
import { Caller } from '../../webhooks/caller.ts';
import { callError, denial } from './review.ts';
import { matchedKind } from './matching.ts';
import { WebhookMetrics } from './metrics.ts';
import { readVerdict, reviewOf, reviewVersions } from './review.ts';
import type { Verdict } from './review.ts';

export interface WebhooksOptions {
  readonly watchCache: WatchCache;
  readonly log: Logger;
  readonly uid: () => string;
}

/** A webhook that applies to a write, and the kind in which it receives the object. */
interface MatchedWebhook {
  readonly webhook: ValidatingWebhook;
  readonly kind: Kind;
}

/** Calls the webhooks of ValidatingWebhookConfigurations before a write; see docs/reference/api.md. */
export class Webhooks implements Disposable {
  readonly metrics = new WebhookMetrics();
  readonly #options: WebhooksOptions;
  readonly #cache: ResourceCache;
  readonly #caller: Caller;
  /** Parsed once: the cache keeps bytes and would parse them for every write. */
  #webhooks: readonly ValidatingWebhook[] = [];
  #readAt = -1;

  constructor(options: WebhooksOptions) {
    this.#options = options;
    this.#cache = options.watchCache.of(validatingWebhookConfigurationKind);
    this.#caller = new Caller(options.watchCache);
  }

  /** Whether there is no webhook at all: a cheap check for every write. */
  get isIdle(): boolean {
    return this.#cache.size === 0;
  }

  /** Calls all webhooks that apply, concurrently. Throws the error for the client if one of them denies the write. */
  async admit(attributes: AdmissionAttributes, warnings: string[]): Promise<void> {
    // Webhooks never see webhook configurations: a broken webhook must not prevent its own removal.
    if (attributes.kind.group === validatingWebhookConfigurationKind.group) return;
    const matches = this.#current().flatMap((webhook): readonly MatchedWebhook[] => {
      const kind = matchedKind(webhook, attributes, (namespace) => this.#labelsOf(namespace));
      return kind === undefined ? [] : [{ webhook, kind }];
    });
    const outcomes = await Promise.all(matches.map((each) => this.#review(each, attributes)));
    warnings.push(...outcomes.flatMap((outcome) => outcome.warnings));
    const refusal = outcomes.find(({ error }) => error !== undefined)?.error;
    if (refusal !== undefined) throw refusal;
  }

  [Symbol.dispose](): void {
    this.#caller[Symbol.dispose]();
  }

  #current(): readonly ValidatingWebhook[] {
    const cache = this.#cache;
    cache.requireReadable(cache.prefix); // an unreadable webhook might deny the write
    if (this.#readAt === cache.lastChangeRevision) return this.#webhooks;
    this.#readAt = cache.lastChangeRevision;
    // In the order of keys, which is that of configuration names.
    this.#webhooks = cache
      .range(cache.prefix)
      .flatMap(({ object }) => (object as ValidatingWebhookConfiguration).webhooks ?? []);
    return this.#webhooks;
  }

  #labelsOf(namespace: string): Readonly<Record<string, string>> | undefined {
    const cache = this.#options.watchCache.of(namespaceKind);
    return cache.get(cache.key('', namespace))?.object.metadata.labels;
  }

  async #review(
    { webhook, kind }: MatchedWebhook,
    attributes: AdmissionAttributes,
  ): Promise<{ readonly warnings: readonly string[]; readonly error?: Error }> {
    const { name, failurePolicy } = webhook;
    const labels = { name, operation: attributes.operation };
    const started = performance.now();
    const seconds = (): number => (performance.now() - started) / 1000;
    let verdict: Verdict;
    try {
      verdict = await this.#call(webhook, kind, attributes);
    } catch (error) {
      const isOpen = failurePolicy === 'Ignore';
      const refusedFor = isOpen ? undefined : 'calling_webhook_error';
      this.metrics.record(labels, { seconds: seconds(), code: 400, refusedFor });
      if (isOpen) this.metrics.failedOpen(name);
      this.#options.log.warn({ webhook: name, failurePolicy, err: error }, 'failed calling webhook');
      return isOpen ? { warnings: [] } : { warnings: [], error: callError(name, error) };
    }
    const { allowed, warnings } = verdict;
    const error = allowed ? undefined : denial(name, verdict);
    const refusedFor = allowed ? undefined : 'no_error';
    this.metrics.record(labels, { seconds: seconds(), code: error?.status.code ?? 200, refusedFor });
    return error === undefined ? { warnings } : { warnings, error };
  }

  async #call(webhook: ValidatingWebhook, kind: Kind, attributes: AdmissionAttributes): Promise<Verdict> {
    const { clientConfig, admissionReviewVersions, timeoutSeconds = 10 } = webhook;
    const uid = this.#options.uid();
    const version = (admissionReviewVersions ?? [])
      .map((wanted) => reviewVersions.find((known) => known === wanted))
      .find((known) => known !== undefined);
    if (version === undefined) {
      const why = 'webhook does not accept known AdmissionReview versions (v1, v1beta1)';
      throw new Error(`could not create admission objects: ${why}`);
    }
    const answer = await this.#caller
      .call({ clientConfig, body: JSON.stringify(reviewOf(attributes, { kind, version, uid })), timeoutSeconds })
      .catch((error: unknown) => rethrow('failed to call webhook', error));
    try {
      return readVerdict(answer, { uid, version });
    } catch (error) {
      return rethrow('received invalid webhook response', error);
    }
  }
}

function rethrow(doing: string, error: unknown): never {
  throw new Error(`${doing}: ${messageOf(error)}`, { cause: error });
}
