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
import { addressOf } from './address.ts';
import type { Attempt } from './attempt.ts';
import { Caller } from './caller.ts';
import { callFailure, denial, uncalled } from './denial.ts';
import { matchedKind } from './matching.ts';
import { WebhookMetrics } from './metrics.ts';
import { readVerdict, reviewOf, reviewVersions } from './review.ts';
import type { Verdict } from './review.ts';

export interface WebhooksOptions {
  readonly watchCache: WatchCache;
  readonly log: Logger;
  readonly uid: () => string;
}

/** A webhook that is to be asked, and the kind in which it wants to see the object. */
interface Asked {
  readonly webhook: ValidatingWebhook;
  readonly kind: Kind;
}

/** Asks the webhooks of ValidatingWebhookConfigurations before a write; see docs/api.md. */
export class Webhooks implements Disposable {
  readonly metrics = new WebhookMetrics();
  readonly #options: WebhooksOptions;
  readonly #cache: ResourceCache;
  readonly #caller = new Caller();
  /** Held, since the cache keeps bytes and would parse them for every write. */
  #webhooks: readonly ValidatingWebhook[] = [];
  #readAt = -1;

  constructor(options: WebhooksOptions) {
    this.#options = options;
    this.#cache = options.watchCache.of(validatingWebhookConfigurationKind);
  }

  /** Whether nobody is to be asked about anything: what every write looks at first. */
  get isIdle(): boolean {
    return this.#cache.size === 0;
  }

  /** Asks all that have to do with an attempt at once. Throws what the client is told if one of them is against it. */
  async admit(attempt: Attempt, warnings: string[]): Promise<void> {
    // What decides who is asked is nobody's to refuse: a webhook that is broken must not keep itself.
    if (attempt.kind.group === validatingWebhookConfigurationKind.group) return;
    const asked = this.#current().flatMap((webhook): readonly Asked[] => {
      const kind = matchedKind(webhook, attempt, (namespace) => this.#labelsOf(namespace));
      return kind === undefined ? [] : [{ webhook, kind }];
    });
    const outcomes = await Promise.all(asked.map((each) => this.#ask(each, attempt)));
    warnings.push(...outcomes.flatMap(({ told }) => told));
    const refusal = outcomes.find(({ error }) => error !== undefined)?.error;
    if (refusal !== undefined) throw refusal;
  }

  [Symbol.dispose](): void {
    this.#caller[Symbol.dispose]();
  }

  #current(): readonly ValidatingWebhook[] {
    const cache = this.#cache;
    cache.requireReadable(cache.prefix); // a webhook that nobody can read might refuse the write
    if (this.#readAt === cache.lastChangeRevision) return this.#webhooks;
    this.#readAt = cache.lastChangeRevision;
    // In the order of the names of configurations, which is that of keys.
    this.#webhooks = cache
      .range(cache.prefix)
      .flatMap(({ object }) => (object as ValidatingWebhookConfiguration).webhooks ?? []);
    return this.#webhooks;
  }

  #labelsOf(namespace: string): Readonly<Record<string, string>> | undefined {
    const cache = this.#options.watchCache.of(namespaceKind);
    return cache.get(cache.key('', namespace))?.object.metadata.labels;
  }

  async #ask(
    { webhook, kind }: Asked,
    attempt: Attempt,
  ): Promise<{ readonly told: readonly string[]; readonly error?: Error }> {
    const { name, failurePolicy } = webhook;
    const question = { name, operation: attempt.operation };
    const started = performance.now();
    const seconds = (): number => (performance.now() - started) / 1000;
    let verdict: Verdict;
    try {
      verdict = await this.#call(webhook, kind, attempt);
    } catch (error) {
      const isOpen = failurePolicy === 'Ignore';
      const refusedFor = isOpen ? undefined : 'calling_webhook_error';
      this.metrics.asked(question, { seconds: seconds(), code: 400, refusedFor });
      if (isOpen) this.metrics.failedOpen(name);
      this.#options.log.warn({ webhook: name, isOpen }, callFailure(name, error));
      return isOpen ? { told: [] } : { told: [], error: uncalled(name, error) };
    }
    const { allowed, warnings: told } = verdict;
    const error = allowed ? undefined : denial(name, verdict);
    const refusedFor = allowed ? undefined : 'no_error';
    this.metrics.asked(question, { seconds: seconds(), code: error?.status.code ?? 200, refusedFor });
    return error === undefined ? { told } : { told, error };
  }

  async #call(webhook: ValidatingWebhook, kind: Kind, attempt: Attempt): Promise<Verdict> {
    const { clientConfig, admissionReviewVersions, timeoutSeconds = 10 } = webhook;
    const uid = this.#options.uid();
    const version = (admissionReviewVersions ?? [])
      .map((wanted) => reviewVersions.find((known) => known === wanted))
      .find((known) => known !== undefined);
    if (version === undefined) {
      const why = 'webhook does not accept known AdmissionReview versions (v1, v1beta1)';
      throw new Error(`could not create admission objects: ${why}`);
    }
    const { caBundle = '' } = clientConfig;
    const answer = await this.#caller
      .call({
        address: addressOf(clientConfig, this.#options.watchCache),
        ca: caBundle === '' ? undefined : Buffer.from(caBundle, 'base64').toString(),
        body: JSON.stringify(reviewOf(attempt, { kind, version, uid })),
        timeoutSeconds,
      })
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
