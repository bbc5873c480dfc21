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
  'indexes' | 'trim' | 'clock'
> {
  /** Told of whatever went wrong; that a kind is not served is nothing wrong. */
  readonly onError?: (error: unknown) => void;
  /** How long to wait before looking again for a kind that is not served; a minute by default. */
  readonly retryMs?: number;
}

/**
 * An informer of a kind that a cluster need not have, in the first of several versions that it has. What is not served,
 * or not ours to read, is as good as empty, and is looked for again from time to time.
 *
 *     look which version is served ─► none: settled, nothing is there; wait, look again
 *              ▲                   └► one: follow it ─► complete, or refused: settled
 *              └──────────── not found any more ◄─┘
 */
export class OptionalInformer<T extends ApiObject, Index extends string = never> implements Lister<T, Index> {
  readonly #client: Client;
  readonly #kinds: readonly Kind<T>[];
  readonly #options: OptionalInformerOptions<T, Index>;
  readonly #handlers = new Set<Handler<T>>();
  readonly #settled = Promise.withResolvers<void>();
  /** The one that is complete. While its kind is looked for in another version, what it knows still counts. */
  #informer: Informer<T, Index> | undefined;
  #wasRefused = false;

  /** `kinds`: the versions of a kind, the one that is liked best first. */
  constructor(client: Client, kinds: readonly Kind<T>[], options: OptionalInformerOptions<T, Index> = {}) {
    this.#client = client;
    this.#kinds = kinds;
    this.#options = options;
  }

  /** Resolves when it is known what there is, if anything; rejects when the signal fires before. */
  async settled(signal?: AbortSignal): Promise<void> {
    await unlessAborted(this.#settled.promise, signal);
  }

  /** As of an informer; undefined while nothing is followed, which is nothing to wait for. */
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

  /** As of an informer. An object that is found in another version of its kind is told as added once more. */
  subscribe(handler: Handler<T>): void {
    this.#handlers.add(handler);
    this.#informer?.subscribe(handler);
  }

  /** Follows the kind as soon as it is served, until the signal fires. Never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock = systemClock, retryMs = 60_000 } = this.#options;
    let failures = 0;
    while (!signal.aborted) {
      try {
        const kind = await this.#served(signal);
        if (kind !== undefined) {
          // One that is said to be served and is not found may be on its way.
          failures = (await this.#follow(kind, signal)) ? 0 : failures + 1;
          await sleep(clock, backoffMs(backoff, Math.max(1, failures), Math.random), signal);
          continue;
        }
        failures = 0;
        this.#use(undefined);
        await sleep(clock, retryMs, signal);
      } catch (error) {
        // A server that cannot be asked says nothing of what it has.
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
      // A cast where bytes become an object: what a server says of one group in one version.
      const document = (await this.#client.read(`/apis/${group}/${version}`, { signal })) as ResourceList;
      return document.resources?.some(({ name }) => name === plural) ?? false;
    } catch (error) {
      if (hasStatusCode(error, 404) || hasStatusCode(error, 403)) return false;
      throw error;
    }
  }

  /** Follows a version of the kind until the signal fires or it is not found; returns whether it was. */
  async #follow(kind: Kind<T>, signal: AbortSignal): Promise<boolean> {
    const gone = new AbortController();
    const scope = AbortSignal.any([signal, gone.signal]);
    const informer = new Informer<T, Index>(this.#client, kind, {
      ...this.#options,
      onError: (error) => {
        this.#reportRefusalOnce(error);
        if (hasStatusCode(error, 404)) gone.abort();
      },
    });
    const complete = informer.synced(scope).then(
      () => this.#use(informer),
      () => {
        // It ended before it was complete: nobody waits for it any more.
      },
    );
    await Promise.all([informer.run(scope), complete]);
    return informer.hasSynced;
  }

  /** From now on this one says what there is. */
  #use(informer: Informer<T, Index> | undefined): void {
    const before = this.#informer?.list() ?? [];
    this.#informer = informer;
    for (const handler of this.#handlers) {
      informer?.subscribe(handler);
      for (const object of before) if (this.get(keyOf(object)) === undefined) this.#tellDeleted(handler, object);
    }
    this.#settled.resolve();
  }

  #tellDeleted(handler: Handler<T>, object: T): void {
    try {
      handler.deleted?.(object);
    } catch (error) {
      this.#report(error);
    }
  }

  /** A refusal is said once: it stays so until somebody changes the cluster. */
  #reportRefusalOnce(error: unknown): void {
    const isRefused = hasStatusCode(error, 403) || hasStatusCode(error, 404);
    if (!isRefused || !this.#wasRefused) this.#report(error);
    this.#wasRefused = isRefused;
    if (isRefused) this.#settled.resolve();
  }

  #report(error: unknown): void {
    this.#options.onError?.(error);
  }
}

const backoff = { baseMs: 800, maxMs: 30_000 };

interface ResourceList {
  readonly resources?: readonly { readonly name: string }[];
}
