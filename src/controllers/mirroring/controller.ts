import { messageOf } from '../../api/error-message.ts';
import { endpointsKind } from '../../api/kinds/core/endpoints/kind.ts';
import type { Endpoints } from '../../api/kinds/core/endpoints/schema.ts';
import type { Service } from '../../api/kinds/core/service/schema.ts';
import { onAnyChange } from '../../client/handlers.ts';
import type { EventRecorder } from '../../client/events.ts';
import type { Key } from '../../client/key.ts';
import { keyOf } from '../../client/key.ts';
import type { Outcome } from '../../client/queue.ts';
import { WorkQueue } from '../../client/queue.ts';
import { hasStatusCode } from '../../client/transport.ts';
import type { ControllerContext } from '../context.ts';
import { Expectations } from '../../client/expectations.ts';
import { logRetry, runController } from '../../client/controller.ts';
import { onSliceChange, repairDelayMs } from '../event-handlers.ts';
import { writeSlices } from '../slice-writer.ts';
import { DroppedSrvNames, gatesWithoutSrvName } from '../target-ports.ts';
import { EventDeduplicator } from '../../client/event-correlator.ts';
import type { Plan } from './plan.ts';
import { managedBy, plan } from './plan.ts';

/** Mirrors Endpoints without a selector into EndpointSlices until the signal fires. */
export const runMirroring = (context: ControllerContext, signal: AbortSignal): Promise<void> =>
  new MirroringController(context).run(signal);

class MirroringController {
  readonly #context: ControllerContext;
  readonly #queue: WorkQueue;
  readonly #recorder: EventRecorder;
  readonly #writes = new Expectations();
  readonly #deduplicator = new EventDeduplicator();
  readonly #droppedSrvNames = new DroppedSrvNames();

  constructor(context: ControllerContext) {
    this.#context = context;
    this.#recorder = context.recorder('endpoint-slice-mirroring-controller');
    this.#queue = new WorkQueue({
      work: (key, signal) => this.#reconcile(key, signal),
      workers: context.options.mirroringConcurrentServiceEndpointSyncs ?? 5,
      onError: logRetry(context.log, 'endpointslice-mirroring-controller'),
      observer: context.observer('endpoint_slice_mirroring'),
    });
  }

  run(signal: AbortSignal): Promise<void> {
    const { services, endpoints, slices } = this.#context.caches;
    const caches = [services, endpoints, slices];
    return runController({ queue: this.#queue, caches, subscribe: () => this.#subscribe() }, signal);
  }

  async #reconcile(key: Key, signal: AbortSignal): Promise<Outcome> {
    const { caches, gates, options } = this.#context;
    if (this.#writes.isPending(key)) return { requeueAfterMs: repairDelayMs };
    const endpoints = caches.endpoints.get(key);
    const dropsName = this.#droppedSrvNames.has(key, endpoints);
    const planned = plan({
      endpoints,
      service: caches.services.get(key),
      slices: caches.slices.by('service', key),
      gates: dropsName ? gatesWithoutSrvName(gates) : gates,
      maxEndpointsPerSubset: options.mirroringMaxEndpointsPerSubset ?? 1000,
    });
    if (endpoints === undefined) this.#delete(key);
    else
      for (const event of this.#deduplicator.fresh(key, planned.events))
        this.#recorder.record(endpointsKind, endpoints, event);
    await this.#write(key, endpoints, { planned, signal });
  }

  async #write(
    key: Key,
    endpoints: Endpoints | undefined,
    { planned, signal }: { readonly planned: Plan; readonly signal: AbortSignal },
  ): Promise<void> {
    if (planned.create.length + planned.update.length + planned.remove.length === 0) return;
    const { client, metrics } = this.#context;
    const onWrite = (operation: string): void => metrics.mirrors.changes.inc({ operation });
    this.#writes.begin(key);
    try {
      const written = await writeSlices(key, planned, { client, writes: this.#writes, signal, onWrite });
      if (written.dropsSrvName) this.#droppedSrvNames.add(key, endpoints);
    } catch (error) {
      if (endpoints !== undefined && !signal.aborted && !hasStatusCode(error, 409))
        this.#recordFailure(endpoints, error);
      throw error;
    } finally {
      if (this.#writes.end(key)) this.#queue.addAfter(key, repairDelayMs);
    }
  }

  #recordFailure(endpoints: Endpoints, error: unknown): void {
    const { namespace, name } = endpoints.metadata;
    const message = `Error updating EndpointSlices for Endpoints ${namespace}/${name}: ${messageOf(error)}`;
    this.#recorder.record(endpointsKind, endpoints, {
      type: 'Warning',
      reason: 'FailedToUpdateEndpointSlices',
      message,
    });
  }

  #delete(key: Key): void {
    this.#deduplicator.delete(key);
    this.#droppedSrvNames.delete(key);
  }

  /** Existing slices are enqueued at the start, to find mirrors whose Endpoints were deleted meanwhile. */
  #subscribe(): readonly (() => void)[] {
    const { caches, options } = this.#context;
    const batchMs = options.mirroringEndpointUpdatesBatchPeriodMs ?? 0;
    const queue = this.#queue;
    const enqueue = (each: Endpoints | Service): void =>
      batchMs > 0 ? queue.addAfter(keyOf(each), batchMs) : queue.add(keyOf(each));
    return [
      caches.endpoints.subscribe(onAnyChange(enqueue)),
      this.#onServiceChange(enqueue),
      onSliceChange(caches, {
        managedBy,
        writes: this.#writes,
        queue,
        batchMs,
        onInitial: (key) => queue.add(key),
      }),
    ];
  }

  /** Only the selector of a Service matters. */
  #onServiceChange(enqueue: (service: Service) => void): () => void {
    return this.#context.caches.services.subscribe({
      added: enqueue,
      updated(service, old) {
        if ((service.spec.selector === undefined) !== (old.spec.selector === undefined)) enqueue(service);
      },
      deleted: enqueue,
    });
  }
}
