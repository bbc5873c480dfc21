import { messageOf } from '../../api/error-message.ts';
import type { Node } from '../../api/kinds/core/node/schema.ts';
import { serviceKind } from '../../api/kinds/core/service/kind.ts';
import type { Service } from '../../api/kinds/core/service/schema.ts';
import { managedByLabel } from '../../api/kinds/discovery/endpointslice/labels.ts';
import type { EndpointSlice } from '../../api/kinds/discovery/endpointslice/schema.ts';
import type { EventRecorder } from '../../client/events.ts';
import type { Key } from '../../client/key.ts';
import { keyOf } from '../../client/key.ts';
import type { Outcome } from '../../client/queue.ts';
import { WorkQueue } from '../../client/queue.ts';
import { hasStatusCode } from '../../client/transport.ts';
import { hasManagedEndpoints } from '../backend.ts';
import type { ControllerContext } from '../context.ts';
import { defaultConcurrentSyncs } from '../options.ts';
import { Expectations } from '../../client/expectations.ts';
import { onPodChange } from '../pod-changes.ts';
import { logRetry, runController } from '../../client/controller.ts';
import { onSliceChange } from '../slice-changes.ts';
import { isNamespaceEnding, writeSlices } from '../slice-writer.ts';
import type { PlannedEvent } from '../../client/event-correlator.ts';
import { withoutSrvName } from '../target-ports.ts';
import { EventDeduplicator } from '../../client/event-correlator.ts';
import type { SeenTimes } from '../trigger-time.ts';
import { triggerTime } from '../trigger-time.ts';
import { zoneLabel } from './backends.ts';
import { countWrites } from './count.ts';
import { counted } from './totals.ts';
import { hintRule } from './hints.ts';
import type { Plan } from './plan.ts';
import { managedBy, plan } from './plan.ts';
import { isSameToShares } from './shares.ts';

/** Keeps the slices of all Services right until the signal fires. */
export const runEndpointSlices = (context: ControllerContext, signal: AbortSignal): Promise<void> =>
  new EndpointSliceController(context).run(signal);

/** How long after somebody else changed a slice it is set right again. */
const repairDelayMs = 1000;

/** What was found and decided about the slices of a Service. */
interface Reconciled {
  readonly planned: Plan;
  /** As they were before. */
  readonly slices: readonly EndpointSlice[];
}

class EndpointSliceController {
  readonly #context: ControllerContext;
  readonly #queue: WorkQueue;
  readonly #recorder: EventRecorder;
  readonly #writes = new Expectations();
  readonly #told = new EventDeduplicator();
  /** Service → what triggered its last plan. */
  readonly #seen = new Map<Key, SeenTimes>();
  /** Service → the revision of it for which the server dropped `srvServiceName`. */
  readonly #unnamed = new Map<Key, string | undefined>();
  /** Services whose endpoints are shared out by the CPU of all nodes. */
  readonly #topological = new Set<Key>();

