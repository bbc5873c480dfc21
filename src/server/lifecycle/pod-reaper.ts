import { isStatusError } from '../../api/errors.ts';
import { podKind } from '../../api/kinds/core/pod/kind.ts';
import type { Item } from '../cache/item.ts';
import type { ResourceCache } from '../cache/resource-cache.ts';
import type { ServerContext } from '../context.ts';
import { deleteObject } from '../verbs/delete-object.ts';
import { repeat } from './repeat.ts';

/** The time that the agent has after the grace period to confirm that the Pod has ended. */
const marginMs = 5000;
const intervalMs = 1000;

/**
 * Deletes Pods whose grace period has passed. In Kubernetes the kubelet confirms the end of a Pod; here the node may have
 * no agent, and the Pod would keep its namespace for ever.
 */
export class PodReaper {
  readonly #context: ServerContext;
  /** key → when to delete the Pod, in milliseconds */
  readonly #due = new Map<string, number>();
  readonly #pods: ResourceCache;
  readonly #watch: Disposable;
  readonly #loop: AsyncDisposable;

  constructor(context: ServerContext) {
    this.#context = context;
    this.#pods = context.watchCache.of(podKind);
    for (const item of this.#pods.range(this.#pods.prefix)) this.#schedule(item);
    this.#watch = this.#pods.watchers.watch(({ key, item }) => {
      if (item === undefined) this.#due.delete(key);
      else this.#schedule(item);
    });
    this.#loop = repeat(
      intervalMs,
      () => this.#reap(),
      (error) => context.log.error({ err: error }, 'bug: failed to delete terminated Pods'),
    );
  }

  /** Resolves when nothing runs any more. */
  async close(): Promise<void> {
    this.#watch[Symbol.dispose]();
    await this.#loop[Symbol.asyncDispose]();
  }

  #schedule(item: Item): void {
    if (!item.entry.value.includes('"deletionTimestamp"')) return; // avoids parsing running Pods
    const { deletionTimestamp } = item.object.metadata;
    if (deletionTimestamp !== undefined) this.#due.set(item.key, Date.parse(deletionTimestamp) + marginMs);
  }

  async #reap(): Promise<void> {
    const now = this.#context.clock();
    for (const [key, time] of this.#due) if (time <= now) await this.#remove(key);
  }

  async #remove(key: string): Promise<void> {
    const cache = this.#context.watchCache.of(podKind);
    const metadata = cache.get(key)?.object.metadata;
    this.#due.delete(key);
    if (metadata?.deletionTimestamp === undefined) return;
    const { namespace = '', name = '', uid } = metadata;
    const options = { gracePeriodSeconds: 0, ...(uid === undefined ? {} : { preconditions: { uid } }) };
    try {
      await deleteObject(this.#context, { kind: podKind, cache }, { namespace, name }, options);
    } catch (error) {
      if (isStatusError(error) && (error.status.code === 404 || error.status.code === 409)) return; // deleted or replaced
      this.#due.set(key, this.#context.clock() + marginMs);
      this.#context.log.warn(
        { err: error, pod: `${namespace}/${name}` },
        'failed to delete a terminated Pod, retrying',
      );
    }
  }
}
