import { nodeKind } from '../../../api/kinds/core/node/kind.ts';
import { podKind } from '../../../api/kinds/core/pod/kind.ts';
import type { Pod } from '../../../api/kinds/core/pod/schema.ts';
import { timestamp } from '../../../api/timestamp.ts';
import type { Clock } from '../../../client/clock.ts';
import { systemClock } from '../../../client/clock.ts';
import { logRetry, runController } from '../../../client/controller.ts';
import { nameOf } from '../../../client/key.ts';
import type { Outcome } from '../../../client/queue.ts';
import { WorkQueue } from '../../../client/queue.ts';
import { hasStatusCode } from '../../../client/transport.ts';
import type { ControllerContext } from '../../context.ts';
import { forEachDespiteErrors } from '../../despite-errors.ts';
import type { Garbage } from './plan.ts';
import { isAssigned, planGarbage } from './plan.ts';

const periodMs = 20_000;
/** How long a node must be missing: it could be created again. */
const quarantineMs = 40_000;
const defaultThreshold = 12_500;

/** Deletes Pods that nothing else deletes until the signal fires. */
export const runPodGarbageCollector = (context: ControllerContext, signal: AbortSignal): Promise<void> =>
  new PodGarbageCollector(context).run(signal);

class PodGarbageCollector {
  readonly #context: ControllerContext;
  readonly #clock: Clock;
  /** Missing node → since when, in monotonic time. */
  readonly #missing = new Map<string, number>();

  constructor(context: ControllerContext) {
    this.#context = context;
    this.#clock = context.options.clock ?? systemClock;
  }

  run(signal: AbortSignal): Promise<void> {
    const { caches, log } = this.#context;
    const queue = new WorkQueue({
      work: (_key, stop) => this.#collect(stop),
      onError: logRetry(log, 'pod-garbage-collector-controller'),
      observer: this.#context.observer('pod_garbage_collector'),
      clock: this.#clock,
    });
    const subscribe = (): readonly (() => void)[] => {
      queue.add('all Pods');
      return [];
    };
    return runController({ queue, caches: [caches.pods, caches.nodes], subscribe }, signal);
  }

  async #collect(signal: AbortSignal): Promise<Outcome> {
    const { caches, options } = this.#context;
    const pods = caches.pods.list();
    const lostNodes = await this.#lostNodes(pods, signal);
    const threshold = options.terminatedPodGcThreshold ?? defaultThreshold;
    const garbage = planGarbage({ pods, nodes: caches.nodes.list(), lostNodes, threshold });
    await forEachDespiteErrors(garbage, (each) => this.#delete(each, signal));
    return { requeueAfterMs: periodMs };
  }

  /** The nodes that have been missing for long enough, also by a read from the server. */
  async #lostNodes(pods: readonly Pod[], signal: AbortSignal): Promise<ReadonlySet<string>> {
    const { client, caches } = this.#context;
    const named = new Set(pods.filter(isAssigned).map(({ spec }) => spec.nodeName ?? ''));
    const missing = [...named].filter((name) => !caches.nodesByName.has(name));
    for (const name of this.#missing.keys()) if (!missing.includes(name)) this.#missing.delete(name);
    const lost = new Set<string>();
    for (const name of missing) {
      const since = this.#missing.get(name) ?? this.#clock.elapsed();
      this.#missing.set(name, since);
      if (this.#clock.elapsed() - since < quarantineMs) continue;
      if ((await client.find(nodeKind, { name }, { signal })) === undefined) lost.add(name);
    }
    return lost;
  }

  async #delete({ pod, lostNode }: Garbage, signal: AbortSignal): Promise<void> {
    const { client, log } = this.#context;
    const { uid = '', namespace, name } = pod.metadata;
    try {
      if (lostNode !== undefined) await this.#fail(pod, signal);
      await client.delete(podKind, nameOf(pod), { gracePeriodSeconds: 0, preconditions: { uid }, signal });
      log.info({ pod: `${namespace}/${name}`, node: pod.spec.nodeName }, 'deleted a Pod that nothing runs');
    } catch (error) {
      if (!hasStatusCode(error, 404) && !hasStatusCode(error, 409)) throw error; // deleted, or another Pod by now
    }
  }

  /** Marks the Pod as failed, with the reason, which Jobs read. */
  async #fail(pod: Pod, signal: AbortSignal): Promise<void> {
    const { phase } = pod.status;
    if (phase === 'Succeeded' || phase === 'Failed') return;
    const condition = {
      type: 'DisruptionTarget',
      status: 'True',
      reason: 'DeletionByPodGC',
      message: 'PodGC: node no longer exists',
      lastTransitionTime: timestamp(this.#clock.now()),
    };
    const body = { metadata: { uid: pod.metadata.uid }, status: { phase: 'Failed', conditions: [condition] } };
    const options = { body, type: 'strategic', subresource: 'status', signal } as const;
    await this.#context.client.patch(podKind, nameOf(pod), options);
  }
}
