import type { Logger } from 'pino';

import type { Kind } from '../../api/kind.ts';
import { resourceQuotaKind } from '../../api/kinds/core/resourcequota/kind.ts';
import type { ResourceQuota } from '../../api/kinds/core/resourcequota/schema.ts';
import { printQuantity } from '../../api/quantity.ts';
import { setTimeout } from '../../machine/timers.ts';
import type { Store, Write } from '../../store/store.ts';
import type { WatchCache } from '../cache/watch-cache.ts';
import type { Item } from '../cache/item.ts';
import { serialise } from '../cache/layout.ts';
import type { ResourceCache } from '../cache/resource-cache.ts';
import { KeyedMutex } from '../limits/keyed-mutex.ts';
import { equalJson } from '../../api/schema/equal-json.ts';
import type { Resource } from '../resource.ts';
import { subjectOf } from '../resource.ts';
import type { Change } from './charge.ts';
import { charge, evaluatorOf } from './charge.ts';
import type { Amounts } from '../../api/quota.ts';
import { byKey } from '../../api/order.ts';
import { QuotaTracker } from './tracker.ts';

/** Changes of usage within this time share one status update. */
const windowMs = 50;
/** Backoff after a failed status update; each wait is twice the one before. */
const retryMs = { first: 1000, longest: 60_000 };

export interface QuotasOptions {
  readonly store: Store;
  readonly watchCache: WatchCache;
  readonly log: Logger;
  /** Whether writes over a limit are rejected; the status of quotas is updated in any case. */
  readonly enforce: boolean;
}

/** A write that quotas may count. */
export interface CountedWrite extends Change {
  readonly resource: Resource;
  readonly namespace: string;
  readonly dryRun: boolean;
}

interface TrackedQuota {
  readonly item: Item;
  readonly tracker: QuotaTracker;
}

interface Quota {
  readonly item: Item;
  /** Created on first use, and again when the spec changes. */
  readonly tracker: QuotaTracker | undefined;
}

/**
 * Enforces the quotas of all namespaces and updates their status.
 *
 * A counted write and the new status of the quota are one commit, which requires the revision of the quota that was read.
 * So of two servers that both see room for one more, one commits and the other retries. The usage is computed from the
 * caches and never read from the status: the caches are at least at the revision of the quota, and every counted write
 * raises that, so no committed write is missed. The writes of one server in a namespace run one at a time, since all but
 * one of several concurrent plans would conflict.
 */
export class Quotas implements AsyncDisposable {
  readonly #options: QuotasOptions;
  readonly #cache: ResourceCache;
  readonly #watch: Disposable;
  /** Namespace → key → quota, for namespaces that have one. */
  readonly #namespaces = new Map<string, Map<string, Quota>>();
  /** By namespace. */
  readonly #turns = new KeyedMutex();
  /** Namespaces whose quotas may have an outdated status. */
  #stale = new Set<string>();
  #timer: NodeJS.Timeout | undefined;
  #working: Promise<void> | undefined;
  /** The current backoff. */
  #waitMs = 0;
  #isRunning = false;

  constructor(options: QuotasOptions) {
    this.#options = options;
    const cache = options.watchCache.of(resourceQuotaKind);
    this.#cache = cache;
    this.#watch = cache.watchers.watch(({ key, item }) => this.#update(key, item), { end: () => this.#load() });
    this.#load();
  }

  /** Starts to update the status of quotas. */
  start(): void {
    this.#isRunning = true;
    if (this.#stale.size > 0) this.#schedule(0);
  }

  /** Resolves when nothing runs any more. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#isRunning = false;
    clearTimeout(this.#timer);
    this.#watch[Symbol.dispose]();
    for (const quotas of this.#namespaces.values())
      for (const { tracker } of quotas.values()) tracker?.[Symbol.dispose]();
    await this.#working;
  }

  /**
   * Commits a write together with the quotas that it changes: `commit` receives the writes to add to its own. Throws the
   * 403 of Kubernetes if the write exceeds a quota. If the commit fails at one of these keys, plan again.
   */
  async commit<T>(write: CountedWrite, commit: (writes: readonly Write[]) => Promise<T>): Promise<T> {
    if (!this.#concerns(write)) return commit([]);
    return this.#turns.run(write.namespace, async () => {
      const charged = await this.#whenCounted(write.namespace, (quotas) => this.#charge(write, quotas));
      if (write.dryRun || charged.length === 0) return commit([]);
      const result = await commit(charged);
      // The next write must count this one.
      await this.#options.watchCache.waitForRevision(this.#options.store.revision);
      return result;
    });
  }

