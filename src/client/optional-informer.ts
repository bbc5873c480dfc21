import type { Kind } from '../api/kind.ts';
import type { ApiObject } from '../api/metadata.ts';
import type { Client } from './client.ts';
import { backoffMs, sleep, systemClock } from './clock.ts';
import type { Handler, InformerOptions } from './informer.ts';
import { Informer } from './informer.ts';
import type { Key } from './key.ts';
import { keyOf } from './key.ts';
import type { Lister } from './object-cache.ts';
import { hasStatusCode } from './transport.ts';
import { unlessAborted } from './unless-aborted.ts';

export interface OptionalInformerOptions<T extends ApiObject, Index extends string = never> extends Pick<
  InformerOptions<T, Index>,
  'indexes' | 'trim' | 'clock' | 'budget' | 'onExcess'
> {
  /** Called for every error. A kind that is not served is no error. */
  readonly onError?: (error: unknown) => void;
  /** The interval of discovery while the kind is not served; default one minute. */
  readonly retryMs?: number;
}

/**
 * An informer of a kind that a cluster may lack, such as a CRD. It follows the first of several versions that the server
 * serves. While no version is served or access is forbidden, the cache is empty and discovery is retried.
 *
 *     discover the served version ─► none: settled with an empty cache; wait, discover again
 *              ▲                  └► one: follow it ─► synced or forbidden: settled
 *              └──────────── 404 Not Found ◄─┘
 */
export class OptionalInformer<T extends ApiObject, Index extends string = never> implements Lister<T, Index> {
  readonly #client: Client;
  readonly #kinds: readonly Kind<T>[];
  readonly #options: OptionalInformerOptions<T, Index>;
  readonly #handlers = new Set<Handler<T>>();
  readonly #settled = Promise.withResolvers<void>();
  /** The last synced informer. Its objects stay valid while another version is being synced. */
  #informer: Informer<T, Index> | undefined;
  #wasRejected = false;

  /** `kinds`: the versions of a kind in order of preference. */
  constructor(client: Client, kinds: readonly Kind<T>[], options: OptionalInformerOptions<T, Index> = {}) {
    this.#client = client;
    this.#kinds = kinds;
    this.#options = options;
  }

  /** Resolves when the cache is synced or the kind is known to be unavailable; rejects if the signal fires first. */
  async settled(signal?: AbortSignal): Promise<void> {
    await unlessAborted(this.#settled.promise, signal);
  }

  /** Whether the server serves the kind and its objects have been read. Without that, an empty list is no knowledge. */
  get isServed(): boolean {
    return this.#informer !== undefined;
  }

  /** See Informer; undefined while the kind is not served. */
  get silentMs(): number | undefined {
    return this.#informer?.silentMs;
  }

  get(key: Key): T | undefined {
    return this.#informer?.get(key);
  }

  list(): readonly T[] {
    return this.#informer?.list() ?? [];
  }

  by(index: Index, value: string): readonly T[] {
    return this.#informer?.by(index, value) ?? [];
  }

  /** See Informer. After a change of version all objects are delivered as added again. */
  subscribe(handler: Handler<T>): void {
    this.#handlers.add(handler);
    this.#informer?.subscribe(handler);
  }

  /** Follows the kind while it is served, until the signal fires. Never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock = systemClock, retryMs = 60_000 } = this.#options;
    let failures = 0;
    while (!signal.aborted) {
      try {
        const kind = await this.#served(signal);
        if (kind !== undefined) {
          // A kind that discovery lists but that returns 404 is not served yet.
          failures = (await this.#follow(kind, signal)) ? 0 : failures + 1;
          await sleep(clock, backoffMs(backoff, Math.max(1, failures), Math.random), signal);
          continue;
        }
        failures = 0;
        this.#use(undefined);
        await sleep(clock, retryMs, signal);
      } catch (error) {
        // A failed discovery request does not mean that the kind is gone.
        if (signal.aborted) return;
        this.#report(error);
        await sleep(clock, backoffMs(backoff, ++failures, Math.random), signal);
      }
    }
  }

  async #served(signal: AbortSignal): Promise<Kind<T> | undefined> {
    for (const kind of this.#kinds) if (await this.#isServed(kind, signal)) return kind;
    return undefined;
  }

  async #isServed({ group, version, plural }: Kind<T>, signal: AbortSignal): Promise<boolean> {
    try {
      // A cast where bytes become an object.
      const document = (await this.#client.read(`/apis/${group}/${version}`, { signal })) as ResourceList;
      return document.resources?.some(({ name }) => name === plural) ?? false;
    } catch (error) {
      if (hasStatusCode(error, 404) || hasStatusCode(error, 403)) return false;
      throw error;
    }
  }

  /** Follows a version of the kind until the signal fires or the server returns 404; returns whether it synced. */
  async #follow(kind: Kind<T>, signal: AbortSignal): Promise<boolean> {
    const gone = new AbortController();
    const scope = AbortSignal.any([signal, gone.signal]);
    const informer = new Informer<T, Index>(this.#client, kind, {
      ...this.#options,
      onError: (error) => {
        this.#reportRejectionOnce(error);
        if (hasStatusCode(error, 404)) gone.abort();
      },
    });
    const complete = informer.synced(scope).then(
      () => this.#use(informer),
      () => {
        // The scope ended before the first sync.
      },
    );
    await Promise.all([informer.run(scope), complete]);
    return informer.hasSynced;
  }

  /** Switches to another informer, or to an empty cache. */
  #use(informer: Informer<T, Index> | undefined): void {
    const before = this.#informer?.list() ?? [];
    this.#informer = informer;
    for (const handler of this.#handlers) {
      informer?.subscribe(handler);
      for (const object of before) if (this.get(keyOf(object)) === undefined) this.#notifyDeleted(handler, object);
    }
    this.#settled.resolve();
  }

  #notifyDeleted(handler: Handler<T>, object: T): void {
    try {
      handler.deleted?.(object);
    } catch (error) {
      this.#report(error);
    }
  }

  /** Reports 403 and 404 once: they persist until the cluster changes. */
  #reportRejectionOnce(error: unknown): void {
    const isRejected = hasStatusCode(error, 403) || hasStatusCode(error, 404);
    if (!isRejected || !this.#wasRejected) this.#report(error);
    this.#wasRejected = isRejected;
    if (isRejected) this.#settled.resolve();
  }

  #report(error: unknown): void {
    this.#options.onError?.(error);
  }
}

const backoff = { baseMs: 800, maxMs: 30_000 };

interface ResourceList {
  readonly resources?: readonly { readonly name: string }[];
}
