import type { Kind } from '../../../api/kind.ts';
import type { ReplicaSet } from '../../../api/kinds/apps/replicaset/kind.ts';
import { replicaSetKind } from '../../../api/kinds/apps/replicaset/kind.ts';
import type { Pod } from '../../../api/kinds/core/pod/schema.ts';
import { podKind } from '../../../api/kinds/core/pod/kind.ts';
import type { ReplicationController } from '../../../api/kinds/core/replicationcontroller/kind.ts';
import { replicationControllerKind } from '../../../api/kinds/core/replicationcontroller/kind.ts';
import type { ApiObject } from '../../../api/metadata.ts';
import { timestamp } from '../../../api/timestamp.ts';
import type { Clock } from '../../../client/clock.ts';
import { systemClock } from '../../../client/clock.ts';
import { logRetry, runController } from '../../../client/controller.ts';
import { Expectations } from '../../../client/expectations.ts';
import { onKeyChange } from '../../../client/handlers.ts';
import type { Informer } from '../../../client/informer.ts';
import type { Key } from '../../../client/key.ts';
import type { Lister } from '../../../client/object-cache.ts';
import type { Outcome } from '../../../client/queue.ts';
import { WorkQueue } from '../../../client/queue.ts';
import type { ControllerContext } from '../../context.ts';
import { writeClaim } from '../claim.ts';
import { onDependentChange } from '../dependents.ts';
import { controllerOf, orphansOf, planClaim, referenceTo } from '../owner.ts';
import { isActive } from '../pods.ts';
import { expecting, PodWriter } from '../pod-writer.ts';
import { coalesceMs, pendingMs } from '../pace.ts';
import { selectorOf } from '../selector.ts';
import { podFromTemplate } from '../template.ts';
import type { ReplicaOwner } from './plan.ts';
import { planReplicas, replicaStatus } from './plan.ts';

/** Runs the controller of ReplicaSets until the signal fires. */
export const runReplicaSets = (context: ControllerContext, signal: AbortSignal): Promise<void> =>
  new ReplicaController<ReplicaSet>(context, {
    kind: replicaSetKind,
    name: 'replicaset-controller',
    queue: 'replicaset',
    owners: context.workloads.replicaSets,
    selects: ({ spec }) => selectorOf(spec.selector),
    countsTerminating: true,
  }).run(signal);

/** Runs the controller of ReplicationControllers until the signal fires. */
export const runReplicationControllers = (context: ControllerContext, signal: AbortSignal): Promise<void> =>
  new ReplicaController<ReplicationController>(context, {
    kind: replicationControllerKind,
    name: 'replicationcontroller-controller',
    queue: 'replicationmanager',
    owners: context.workloads.replicationControllers,
    selects: ({ spec }) => selectorOf({ matchLabels: spec.selector ?? {} }),
    countsTerminating: false,
  }).run(signal);

/** What differs between ReplicaSets and ReplicationControllers. */
interface ReplicaKind<T extends ReplicaOwner> {
  readonly kind: Kind<T>;
  readonly name: string;
  readonly queue: string;
  readonly owners: Lister<T, 'namespace'> & Pick<Informer<T>, 'subscribe' | 'synced'>;
  readonly selects: (owner: T) => (object: ApiObject) => boolean;
  /** Whether the status has the number of Pods that are terminating. */
  readonly countsTerminating: boolean;
}

/** Reconciles the number of Pods and the status of each owner. */
class ReplicaController<T extends ReplicaOwner> {
  readonly #context: ControllerContext;
  readonly #of: ReplicaKind<T>;
  readonly #clock: Clock;
  readonly #queue: WorkQueue;
  readonly #writes = new Expectations();
  readonly #pods: PodWriter<T>;

