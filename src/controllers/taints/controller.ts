import { podKind } from '../../api/kinds/core/pod/kind.ts';
import type { Node } from '../../api/kinds/core/node/schema.ts';
import type { Pod } from '../../api/kinds/core/pod/schema.ts';
import { getOrCompute } from '../../api/maps.ts';
import { timestamp } from '../../api/timestamp.ts';
import type { Clock } from '../../client/clock.ts';
import { systemClock } from '../../client/clock.ts';
import { logRetry, runController } from '../../client/controller.ts';
import type { EventRecorder } from '../../client/events.ts';
import { onAnyChange } from '../../client/handlers.ts';
import type { Key } from '../../client/key.ts';
import { keyOf } from '../../client/key.ts';
import type { Outcome } from '../../client/queue.ts';
import { WorkQueue } from '../../client/queue.ts';
import { hasStatusCode } from '../../client/transport.ts';
import type { ControllerContext } from '../context.ts';
import { forEachDespiteErrors } from '../despite-errors.ts';
import { evictingTaints, toleratedSeconds } from './plan.ts';

/** How often the Pods of a tainted node are read when they change. */
const coalesceMs = 1000;

/** Evicts Pods from tainted nodes until the signal fires. */
export const runTaintEviction = (context: ControllerContext, signal: AbortSignal): Promise<void> =>
  new TaintEvictionController(context).run(signal);

/** Reconciles nodes with taints of the effect NoExecute. It reads their Pods from the server, since few nodes have any. */
class TaintEvictionController {
  readonly #context: ControllerContext;
  readonly #clock: Clock;
  readonly #queue: WorkQueue;
  readonly #recorder: EventRecorder;
  /** tainted node → UID of a Pod → when its time began, in monotonic time */
  readonly #since = new Map<string, Map<string, number>>();

  constructor(context: ControllerContext) {
    this.#context = context;
    this.#clock = context.options.clock ?? systemClock;
    this.#recorder = context.recorder('taint-eviction-controller');
    this.#queue = new WorkQueue({
      work: (key, signal) => this.#reconcile(key, signal),
      onError: logRetry(context.log, 'taint-eviction-controller'),
      observer: context.observer('taint_eviction_controller'),
      coalesceMs,
      clock: this.#clock,
    });
  }

  run(signal: AbortSignal): Promise<void> {
    const { nodes, pods } = this.#context.caches;
    return runController({ queue: this.#queue, caches: [nodes, pods], subscribe: () => this.#subscribe() }, signal);
  }

  #subscribe(): readonly (() => void)[] {
    const { nodes, pods, nodesByName } = this.#context.caches;
    const isTainted = (node: Node | undefined): boolean => node !== undefined && evictingTaints(node).length > 0;
    return [
      nodes.subscribe(
        onAnyChange((node, old) => {
          if (isTainted(node) || isTainted(old)) this.#queue.add(keyOf(node));
        }),
      ),
      pods.subscribe(
        onAnyChange(({ spec: { nodeName = '' } }) => {
          if (isTainted(nodesByName.get(nodeName))) this.#queue.add(nodeName);
        }),
      ),
    ];
  }

  async #reconcile(name: Key, signal: AbortSignal): Promise<Outcome> {
    const node = this.#context.caches.nodes.get(name);
    const taints = node === undefined ? [] : evictingTaints(node);
    if (taints.length === 0) return void this.#since.delete(name);
    const options = { fieldSelector: `spec.nodeName=${name}`, signal };
    const { items } = await this.#context.client.list(podKind, options);
    const pods = items.filter(({ metadata }) => metadata.deletionTimestamp === undefined);
    const since = this.#beginAll(name, pods);
    let nextMs = Infinity;
    await forEachDespiteErrors(pods, async (pod) => {
      const startedAt = since.get(pod.metadata.uid ?? '') ?? 0;
      const leftMs = startedAt + toleratedSeconds(taints, pod.spec.tolerations) * 1000 - this.#clock.elapsed();
      if (leftMs <= 0) await this.#evict(pod, signal);
      else nextMs = Math.min(nextMs, leftMs);
    });
    return nextMs === Infinity ? undefined : { requeueAfterMs: nextMs };
  }

  /** Notes when the time of new Pods begins, and deletes that of Pods that are gone. */
  #beginAll(node: string, pods: readonly Pod[]): ReadonlyMap<string, number> {
    const since = getOrCompute(this.#since, node, () => new Map());
    const uids = new Set(pods.map(({ metadata }) => metadata.uid ?? ''));
    for (const uid of since.keys()) if (!uids.has(uid)) since.delete(uid);
    for (const uid of uids) if (!since.has(uid)) since.set(uid, this.#clock.elapsed());
    return since;
  }

  /** Deletes a Pod, with the reason in its status, which Jobs read. */
  async #evict(pod: Pod, signal: AbortSignal): Promise<void> {
    const { client } = this.#context;
    const { namespace, name = '', uid = '' } = pod.metadata;
    const condition = {
      type: 'DisruptionTarget',
      status: 'True',
      reason: 'DeletionByTaintManager',
      message: 'Taint manager: deleting due to NoExecute taint',
      lastTransitionTime: timestamp(this.#clock.now()),
    };
    const body = { metadata: { uid }, status: { conditions: [condition] } };
    this.#recorder.record(podKind, pod, {
      type: 'Normal',
      reason: 'TaintManagerEviction',
      message: `Marking for deletion Pod ${namespace}/${name}`,
    });
    try {
      await client.patch(podKind, { namespace, name }, { body, type: 'strategic', subresource: 'status', signal });
      await client.delete(podKind, { namespace, name }, { preconditions: { uid }, signal });
    } catch (error) {
      if (!hasStatusCode(error, 404) && !hasStatusCode(error, 409)) throw error; // deleted, or another Pod by now
    }
  }
}
