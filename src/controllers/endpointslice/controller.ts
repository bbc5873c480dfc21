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
import { countWrites } from '../metrics.ts';
import { defaultConcurrentSyncs } from '../options.ts';
import { Expectations } from '../../client/expectations.ts';
import { onPodChange, onSliceChange, repairDelayMs } from '../event-handlers.ts';
import { logRetry, runController } from '../../client/controller.ts';
import { isNamespaceEnding, writeSlices } from '../slice-writer.ts';
import type { PlannedEvent } from '../../client/event-correlator.ts';
import { DroppedSrvNames, gatesWithoutSrvName } from '../target-ports.ts';
import { EventDeduplicator } from '../../client/event-correlator.ts';
import type { SeenTimes } from '../trigger-time.ts';
import { triggerTime } from '../trigger-time.ts';
import { zoneLabel } from '../../api/kinds/core/node/labels.ts';
import { contributionOf } from './totals.ts';
import { hintRule } from './hints.ts';
import type { Plan } from './plan.ts';
import { managedBy, plan } from './plan.ts';
import { hasSameShareInputs } from './shares.ts';

/** Reconciles the EndpointSlices of all Services until the signal fires. */
export const runEndpointSlices = (context: ControllerContext, signal: AbortSignal): Promise<void> =>
  new EndpointSliceController(context).run(signal);

const maxLoggedNodes = 1000;

interface Reconciled {
  readonly planned: Plan;
  /** The slices before the plan. */
  readonly slices: readonly EndpointSlice[];
}

class EndpointSliceController {
  readonly #context: ControllerContext;
  readonly #queue: WorkQueue;
  readonly #recorder: EventRecorder;
  readonly #writes = new Expectations();
  readonly #deduplicator = new EventDeduplicator();
  /** Nodes that Pods name and that do not exist, as far as they were logged. */
  readonly #loggedNodes = new Set<string>();
  /** Service → times at its last reconcile. */
  readonly #seen = new Map<Key, SeenTimes>();
  readonly #droppedSrvNames = new DroppedSrvNames();
  /** Services whose hints depend on the CPU of all nodes. */
  readonly #topologyAware = new Set<Key>();

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
    const dropsName = this.#droppedSrvNames.has(key, service);
    const planned = plan({
      service,
      pods,
      nodes: caches.nodesByName,
      slices,
      gates: dropsName ? gatesWithoutSrvName(gates) : gates,
      triggerTime: time,
      maxEndpointsPerSlice,
    });
    this.#recordEvents(key, service, planned);
    await this.#write(key, service, { planned, slices, signal });
    this.#count(key, service, { planned, slices, max: maxEndpointsPerSlice });
    // Set after the write, so that a retry uses the same trigger time.
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
        if (written.dropsSrvName) this.#droppedSrvNames.add(key, service);
      } catch (error) {
        this.#recordFailure(service, error, signal);
        throw error;
      } finally {
        if (this.#writes.end(key)) this.#queue.addAfter(key, repairDelayMs);
      }
    }
    metrics.slices.syncs.inc({ result: 'success' });
  }

  #count(key: Key, service: Service, { planned, slices, max }: Reconciled & { readonly max: number }): void {
    const { totals } = this.#context.metrics.slices;
    if (!hasManagedEndpoints(service)) return totals.delete(key);
    const own = slices.filter(({ metadata }) => metadata.labels?.[managedByLabel] === managedBy);
    totals.set(key, contributionOf(own, planned, { max, distribution: service.spec.trafficDistribution }));
  }

  #recordFailure(service: Service, error: unknown, signal: AbortSignal): void {
    this.#context.metrics.slices.syncs.inc({ result: 'error' });
    // Conflicts and shutdown are no failures.
    if (signal.aborted || hasStatusCode(error, 409) || isNamespaceEnding(error)) return;
    this.#recorder.record(serviceKind, service, failedToUpdate(service, messageOf(error)));
  }

  #recordEvents(key: Key, service: Service, { events, missingNodes }: Plan): void {
    for (const node of missingNodes) this.#logMissing(node, key);
    const missing = missingNodes.map((node) => failedToUpdate(service, `node ${JSON.stringify(node)} not found`));
    for (const event of this.#deduplicator.fresh(key, [...events, ...missing])) {
      this.#recorder.record(serviceKind, service, event);
    }
  }

  /** Logs a node once, however many Services select its Pods; each Service has an Event. */
  #logMissing(node: string, service: Key): void {
    if (this.#loggedNodes.has(node)) return;
    if (this.#loggedNodes.size >= maxLoggedNodes) this.#loggedNodes.clear();
    this.#loggedNodes.add(node);
    const message = 'a Pod of a Service is on a node that does not exist: it is no endpoint until the node is created';
    this.#context.log.warn({ node, service }, message);
  }

  /** At the start only existing Services are enqueued, which covers all other existing objects. */
  #subscribe(): readonly (() => void)[] {
    const { caches, options } = this.#context;
    const batchMs = options.endpointUpdatesBatchPeriodMs ?? 0;
    const queue = this.#queue;
    const podChanged = (key: Key): void => (batchMs > 0 ? queue.addAfter(key, batchMs) : queue.add(key));
    return [
      caches.services.subscribe({
        added: (service) => this.#enqueue(service),
        updated: (service) => this.#enqueue(service),
        deleted: (service) => this.#delete(keyOf(service)),
      }),
      onPodChange(caches, podChanged),
      this.#onNodeChange(),
      onSliceChange(caches, {
        managedBy,
        writes: this.#writes,
        queue,
        batchMs,
      }),
    ];
  }

  #enqueue(service: Service): void {
    const key = keyOf(service);
    if (hintRule(service, this.#context.gates) === 'topology') this.#topologyAware.add(key);
    else this.#topologyAware.delete(key);
    this.#queue.add(key);
  }

  /** The garbage collector deletes the slices of a deleted Service. */
  #delete(key: Key): void {
    this.#writes.delete(key);
    this.#deduplicator.delete(key);
    this.#seen.delete(key);
    this.#droppedSrvNames.delete(key);
    this.#topologyAware.delete(key);
    this.#context.metrics.slices.totals.delete(key);
  }

  /** A node determines whether its Pods are published, their zone, and topology hints. */
  #onNodeChange(): () => void {
    const { caches } = this.#context;
    const enqueuePodsOn = ({ metadata }: Node): void => {
      for (const pod of caches.pods.by('node', metadata.name ?? '')) {
        for (const key of caches.selection.servicesOf(pod)) this.#queue.add(key);
      }
    };
    const enqueueTopologyAware = (): void => {
      for (const key of this.#topologyAware) this.#queue.add(key);
    };
    let isInitial = true;
    const onAddOrDelete = (node: Node): void => {
      if (isInitial) return;
      this.#loggedNodes.delete(node.metadata.name ?? '');
      enqueuePodsOn(node);
      enqueueTopologyAware();
    };
    const stop = caches.nodes.subscribe({
      added: onAddOrDelete,
      updated(node, old) {
        if (node.metadata.labels?.[zoneLabel] !== old.metadata.labels?.[zoneLabel]) enqueuePodsOn(node);
        if (!hasSameShareInputs(node, old)) enqueueTopologyAware();
      },
      deleted: onAddOrDelete,
    });
    isInitial = false;
    return stop;
  }
}

const failedToUpdate = ({ metadata: { namespace, name } }: Service, why: string): PlannedEvent => ({
  type: 'Warning',
  reason: 'FailedToUpdateEndpointSlices',
  message: `Error updating Endpoint Slices for Service ${namespace}/${name}: ${why}`,
});
