import type { Kind } from '../../api/kind.ts';
import { podKind } from '../../api/kinds/core/pod/kind.ts';
import type { Pod } from '../../api/kinds/core/pod/schema.ts';
import type { ApiObject } from '../../api/metadata.ts';
import { systemClock } from '../../client/clock.ts';
import type { Syncable } from '../../client/controller.ts';
import { logRetry, runController } from '../../client/controller.ts';
import { Expectations } from '../../client/expectations.ts';
import { onKeyChange } from '../../client/handlers.ts';
import type { Informer } from '../../client/informer.ts';
import type { Key } from '../../client/key.ts';
import type { Lister } from '../../client/object-cache.ts';
import type { Outcome } from '../../client/queue.ts';
import { WorkQueue } from '../../client/queue.ts';
import type { ControllerContext } from '../context.ts';
import { writeClaim } from './claim.ts';
import { onDependentChange } from './dependents.ts';
import { orphansOf, planClaim } from './owner.ts';
import { coalesceMs, pendingMs } from './pace.ts';
import type { PodTexts } from './pod-writer.ts';
import { PodWriter } from './pod-writer.ts';

/** The cache of a kind that owns Pods. */
export type OwnerCache<T extends ApiObject> = Lister<T, 'namespace'> & Pick<Informer<T>, 'subscribe' | 'synced'>;

/** A kind of workload whose controller creates and deletes Pods. */
export interface PodOwner<T extends ApiObject> {
  readonly kind: Kind<T>;
  /** The name of the controller in logs and Events. */
  readonly name: string;
  /** The name of the queue in metrics. */
  readonly queue: string;
  readonly owners: OwnerCache<T>;
  /** Returns which Pods an owner selects. */
  readonly selects: (owner: T) => (pod: Pod) => boolean;
  /** The messages of Events about its Pods; default: those of most kinds. */
  readonly texts?: PodTexts;
  /** Further caches that it reads. */
  readonly caches?: readonly Syncable[];
  /** Subscribes to further caches. */
  readonly subscribe?: (enqueue: (key: Key) => void) => readonly (() => void)[];
  /** Called when an owner is gone. */
  readonly forget?: (key: Key) => void;
  readonly reconcile: (sync: PodSync<T>) => Promise<Outcome>;
}

/** One reconcile of an owner. */
export interface PodSync<T extends ApiObject> {
  readonly owner: T;
  /** Its Pods, also those that have finished. */
  readonly pods: readonly Pod[];
  readonly now: number;
  readonly signal: AbortSignal;
  readonly writer: PodWriter<T>;
  /** Runs writes of Pods, and of other objects that the owner's events report. */
  readonly expecting: <R>(run: () => Promise<R>) => Promise<R>;
}

/** Runs the controller of a kind that owns Pods until the signal fires. */
export function runPodOwner<T extends ApiObject>(
  context: ControllerContext,
  of: PodOwner<T>,
  signal: AbortSignal,
): Promise<void> {
  const { client, log, options, caches } = context;
  const writes = new Expectations();
  const writer = new PodWriter(of.kind, { client, recorder: context.recorder(of.name), writes, texts: of.texts });
  const clock = options.clock ?? systemClock;
  const queue = new WorkQueue({
    work: reconcile,
    workers: 32,
    coalesceMs,
    onError: logRetry(log, of.name),
    observer: context.observer(of.queue),
  });
  const enqueue = (key: Key): void => queue.add(key);

  async function reconcile(key: Key, stop: AbortSignal): Promise<Outcome> {
    const owner = of.owners.get(key);
    if (owner === undefined) {
      writes.delete(key);
      of.forget?.(key);
      return;
    }
    // Changes of Pods that the cache lacks enqueue the key again.
    if (writes.isPending(key)) return { requeueAfterMs: pendingMs };
    const pods = await claimPods(context, of, owner, stop);
    const retry = (): void => queue.add(key);
    return of.reconcile({
      owner,
      pods,
      now: clock.now(),
      signal: stop,
      writer,
      expecting: (run) => expecting(writes, key, { run, retry }),
    });
  }

  const subscribe = (): readonly (() => void)[] => [
    of.owners.subscribe(onKeyChange(enqueue)),
    onDependentChange<T, Pod>(caches.pods, {
      kind: of.kind,
      owners: of.owners,
      adopts: (owner, pod) => of.selects(owner)(pod),
      writes,
      enqueue,
    }),
    ...(of.subscribe?.(enqueue) ?? []),
  ];
  return runController({ queue, caches: [of.owners, caches.pods, ...(of.caches ?? [])], subscribe }, signal);
}

async function claimPods<T extends ApiObject>(
  { client, caches: { pods } }: ControllerContext,
  { kind, selects }: PodOwner<T>,
  owner: T,
  signal: AbortSignal,
): Promise<readonly Pod[]> {
  const { uid = '', namespace } = owner.metadata;
  const orphans = pods
    .by('controller', orphansOf(namespace))
    .filter(({ status: { phase } }) => phase !== 'Succeeded' && phase !== 'Failed');
  const claim = planClaim(owner, [...pods.by('controller', uid), ...orphans], selects(owner));
  return writeClaim(owner, claim, { client, ownerKind: kind, kind: podKind, signal });
}

/** Runs the writes of an owner, and calls `retry` if foreign events arrived meanwhile. */
export async function expecting<R>(
  writes: Expectations,
  key: Key,
  { run, retry }: { readonly run: () => Promise<R>; readonly retry: () => void },
): Promise<R> {
  writes.begin(key);
  try {
    return await run();
  } finally {
    if (writes.end(key)) retry();
  }
}