  constructor(context: ControllerContext, of: ReplicaKind<T>) {
    const { client, log, options } = context;
    this.#context = context;
    this.#of = of;
    this.#clock = options.clock ?? systemClock;
    this.#pods = new PodWriter(of.kind, { client, recorder: context.recorder(of.name), writes: this.#writes });
    this.#queue = new WorkQueue({
      work: (key, signal) => this.#reconcile(key, signal),
      workers: 32,
      coalesceMs,
      onError: logRetry(log, of.name),
      observer: context.observer(of.queue),
    });
  }

  run(signal: AbortSignal): Promise<void> {
    const { pods } = this.#context.caches;
    const { owners } = this.#of;
    return runController({ queue: this.#queue, caches: [owners, pods], subscribe: () => this.#subscribe() }, signal);
  }

  #subscribe(): readonly (() => void)[] {
    const { kind, owners, selects } = this.#of;
    const enqueue = (key: Key): void => this.#queue.add(key);
    return [
      owners.subscribe(onKeyChange(enqueue)),
      onDependentChange<T, Pod>(this.#context.caches.pods, {
        kind,
        owners,
        adopts: (owner, pod) => selects(owner)(pod),
        writes: this.#writes,
        enqueue,
      }),
    ];
  }

  async #reconcile(key: Key, signal: AbortSignal): Promise<Outcome> {
    const owner = this.#of.owners.get(key);
    if (owner === undefined) return this.#writes.delete(key);
    // Changes of Pods that the cache lacks enqueue the key again.
    if (this.#writes.isPending(key)) return { requeueAfterMs: pendingMs };
    const now = this.#clock.now();
    const pods = await this.#claim(owner, signal);
    const { create, remove } = planReplicas({ owner, pods, related: () => this.#related(owner), now });
    const failure =
      create + remove.length === 0 ? undefined : await this.#write(key, owner, { create, remove, signal });
    const next = replicaStatus(
      { owner, pods, now },
      { failure, countsTerminating: this.#of.countsTerminating, timestamp: timestamp(now) },
    );
    if (next.status !== undefined) {
      await this.#context.client.updateStatus(
        this.#of.kind,
        { ...owner, status: next.status },
        { signal, metadataOnly: true },
      );
    }
    if (failure !== undefined) throw failure.error; // the queue retries
    return next.nextMs === undefined ? undefined : { requeueAfterMs: next.nextMs };
  }

  async #write(
    key: Key,
    owner: T,
    {
      create,
      remove,
      signal,
    }: { readonly create: number; readonly remove: readonly Pod[]; readonly signal: AbortSignal },
  ): ReturnType<PodWriter<T>['create']> {
    const { template } = owner.spec;
    const { namespace = '' } = owner.metadata;
    const made =
      template === undefined || create === 0
        ? undefined
        : podFromTemplate(template, { namespace, owner: referenceTo(this.#of.kind, owner) });
    return expecting(this.#writes, key, {
      run: () =>
        made === undefined
          ? this.#pods.remove(owner, remove, signal)
          : this.#pods.create(
              owner,
              Array.from({ length: create }, () => made),
              signal,
            ),
      retry: () => this.#queue.add(key),
    });
  }

  async #claim(owner: T, signal: AbortSignal): Promise<readonly Pod[]> {
    const { pods } = this.#context.caches;
    const { uid = '', namespace } = owner.metadata;
    const matches = this.#of.selects(owner);
    const orphans = pods.by('controller', orphansOf(namespace)).filter(isActive);
    const claim = planClaim(owner, [...pods.by('controller', uid), ...orphans], matches);
    return writeClaim(owner, claim, { client: this.#context.client, ownerKind: this.#of.kind, kind: podKind, signal });
  }

  /** Node → Pods of all ReplicaSets with the same controller, such as those of one Deployment. */
  #related(owner: T): ReadonlyMap<string, number> {
    const { caches, workloads } = this.#context;
    const controller = controllerOf(owner);
    const siblings: readonly ApiObject[] =
      controller === undefined ? [owner] : workloads.replicaSets.by('controller', controller.uid);
    const counts = new Map<string, number>();
    for (const { metadata } of siblings) {
      for (const { spec } of caches.pods.by('controller', metadata.uid ?? '').filter(isActive)) {
        counts.set(spec.nodeName ?? '', (counts.get(spec.nodeName ?? '') ?? 0) + 1);
      }
    }
    return counts;
  }
}
