import { nodeKind } from '../../api/kinds/core/node/kind.ts';
import { regionLabel, zoneLabel } from '../../api/kinds/core/node/labels.ts';
import type { Node } from '../../api/kinds/core/node/schema.ts';
import { podKind } from '../../api/kinds/core/pod/kind.ts';
import type { Pod } from '../../api/kinds/core/pod/schema.ts';
import { leaseKind } from '../../api/kinds/coordination/lease/kind.ts';
import type { Lease } from '../../api/kinds/coordination/lease/kind.ts';
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
import { nodeLeaseNamespace } from '../caches.ts';
import { forEachDespiteErrors } from '../despite-errors.ts';
import type { ControllerContext } from '../context.ts';
import { evictionRate, isOutage } from './disruption.ts';
import { NodeHealth } from './health.ts';
import type { Eviction, NodePlan } from './plan.ts';
import { planNode, readyStatus } from './plan.ts';
import { Zones } from './zones.ts';

const defaultGracePeriodMs = 50_000;
/** How much longer a node has that never reported its status. */
const startupGraceMs = 10_000;
/** How often a node that is not ready is looked at again, because it depends on others whether its Pods are evicted. */
const evictionCheckMs = 5000;

/** Marks nodes that stop renewing their Lease, until the signal fires. */
export const runNodeLifecycle = (context: ControllerContext, signal: AbortSignal): Promise<void> =>
  new NodeLifecycleController(context).run(signal);

/**
 * Reconciles nodes by their reports: the Lease in `kube-node-lease` and the heartbeats of their conditions. Nodes without
 * a Lease are left alone by default, because nothing reports their health.
 */
class NodeLifecycleController {
  readonly #context: ControllerContext;
  readonly #clock: Clock;
  readonly #gracePeriodMs: number;
  readonly #health: NodeHealth;
  readonly #queue: WorkQueue;
  readonly #recorder: EventRecorder;
  /** Nodes whose Pods are known not to be ready. */
  readonly #markedNodes = new Set<string>();
  /** zone → when the next node of it may be evicted, in monotonic time */
  readonly #nextEviction = new Map<string, number>();
  /** The nodes that report. */
  readonly #zones = new Zones();