  #concerns({ resource, namespace, old }: CountedWrite): boolean {
    const quotas = this.#options.enforce ? this.#namespaces.get(namespace) : undefined;
    if (quotas === undefined) return false;
    const evaluator = evaluatorOf(resource.cache.kind);
    if (evaluator === undefined || (old !== undefined && evaluator.checksUpdates !== true)) return false;
    return Array.from(quotas.values()).some(({ item }) => {
      const hard = Object.keys((item.object as ResourceQuota).spec.hard ?? {});
      return hard.some((name) => evaluator.counts(name));
    });
  }

  #charge({ resource, next, old }: CountedWrite, quotas: readonly TrackedQuota[]): readonly Write[] {
    const evaluator = evaluatorOf(resource.cache.kind);
    if (evaluator === undefined) return [];
    const subject = subjectOf(resource, next.metadata.name ?? '');
    return quotas.flatMap(({ item, tracker }) => {
      const used = charge(tracker, evaluator, { next, old }, subject);
      return used === undefined ? [] : [this.#statusWrite(item, used)];
    });
  }

  /** Counts the quotas that limit objects of a kind again, because it is served from now on, or no longer. */
  recount(kind: Kind): void {
    const evaluator = evaluatorOf(kind);
    if (evaluator === undefined) return;
    const counting = Array.from(this.#namespaces.values(), (quotas) =>
      Array.from(quotas).filter(([, { item }]) => {
        const hard = Object.keys((item.object as ResourceQuota).spec.hard ?? {});
        return hard.some((name) => evaluator.counts(name));
      }),
    ).flat();
    for (const [key, { item }] of counting) {
      this.#update(key, undefined);
      this.#update(key, item);
    }
  }

  /** Reloads all quotas, at the start and after a missed change. */
  #load(): void {
    for (const quotas of this.#namespaces.values()) for (const key of quotas.keys()) this.#update(key, undefined);
    for (const item of this.#cache.range(this.#cache.prefix)) this.#update(item.key, item);
  }

  /** A quota that cannot be decrypted is ignored: it cannot be enforced and must not be overwritten. */
  #update(key: string, given: Item | undefined): void {
    const item = given?.problem === undefined ? given : undefined;
    const namespace = key.slice(this.#cache.prefix.length, key.lastIndexOf('/'));
    const quotas = this.#namespaces.get(namespace) ?? new Map<string, Quota>();
    const before = quotas.get(key);
    if (item === undefined) {
      before?.tracker?.[Symbol.dispose]();
      quotas.delete(key);
    } else {
      const isSame = before !== undefined && equalJson(specOf(before.item), specOf(item));
      if (!isSame) before?.tracker?.[Symbol.dispose]();
      quotas.set(key, { item, tracker: isSame ? before.tracker : undefined });
    }
    if (quotas.size > 0) this.#namespaces.set(namespace, quotas);
    else this.#namespaces.delete(namespace);
    this.#markStale(namespace);
  }

  /** The quotas of a namespace by name, with their usage at the revision of the watchCache. */
  #tracked(namespace: string): readonly TrackedQuota[] {
    const quotas = this.#namespaces.get(namespace) ?? new Map<string, Quota>();
    return Array.from(quotas)
      .sort(byKey)
      .map(([key, { item, tracker: known }]) => {
        const { watchCache } = this.#options;
        if (known !== undefined) return { item, tracker: known };
        const tracker = new QuotaTracker(watchCache, item.object as ResourceQuota, {
          onChange: () => this.#markStale(namespace),
          onLost: () => {
            tracker[Symbol.dispose]();
            const quota = quotas.get(key);
            if (quota?.tracker === tracker) quotas.set(key, { ...quota, tracker: undefined });
            this.#markStale(namespace);
          },
        });
        quotas.set(key, { item, tracker });
        return { item, tracker };
      });
  }

  /** Calls `use` when everything in the namespace is counted. */
  async #whenCounted<T>(namespace: string, use: (quotas: readonly TrackedQuota[]) => T): Promise<T> {
    for (;;) {
      const quotas = this.#tracked(namespace);
      const uncounted = quotas.filter(({ tracker }) => !tracker.isCounted);
      if (uncounted.length === 0) return use(quotas);
      await Promise.all(uncounted.map(({ tracker }) => tracker.counted));
    }
  }

  #markStale(namespace: string): void {
    this.#stale.add(namespace);
    if (this.#isRunning) this.#schedule(windowMs);
  }

  #schedule(ms: number): void {
    this.#timer ??= setTimeout(() => {
      this.#working = this.#updateStale().then((isDone) => {
        this.#timer = undefined;
        this.#waitMs = isDone ? 0 : Math.min(Math.max(2 * this.#waitMs, retryMs.first), retryMs.longest);
        if (this.#stale.size > 0 && this.#isRunning) this.#schedule(Math.max(this.#waitMs, windowMs));
      });
    }, ms);
  }

  /** Updates the status of all stale quotas. Returns false if an update failed. */
  async #updateStale(): Promise<boolean> {
    const namespaces = this.#stale;
    this.#stale = new Set();
    let isDone = true;
    for (const namespace of namespaces) {
      if (!this.#isRunning) break;
      try {
        await this.#turns.run(namespace, () => this.#reconcile(namespace));
      } catch (error) {
        this.#options.log.warn({ err: error, namespace }, 'failed to update the status of quotas, retrying');
        this.#stale.add(namespace);
        isDone = false;
      }
    }
    return isDone;
  }

  async #reconcile(namespace: string): Promise<void> {
    const { store, watchCache } = this.#options;
    const writes = await this.#whenCounted(namespace, (quotas) =>
      quotas.flatMap(({ item, tracker }) => {
        const write = this.#statusWrite(item, tracker.used);
        return write.value === item.entry.value ? [] : [write];
      }),
    );
    for (const write of writes) {
      const commit = await store.commit([write]);
      await watchCache.waitForRevision(commit.revision);
      // After a conflict, the event of the other write marks the namespace as stale again.
    }
  }

  #statusWrite({ key, object, revision }: Item, used: Amounts): Write {
    const quota = object as ResourceQuota; // the cache of ResourceQuotas holds ResourceQuotas
    const { hard } = quota.spec;
    const amounts = Array.from(used).sort(byKey);
    const status = {
      ...(hard === undefined ? {} : { hard }),
      used: Object.fromEntries(amounts.map(([name, amount]) => [name, printQuantity(amount)])),
    };
    const next: ResourceQuota = { ...quota, status };
    return { key, value: serialise(this.#cache.layout, next), expect: revision };
  }
}

const specOf = ({ object }: Item): unknown => (object as ResourceQuota).spec;
