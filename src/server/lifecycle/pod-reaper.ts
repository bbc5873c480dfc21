import { isStatusError } from '../../api/errors.ts';
import { podKind } from '../../api/kinds/core/pod/kind.ts';
import type { Item } from '../cache/item.ts';
import type { ResourceCache } from '../cache/resource-cache.ts';
import type { Watcher } from '../cache/watchers.ts';
import type { ServerContext } from '../context.ts';
import { deleteObject } from '../verbs/delete-object.ts';
import { repeat } from './repeat.ts';

/** What an agent on the node has beyond a Pod's own grace to confirm that it has ended. */
const marginMs = 5000;
const intervalMs = 1000;

/**
 * Removes Pods whose time to terminate has passed. In Kubernetes the kubelet confirms the end of a Pod; here there may be
 * no agent on the node, and a Pod would stay, and hold its namespace, for ever.
 */
export class PodReaper implements Watcher {
  readonly scope: string;
  readonly exact = false;
  readonly #context: ServerContext;
  /** key → when to remove it, in milliseconds */
  readonly #due = new Map<string, number>();
  readonly #pods: ResourceCache;
  readonly #loop: AsyncDisposable;

  constructor(context: ServerContext) {
    this.#context = context;
    this.#pods = context.watchCache.of(podKind);
    this.scope = this.#pods.prefix;
    for (const item of this.#pods.range(this.scope)) this.#note(item);
    this.#pods.watchers.add(this);
    this.#loop = repeat(
      intervalMs,
      () => this.#reap(),
      (error) => context.log.error({ err: error }, 'bug: no reaping'),
    );
  }

  notify({ key, item }: { readonly key: string; readonly item: Item | undefined }): void {
    if (item === undefined) this.#due.delete(key);
    else this.#note(item);
  }

  progress(): void {
    // Nothing here goes by revisions.
  }

  /** Nothing runs any more when it resolves. */
  async close(): Promise<void> {
    this.#pods.watchers.remove(this);
    await this.#loop[Symbol.asyncDispose]();
  }

  #note(item: Item): void {
    if (!item.entry.value.includes('"deletionTimestamp"')) return; // spares parsing the Pods that live
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
      if (isStatusError(error) && (error.status.code === 404 || error.status.code === 409)) return; // it has gone
      this.#due.set(key, this.#context.clock() + marginMs);
      this.#context.log.warn({ err: error, pod: `${namespace}/${name}` }, 'terminated Pod not removed; trying again');
    }
  }
}
