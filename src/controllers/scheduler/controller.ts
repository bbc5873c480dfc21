import { messageOf } from '../../api/error-message.ts';
import { bindingKind } from '../../api/kinds/core/binding/kind.ts';
import { podKind } from '../../api/kinds/core/pod/kind.ts';
import type { Pod } from '../../api/kinds/core/pod/schema.ts';
import { timestamp } from '../../api/timestamp.ts';
import type { Clock } from '../../client/clock.ts';
import { systemClock } from '../../client/clock.ts';
import { logRetry, runController } from '../../client/controller.ts';
import type { EventRecorder } from '../../client/events.ts';
import type { Key } from '../../client/key.ts';
import { keyOf, nameOf } from '../../client/key.ts';
import type { Outcome } from '../../client/queue.ts';
import { WorkQueue } from '../../client/queue.ts';
import { hasStatusCode } from '../../client/transport.ts';
import type { ControllerContext } from '../context.ts';
import type { Preemption } from './preemption.ts';
import { preempt, priorityOf } from './preemption.ts';
import type { Decision } from './schedule.ts';
import { schedule } from './schedule.ts';
import { ClusterState } from './state.ts';

/** Runs the scheduler until the signal fires. */
export const runScheduler = (context: ControllerContext, signal: AbortSignal): Promise<void> =>
  new Scheduler(context).run(signal);

const schedulerName = 'default-scheduler';

/** A Pod that fits no node is tried again after a change of nodes or Pods, at most this often. */
const retryMs = { first: 1000, most: 10_000 };

/** Changes within this time cause one retry of the Pods that fit no node. */
const changesMs = 100;

/** Without any ready node a Pod may be one that a user marks as running by hand: it is not reported at once. */
const patienceMs = 2000;

/** How often an unchanged failure is reported. */
const repeatMs = 300_000;

interface Failure {
  attempts: number;
  message: string;
  /** When it was last reported, in monotonic time; undefined: not yet. */
  reportedAt: number | undefined;
  readonly since: number;
}

/** Binds Pods without a node to nodes. Decisions are made one after another, bindings are written concurrently. */
class Scheduler {
  readonly #context: ControllerContext;
  readonly #clock: Clock;
  readonly #queue: WorkQueue;
  readonly #recorder: EventRecorder;
  readonly #state = new ClusterState();
  /** Pods that fit no node. */
  readonly #failures = new Map<Key, Failure>();
  /** Pods with a binding that the cache does not contain yet: UID → Pod on its node. */
  readonly #assumed = new Map<string, Pod>();
  /** Pods whose victims are being deleted: UID → Pod on the node that it waits for. */
  readonly #nominated = new Map<string, Pod>();
  #cancelRetry: (() => void) | undefined;