  constructor(context: ControllerContext) {
    this.#context = context;
    context.metrics.slices.totals.clear();
    this.#recorder = context.recorder('endpoint-slice-controller');
    this.#queue = new WorkQueue({
      work: (key, signal) => this.#reconcile(key, signal),
      workers: context.options.concurrentServiceEndpointSyncs ?? defaultConcurrentSyncs,
      onError: logRetry(context.log, 'endpointslice-controller'),
      observer: context.observer('endpoint_slice'),
    });
  }

  run(signal: AbortSignal): Promise<void> {
    const { services, pods, nodes, slices } = this.#context.caches;
    const caches = [services, pods, nodes, slices];
    return runController({ queue: this.#queue, caches, subscribe: () => this.#subscribe() }, signal);
  }

  async #reconcile(key: Key, signal: AbortSignal): Promise<Outcome> {
    const { caches, gates, options, metrics } = this.#context;
    const service = caches.services.get(key);
    if (service === undefined) return;
    if (this.#writes.isPending(key)) {
      metrics.slices.syncs.inc({ result: 'stale' });
      return { requeueAfterMs: repairDelayMs };
    }
    const pods = caches.selection.podsOf(service);
    const slices = caches.slices.by('service', key);
    const maxEndpointsPerSlice = options.maxEndpointsPerSlice ?? 100;
    const { time, seen } = triggerTime(service, pods, this.#seen.get(key));
    const isUnnamed = this.#unnamed.has(key) && this.#unnamed.get(key) === service.metadata.resourceVersion;
    const planned = plan({
      service,
      pods,
      nodes: caches.nodesByName,
      slices,
      gates: isUnnamed ? withoutSrvName(gates) : gates,
      triggerTime: time,
      maxEndpointsPerSlice,
    });
    this.#tell(key, service, planned);
    await this.#write(key, service, { planned, slices, signal });
    this.#count(key, service, { planned, slices, max: maxEndpointsPerSlice });
    // Only now: a write that failed is told the same time when it is tried again.
    this.#seen.set(key, seen);
  }

  async #write(
    key: Key,
    service: Service,
    { planned, slices, signal }: Reconciled & { readonly signal: AbortSignal },
  ): Promise<void> {
    const { client, metrics } = this.#context;
    if (planned.create.length + planned.update.length + planned.remove.length > 0) {
      countWrites(metrics.slices, planned, { service, slices });
      const onWrite = (operation: string): void => metrics.slices.changes.inc({ operation });
      this.#writes.begin(key);
      try {
        const written = await writeSlices(key, planned, { client, writes: this.#writes, signal, onWrite });
        if (written.dropsSrvName) this.#unnamed.set(key, service.metadata.resourceVersion);
      } catch (error) {
        this.#fail(service, error, signal);
        throw error;
      } finally {
        if (this.#writes.end(key)) this.#queue.addAfter(key, repairDelayMs);
      }
    }
    metrics.slices.syncs.inc({ result: 'success' });
  }

  #count(key: Key, service: Service, { planned, slices, max }: Reconciled & { readonly max: number }): void {
    const { totals } = this.#context.metrics.slices;
    if (!hasManagedEndpoints(service)) return totals.forget(key);
    const own = slices.filter(({ metadata }) => metadata.labels?.[managedByLabel] === managedBy);
    totals.set(key, counted(own, planned, { max, distribution: service.spec.trafficDistribution }));
  }

  #fail(service: Service, error: unknown, signal: AbortSignal): void {
    this.#context.metrics.slices.syncs.inc({ result: 'error' });
    // A conflict is not a failure, and one who was told to stop did not fail.
    if (signal.aborted || hasStatusCode(error, 409) || isNamespaceEnding(error)) return;
    this.#recorder.record(serviceKind, service, failedToUpdate(service, messageOf(error)));
  }

  #tell(key: Key, service: Service, { events, missingNodes }: Plan): void {
    const missing = missingNodes.map((node) => failedToUpdate(service, `node ${JSON.stringify(node)} not found`));
    for (const event of this.#told.fresh(key, [...events, ...missing])) {
      this.#recorder.record(serviceKind, service, event);
    }
  }

  /** What can change the slices of a Service. Of what was there before, Services alone: they bring the rest in. */
  #subscribe(): readonly (() => void)[] {
    const { caches, options } = this.#context;
    const batchMs = options.endpointUpdatesBatchPeriodMs ?? 0;
    const queue = this.#queue;
    const podChanged = (key: Key): void => (batchMs > 0 ? queue.addAfter(key, batchMs) : queue.add(key));
    return [
      caches.services.subscribe({
        added: (service) => this.#enqueue(service),
        updated: (service) => this.#enqueue(service),
        deleted: (service) => this.#forget(keyOf(service)),
      }),
      onPodChange(caches, podChanged),
      this.#onNodeChange(),
      onSliceChange(caches, {
        managedBy,
        writes: this.#writes,
        queue,
        repairDelayMs: Math.max(repairDelayMs, batchMs),
      }),
    ];
  }

  #enqueue(service: Service): void {
    const key = keyOf(service);
    if (hintRule(service, this.#context.gates) === 'topology') this.#topological.add(key);
    else this.#topological.delete(key);
    this.#queue.add(key);
  }

  /** Slices of a Service that is gone are collected as its dependents. */
  #forget(key: Key): void {
    this.#writes.delete(key);
    this.#told.delete(key);
    this.#seen.delete(key);
    this.#unnamed.delete(key);
    this.#topological.delete(key);
    this.#context.metrics.slices.totals.forget(key);
  }

  /** Pods are left out while their node is missing, and are in the zone of their node. */
  #onNodeChange(): () => void {
    const { caches } = this.#context;
    const podsOn = ({ metadata }: Node): void => {
      for (const pod of caches.pods.by('node', metadata.name ?? '')) {
        for (const key of caches.selection.servicesOf(pod)) this.#queue.add(key);
      }
    };
    const shared = (): void => {
      for (const key of this.#topological) this.#queue.add(key);
    };
    let isBeginning = true;
    const cameOrWent = (node: Node): void => {
      if (isBeginning) return;
      podsOn(node);
      shared();
    };
    const stop = caches.nodes.subscribe({
      added: cameOrWent,
      updated(node, old) {
        if (node.metadata.labels?.[zoneLabel] !== old.metadata.labels?.[zoneLabel]) podsOn(node);
        if (!isSameToShares(node, old)) shared();
      },
      deleted: cameOrWent,
    });
    isBeginning = false;
    return stop;
  }
}

const failedToUpdate = ({ metadata: { namespace, name } }: Service, why: string): PlannedEvent => ({
  type: 'Warning',
  reason: 'FailedToUpdateEndpointSlices',
  message: `Error updating Endpoint Slices for Service ${namespace}/${name}: ${why}`,
});
