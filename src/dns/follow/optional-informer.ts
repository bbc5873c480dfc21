import type { Kind } from '../../api/kind.ts';
import type { ApiObject } from '../../api/metadata.ts';
import type { Client } from '../../client/client.ts';
import type { Clock } from '../../client/clock.ts';
import { backoffMs, sleep } from '../../client/clock.ts';
import type { Handler } from '../../client/informer.ts';
import { Informer } from '../../client/informer.ts';
import type { Key } from '../../client/key.ts';
import type { Lister } from '../../client/object-cache.ts';
import { isRefusal } from '../../client/transport.ts';
import { byNamespace } from './caches.ts';
import { trimObject } from './trim.ts';

export interface OptionalInformerOptions<T> {
  readonly handler: Handler<T>;
  readonly onError: (error: unknown) => void;
  readonly clock: Clock;
  /** How long to wait before looking again for a kind that is not served; a minute by default. */
  readonly retryMs?: number;
}

/**
 * An informer of a kind that a cluster need not have: what is not served, or not ours to read, is as good as empty, and is
 * looked for again from time to time.
 *
 *     look which version is served ─► none: settled, wait, look again
 *                                  └► one: follow it for good ─► complete, or refused: settled
 */
export class OptionalInformer<T extends ApiObject> implements Lister<T, 'namespace'> {
  readonly #client: Client;
  readonly #kinds: readonly Kind<T>[];
  readonly #options: OptionalInformerOptions<T>;
  readonly #settled = Promise.withResolvers<void>();
  #informer: Informer<T, 'namespace'> | undefined;
  #wasRefused = false;

  /** The versions of a kind, the one that is liked best first. */
  constructor(client: Client, kinds: readonly Kind<T>[], options: OptionalInformerOptions<T>) {
    this.#client = client;
    this.#kinds = kinds;
    this.#options = options;
  }

  /** Resolves when it is known what there is, if anything. */
  get settled(): Promise<void> {
    return this.#settled.promise;
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

  by(index: 'namespace', value: string): readonly T[] {
    return this.#informer?.by(index, value) ?? [];
  }

  /** Follows the kind as soon as it is served, until the signal fires. Never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, onError, retryMs = 60_000 } = this.#options;
    let failures = 0;
    while (!signal.aborted) {
      try {
        const kind = await this.#served(signal);
        if (kind !== undefined) {
          await this.#follow(kind, signal);
          return;
        }
        failures = 0;
        this.#settled.resolve();
        await sleep(clock, retryMs, signal);
      } catch (error) {
        // A server that cannot be asked says nothing of what it has.
        if (signal.aborted) return;
        onError(error);
        await sleep(clock, backoffMs({ baseMs: 800, maxMs: 30_000 }, ++failures, Math.random), signal);
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
      if (isRefusal(error, 404) || isRefusal(error, 403)) return false;
      throw error;
    }
  }

  async #follow(kind: Kind<T>, signal: AbortSignal): Promise<void> {
    const { handler, clock } = this.#options;
    const informer = new Informer(this.#client, kind, {
      indexes: byNamespace,
      trim: trimObject,
      clock,
      onError: this.#report,
    });
    this.#informer = informer;
    informer.subscribe(handler);
    const complete = informer.synced(signal).then(
      () => this.#settled.resolve(),
      () => {
        // The signal fired before it was complete: nobody waits any more.
      },
    );
    await Promise.all([informer.run(signal), complete]);
  }

  readonly #report = (error: unknown): void => {
    const isRefused = isRefusal(error, 403) || isRefusal(error, 404);
    // Said once: it stays so until somebody changes the cluster.
    if (!isRefused || !this.#wasRefused) this.#options.onError(error);
    this.#wasRefused = isRefused;
    if (isRefused) this.#settled.resolve();
  };
}

interface ResourceList {
  readonly resources?: readonly { readonly name: string }[];
}
