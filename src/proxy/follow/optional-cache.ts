import type { Kind } from '../../api/kind.ts';
import type { ApiObject } from '../../api/metadata.ts';
import type { Client } from '../../client/client.ts';
import type { Handler } from '../../client/informer.ts';
import { Informer } from '../../client/informer.ts';
import type { Key } from '../../client/key.ts';
import { isRefusal } from '../../client/transport.ts';

/**
 * Objects of a kind that a cluster need not have, in the first of several versions that it has. What is not served, or
 * not ours to read, is as good as empty; the informers go on asking, ever more rarely.
 */
export class OptionalCache<T extends ApiObject> {
  readonly #informers: readonly Informer<T>[];
  /** How many of the informers were refused; the next version is followed only then. */
  readonly #refused: readonly PromiseWithResolvers<void>[];
  readonly #onError: (error: unknown) => void;

  constructor(client: Client, kinds: readonly Kind<T>[], onError: (error: unknown) => void) {
    this.#onError = onError;
    this.#refused = kinds.map(() => Promise.withResolvers<void>());
    this.#informers = kinds.map(
      (kind, index) => new Informer<T>(client, kind, { onError: (error) => this.#report(error, index) }),
    );
  }

  get(key: Key): T | undefined {
    for (const informer of this.#informers) {
      const object = informer.get(key);
      if (object !== undefined) return object;
    }
    return undefined;
  }

  list(): readonly T[] {
    return this.#informers.find((informer) => informer.hasSynced)?.list() ?? [];
  }

  subscribe(handler: Handler<T>): void {
    for (const informer of this.#informers) informer.subscribe(handler);
  }

  /** Follows until the signal fires. Never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    const stopped = new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
    const follow = async (index: number): Promise<void> => {
      const [informer, refused] = [this.#informers[index], this.#refused[index]];
      if (informer === undefined || refused === undefined || signal.aborted) return;
      const next = Promise.race([refused.promise, stopped]).then(() => follow(index + 1));
      await Promise.all([informer.run(signal), next]);
    };
    await follow(0);
  }

  /** Resolves when it is known what there is: a version is complete, or all were refused. Rejects on the signal. */
  async settled(signal: AbortSignal): Promise<void> {
    const complete = this.#informers.map((informer) => informer.synced(signal));
    const allRefused = Promise.all(this.#refused.map(({ promise }) => promise));
    await Promise.race([...complete, allRefused]);
  }

  #report(error: unknown, index: number): void {
    if (!isRefusal(error, 404) && !isRefusal(error, 403)) return this.#onError(error);
    this.#refused[index]?.resolve();
  }
}
