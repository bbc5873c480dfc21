import type {
  AnyWebhook,
  WebhookConfiguration,
} from '../../../api/kinds/admissionregistration/webhook-configuration.ts';
import type { ResourceCache } from '../../cache/resource-cache.ts';
import type { CompiledCondition } from '../match-conditions.ts';
import { compileConditions } from '../match-conditions.ts';

/** A webhook of a configuration, with its compiled match conditions. */
export interface ConfiguredWebhook {
  readonly configuration: string;
  readonly webhook: AnyWebhook;
  readonly conditions: readonly CompiledCondition[];
}

/** The webhooks of one kind of configurations, parsed once: the cache keeps bytes and would parse them for every write. */
export class ConfiguredWebhooks {
  readonly #cache: ResourceCache;
  #webhooks: readonly ConfiguredWebhook[] = [];
  #readAt = -1;

  constructor(cache: ResourceCache) {
    this.#cache = cache;
  }

  /** Whether there is no webhook at all: a cheap check for every write. */
  get isEmpty(): boolean {
    return this.#cache.size === 0;
  }

  /** The webhooks in the order of configuration names. Throws if a configuration is unreadable: it might deny the write. */
  get all(): readonly ConfiguredWebhook[] {
    const cache = this.#cache;
    cache.requireReadable(cache.prefix);
    if (this.#readAt === cache.lastChangeRevision) return this.#webhooks;
    this.#readAt = cache.lastChangeRevision;
    this.#webhooks = cache.range(cache.prefix).flatMap(({ object }) => {
      const { metadata, webhooks = [] } = object as WebhookConfiguration;
      return webhooks.map((webhook) => ({
        configuration: metadata.name ?? '',
        webhook,
        conditions: compileConditions(webhook.matchConditions ?? []),
      }));
    });
    return this.#webhooks;
  }
}