  constructor(context: ControllerContext) {
    const { options } = context;
    this.#context = context;
    this.#clock = options.clock ?? systemClock;
    this.#gracePeriodMs = options.nodeMonitorGracePeriodMs ?? defaultGracePeriodMs;
    this.#health = new NodeHealth(this.#clock);
    this.#recorder = context.recorder('node-controller');
    this.#queue = new WorkQueue({
      work: (key, signal) => this.#reconcile(key, signal),
      onError: logRetry(context.log, 'node-lifecycle-controller'),
      observer: context.observer('node_lifecycle_controller'),
      clock: this.#clock,
    });
  }

  run(signal: AbortSignal): Promise<void> {
    const { nodes, nodeLeases, pods } = this.#context.caches;
    return runController(
      { queue: this.#queue, caches: [nodes, nodeLeases, pods], subscribe: () => this.#subscribe() },
      signal,
    );
  }

  #subscribe(): readonly (() => void)[] {
    const { nodes, nodeLeases } = this.#context.caches;
    return [
      nodes.subscribe(onAnyChange((node) => this.#changed(keyOf(node)))),
      nodeLeases.subscribe({
        added: (lease) => this.#changed(nameOf(lease)),
        updated: (lease) => this.#renewed(lease),
        deleted: (lease) => this.#changed(nameOf(lease)),
      }),
    ];
  }

  #changed(name: Key): void {
    const { nodes, nodeLeases } = this.#context.caches;
    const node = nodes.get(name);
    if (node === undefined || !this.#isManaged(nodeLeases.get(leaseKeyOf(name)))) this.#zones.delete(name);
    else this.#zones.set(name, { zone: zoneOf(node), isReady: readyStatus(node) === 'True' });
    this.#queue.add(name);
  }

  /** Notes a renewal. A node that is not known to be silent needs no reconcile for it. */
  #renewed(lease: Lease): void {
    const node = this.#context.caches.nodes.get(nameOf(lease));
    if (node === undefined) return;
    this.#health.observe(nameOf(lease), signOf(node, lease));
    if (readyStatus(node) === 'Unknown') this.#queue.add(nameOf(lease));
  }

  async #reconcile(name: Key, signal: AbortSignal): Promise<Outcome> {
    const { caches } = this.#context;
    const node = caches.nodes.get(name);
    const lease = caches.nodeLeases.get(leaseKeyOf(name));
    if (node === undefined || !this.#isManaged(lease)) {
      this.#health.delete(name);
      this.#markedNodes.delete(name);
      return;
    }
    const context = this.#context;
    this.#health.noteInterruptions(context.interruptions(nodeKind) + context.interruptions(leaseKind));
    this.#health.observe(name, signOf(node, lease));
    const graceMs = this.#gracePeriodMs + (readyStatus(node) === undefined ? startupGraceMs : 0);
    const leftMs = graceMs - this.#health.silentMs(name);
    const isMarked = readyStatus(node) === 'Unknown';
    const isSilent = leftMs <= 0 && (isMarked || (await this.#isUnchanged(lease, signal)));
    const plan = planNode({ node, isSilent, eviction: this.#eviction(node), now: timestamp(this.#clock.now()) });
    // Counted before the first wait, since other nodes are reconciled meanwhile.
    if (plan.evicts) this.#evicted(node);
    await this.#apply(node, plan, signal);
    return { requeueAfterMs: plan.isNotReady ? evictionCheckMs : Math.max(leftMs, evictionCheckMs) };
  }

  #isManaged(lease: Lease | undefined): boolean {
    return lease !== undefined || this.#context.options.managesAllNodes === true;
  }

  /** Whether the server has no newer Lease than the cache, which could be behind. */
  async #isUnchanged(lease: Lease | undefined, signal: AbortSignal): Promise<boolean> {
    if (lease === undefined) return true;
    const name = { namespace: nodeLeaseNamespace, name: nameOf(lease) };
    const latest = await this.#context.client.get(leaseKind, name, { signal });
    return latest.spec.renewTime === lease.spec.renewTime;
  }

  /** Writes the status first: taints and Pods follow from it, also in the next run after a crash. */
  async #apply(node: Node, { conditions, taints, isNotReady }: NodePlan, signal: AbortSignal): Promise<void> {
    const { client } = this.#context;
    const { name = '', resourceVersion } = node.metadata;
    const metadata = { resourceVersion };
    if (conditions !== undefined) {
      const body = { metadata, status: { conditions } };
      await client.patch(nodeKind, { name }, { body, type: 'strategic', subresource: 'status', signal });
      this.#context.log.warn({ node: name }, 'node stopped reporting: it is not ready');
      this.#recorder.record(nodeKind, node, {
        type: 'Normal',
        reason: 'NodeNotReady',
        message: `Node ${name} status is now: NodeNotReady`,
      });
      return; // the change of the node starts the next run
    }
    if (!isNotReady) this.#markedNodes.delete(name);
    else if (!this.#markedNodes.has(name)) await this.#markPods(name, signal);
    if (taints !== undefined) await client.patch(nodeKind, { name }, { body: { metadata, spec: { taints } }, signal });
  }

  /** Makes the Pods of a node not ready, so that Services stop sending connections to them. */
  async #markPods(node: string, signal: AbortSignal): Promise<void> {
    const pods = this.#context.caches.pods.by('node', node).filter(isReadyPod);
    await forEachDespiteErrors(pods, (pod) => this.#markPod(pod, signal));
    this.#markedNodes.add(node);
  }

  async #markPod(pod: Pod, signal: AbortSignal): Promise<void> {
    const { namespace, name = '', uid } = pod.metadata;
    const condition = { type: 'Ready', status: 'False', lastTransitionTime: timestamp(this.#clock.now()) };
    const body = { metadata: { uid }, status: { conditions: [condition] } };
    try {
      await this.#context.client.patch(
        podKind,
        { namespace, name },
        { body, type: 'strategic', subresource: 'status', signal },
      );
    } catch (error) {
      if (hasStatusCode(error, 404) || hasStatusCode(error, 409)) return; // deleted, or another Pod by now
      throw error;
    }
    this.#recorder.record(podKind, pod, { type: 'Warning', reason: 'NodeNotReady', message: 'Node is not ready' });
  }

  #eviction(node: Node): Eviction {
    if (isOutage(this.#zones.all())) return 'cancel';
    const isDue = this.#clock.elapsed() >= (this.#nextEviction.get(zoneOf(node)) ?? 0);
    return isDue && this.#evictionRate(node) > 0 ? 'allow' : 'wait';
  }

  /** Notes an eviction: the next node of the zone has to wait. */
  #evicted(node: Node): void {
    const rate = this.#evictionRate(node);
    if (rate > 0) this.#nextEviction.set(zoneOf(node), this.#clock.elapsed() + 1000 / rate);
  }

  #evictionRate(node: Node): number {
    const zone = this.#zones.get(zoneOf(node));
    return zone === undefined ? 0 : evictionRate(zone, this.#zones.all());
  }
}

const isReadyPod = ({ status }: Pod): boolean =>
  status.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True') === true;

const nameOf = ({ metadata }: Lease): string => metadata.name ?? '';

const leaseKeyOf = (node: string): Key => `${nodeLeaseNamespace}/${node}`;

/** Changes with every report of the node. */
const signOf = ({ status }: Node, lease: Lease | undefined): string =>
  `${lease?.spec.renewTime} ${status.conditions?.find(({ type }) => type === 'Ready')?.lastHeartbeatTime}`;

const zoneOf = ({ metadata: { labels = {} } }: Node): string =>
  `${labels[regionLabel] ?? ''}/${labels[zoneLabel] ?? ''}`;