  constructor(context: ControllerContext) {
    this.#context = context;
    this.#clock = context.options.clock ?? systemClock;
    this.#recorder = context.recorder(schedulerName);
    this.#queue = new WorkQueue({
      work: (key, signal) => this.#reconcile(key, signal),
      workers: 64,
      onError: logRetry(context.log, 'scheduler'),
      observer: context.observer('scheduler'),
    });
  }

  async run(signal: AbortSignal): Promise<void> {
    const { caches, workloads } = this.#context;
    const all = [caches.pods, caches.nodes, workloads.namespaces, workloads.budgets];
    try {
      await runController({ queue: this.#queue, caches: all, subscribe: () => this.#subscribe() }, signal);
    } finally {
      this.#cancelRetry?.();
    }
  }

  #subscribe(): readonly (() => void)[] {
    const { caches, workloads } = this.#context;
    return [
      workloads.namespaces.subscribe({
        added: ({ metadata }) => this.#state.namespaces.set(metadata.name ?? '', metadata.labels ?? {}),
        updated: ({ metadata }) => this.#state.namespaces.set(metadata.name ?? '', metadata.labels ?? {}),
        deleted: ({ metadata }) => this.#state.namespaces.delete(metadata.name ?? ''),
      }),
      caches.nodes.subscribe({
        added: (node) => this.#nodeChanged(() => this.#state.setNode(node)),
        updated: (node) => this.#nodeChanged(() => this.#state.setNode(node)),
        deleted: ({ metadata }) => this.#nodeChanged(() => this.#state.removeNode(metadata.name ?? '')),
      }),
      caches.pods.subscribe({
        added: (pod) => this.#podChanged(pod),
        updated: (pod) => this.#podChanged(pod),
        deleted: (pod) => this.#podGone(pod),
      }),
    ];
  }

  #nodeChanged(change: () => void): void {
    change();
    this.#retryFailures();
  }

  #podChanged(pod: Pod): void {
    if (isWaiting(pod)) {
      this.#nominate(pod, pod.status.nominatedNodeName);
      if (!this.#failures.has(keyOf(pod))) this.#queue.add(keyOf(pod));
      return;
    }
    const { uid = '' } = pod.metadata;
    this.#failures.delete(keyOf(pod));
    this.#nominated.delete(uid);
    if (this.#assumed.has(uid) && !pod.spec.nodeName) return; // the binding is on its way
    this.#assumed.delete(uid);
    this.#state.setPod(pod);
    this.#retryFailures(); // it may have finished, or attract others
  }

  #podGone(pod: Pod): void {
    const { uid = '' } = pod.metadata;
    this.#failures.delete(keyOf(pod));
    this.#nominated.delete(uid);
    this.#assumed.delete(uid);
    this.#state.removePod(uid);
    this.#retryFailures();
  }

  /** Tries the Pods again that fit no node, those that failed often later. */
  #retryFailures(): void {
    if (this.#failures.size === 0 || this.#cancelRetry !== undefined) return;
    this.#cancelRetry = this.#clock.after(changesMs, () => {
      this.#cancelRetry = undefined;
      for (const [key, { attempts }] of this.#failures) {
        const delayMs = Math.min(retryMs.most, retryMs.first * 2 ** Math.min(attempts - 1, 10));
        const isNominated = this.#nominated.has(this.#context.caches.pods.get(key)?.metadata.uid ?? '');
        this.#queue.addAfter(key, attempts <= 1 || isNominated ? 0 : delayMs);
      }
    });
  }

  async #reconcile(key: Key, signal: AbortSignal): Promise<Outcome> {
    const pod = this.#context.caches.pods.get(key);
    if (pod === undefined || !isWaiting(pod) || this.#assumed.has(pod.metadata.uid ?? '')) {
      this.#failures.delete(key);
      return;
    }
    const { decision, preemption } = this.#decide(pod);
    if ('message' in decision) {
      // Reserves the node before the first wait, since other Pods are decided meanwhile.
      this.#nominate(pod, preemption?.node);
      const outcome = await this.#fail(key, pod, decision.message, signal);
      if (preemption !== undefined) await this.#preempt(pod, preemption, signal);
      return outcome;
    }
    this.#failures.delete(key);
    const { uid = '' } = pod.metadata;
    // Occupies the node before the first wait, since other Pods are decided meanwhile.
    const placed = { ...pod, spec: { ...pod.spec, nodeName: decision.node } };
    this.#assumed.set(uid, placed);
    this.#nominated.delete(uid);
    this.#state.setPod(placed);
    try {
      await this.#bind(pod, decision.node, signal);
    } catch (error) {
      if (this.#assumed.delete(uid)) this.#state.removePod(uid);
      if (hasStatusCode(error, 404) || hasStatusCode(error, 409)) return; // deleted, or assigned: an event follows
      this.#record(pod, 'Warning', 'FailedScheduling', messageOf(error));
      throw error;
    }
    this.#record(pod, 'Normal', 'Scheduled', `Successfully assigned ${keyOf(pod)} to ${decision.node}`);
  }

  /** Decides about a Pod, while Pods of the same or a higher priority occupy the nodes that they wait for. */
  #decide(pod: Pod): { readonly decision: Decision; readonly preemption?: Preemption | undefined } {
    const { uid = '' } = pod.metadata;
    const others = Array.from(this.#nominated.values()).filter(
      (other) => other.metadata.uid !== uid && priorityOf(other) >= priorityOf(pod),
    );
    for (const other of others) this.#state.setPod(other);
    try {
      const decision = schedule(pod, this.#state);
      if ('node' in decision) return { decision };
      const waiting = this.#nominated.get(uid) ?? pod;
      return { decision, preemption: preempt(waiting, this.#state, this.#context.workloads.budgets.list()) };
    } finally {
      for (const { metadata } of others) this.#state.removePod(metadata.uid ?? '');
    }
  }

  #nominate(pod: Pod, node = ''): void {
    const { uid = '' } = pod.metadata;
    if (node === '' || this.#assumed.has(uid)) return;
    const { spec, status } = pod;
    this.#nominated.set(uid, {
      ...pod,
      spec: { ...spec, nodeName: node },
      status: { ...status, nominatedNodeName: node },
    });
  }

  /** Deletes the victims of a Pod. */
  async #preempt(pod: Pod, { node, victims }: Preemption, signal: AbortSignal): Promise<void> {
    const message = `${schedulerName}: preempting to accommodate a higher priority pod`;
    await this.#patchStatus(pod, { nominatedNodeName: node }, signal);
    for (const victim of victims) {
      if (victim.metadata.deletionTimestamp !== undefined) continue;
      const condition = {
        type: 'DisruptionTarget',
        status: 'True',
        reason: 'PreemptionByScheduler',
        message,
        lastTransitionTime: timestamp(this.#clock.now()),
      };
      await this.#patchStatus(victim, { conditions: [condition] }, signal);
      const { uid = '' } = victim.metadata;
      await this.#context.client.delete(podKind, nameOf(victim), { preconditions: { uid }, signal });
      this.#record(victim, 'Normal', 'Preempted', `Preempted by pod ${pod.metadata.uid} on node ${node}`);
    }
  }

  async #bind({ metadata }: Pod, node: string, signal: AbortSignal): Promise<void> {
    const { name = '', namespace = '', uid = '' } = metadata;
    // The path is that of the Pod.
    const path = { ...bindingKind, plural: podKind.plural };
    const binding = { metadata: { name, namespace, uid }, target: { kind: 'Node', name: node } };
    await this.#context.client.create(path, binding, { subresource: 'binding', signal });
  }

  /** Reports that a Pod fits no node, if that is new. */
  async #fail(key: Key, pod: Pod, message: string, signal: AbortSignal): Promise<Outcome> {
    const now = this.#clock.elapsed();
    const failure = this.#failures.get(key) ?? { attempts: 0, message: '', reportedAt: undefined, since: now };
    this.#failures.set(key, failure);
    failure.attempts++;
    const isPatient = !this.#state.nodes().some(({ isReady }) => isReady) && now - failure.since < patienceMs;
    if (isPatient) return { requeueAfterMs: patienceMs };
    const isNew = failure.message !== message || failure.reportedAt === undefined;
    if (!isNew && now - (failure.reportedAt ?? 0) < repeatMs) return { requeueAfterMs: repeatMs };
    failure.message = message;
    failure.reportedAt = now;
    this.#record(pod, 'Warning', 'FailedScheduling', message);
    if (isNew) await this.#mark(pod, message, signal);
    return { requeueAfterMs: repeatMs };
  }

  async #mark(pod: Pod, message: string, signal: AbortSignal): Promise<void> {
    const old = pod.status.conditions?.find(({ type }) => type === 'PodScheduled');
    if (old?.status === 'False' && old.message === message) return;
    const since = old?.status === 'False' ? old.lastTransitionTime : timestamp(this.#clock.now());
    const { generation } = pod.metadata;
    const condition = {
      type: 'PodScheduled',
      ...(generation === undefined ? {} : { observedGeneration: generation }),
      status: 'False',
      reason: 'Unschedulable',
      message,
      lastTransitionTime: since,
    };
    await this.#patchStatus(pod, { conditions: [condition] }, signal);
  }

  async #patchStatus(pod: Pod, status: object, signal: AbortSignal): Promise<void> {
    const body = { metadata: { uid: pod.metadata.uid }, status };
    const options = { body, type: 'strategic', subresource: 'status', signal } as const;
    try {
      await this.#context.client.patch(podKind, nameOf(pod), options);
    } catch (error) {
      if (!hasStatusCode(error, 404) && !hasStatusCode(error, 409)) throw error; // deleted, or another Pod by now
    }
  }

  #record(pod: Pod, type: 'Normal' | 'Warning', reason: string, message: string): void {
    this.#recorder.record(podKind, pod, { type, reason, message });
  }
}

/** Whether the scheduler has to find a node: not for Pods that a user runs by hand, or that other schedulers place. */
function isWaiting({ metadata, spec, status }: Pod): boolean {
  return (
    !spec.nodeName &&
    metadata.deletionTimestamp === undefined &&
    (status.phase ?? 'Pending') === 'Pending' &&
    (spec.schedulerName ?? schedulerName) === schedulerName &&
    (spec.schedulingGates ?? []).length === 0
  );
}
