import { messageOf } from '../../api/error-message.ts';
import { endpointsKind } from '../../api/kinds/core/endpoints/kind.ts';
import type { EndpointPort, Endpoints } from '../../api/kinds/core/endpoints/schema.ts';
import { serviceKind } from '../../api/kinds/core/service/kind.ts';
import type { Service } from '../../api/kinds/core/service/schema.ts';
import type { WriteOptions } from '../../client/client.ts';
import { onKeyChange } from '../../client/handlers.ts';
import type { EventRecorder } from '../../client/events.ts';
import type { Key } from '../../client/key.ts';
import { keyOf, nameFor } from '../../client/key.ts';
import type { Outcome } from '../../client/queue.ts';
import { WorkQueue } from '../../client/queue.ts';
import { hasStatusCode } from '../../client/transport.ts';
import type { ControllerContext } from '../context.ts';
import { defaultConcurrentSyncs } from '../options.ts';
import { Expectations } from '../../client/expectations.ts';
import { onPodChange, repairDelayMs } from '../event-handlers.ts';
import { logRetry, runController } from '../../client/controller.ts';
import { isNamespaceEnding } from '../slice-writer.ts';
import { DroppedSrvNames, dropsSrvName, gatesWithoutSrvName, hasSrvName } from '../target-ports.ts';
import type { SeenTimes } from '../trigger-time.ts';
import { triggerTime } from '../trigger-time.ts';
import type { Plan } from './plan.ts';
import { plan } from './plan.ts';

/** Reconciles the Endpoints of all Services until the signal fires. */
export const runEndpoints = (context: ControllerContext, signal: AbortSignal): Promise<void> =>
  new EndpointsController(context).run(signal);

class EndpointsController {
  readonly #context: ControllerContext;
  readonly #queue: WorkQueue;
  readonly #recorder: EventRecorder;
  readonly #writes = new Expectations();
  /** Service → times at its last reconcile. */
  readonly #seen = new Map<Key, SeenTimes>();
  readonly #droppedSrvNames = new DroppedSrvNames();

  constructor(context: ControllerContext) {
    this.#context = context;
    this.#recorder = context.recorder('endpoint-controller');
    this.#queue = new WorkQueue({
      work: (key, signal) => this.#reconcile(key, signal),
      workers: context.options.concurrentEndpointSyncs ?? defaultConcurrentSyncs,
      onError: logRetry(context.log, 'endpoints-controller'),
      observer: context.observer('endpoint'),
    });
  }

  run(signal: AbortSignal): Promise<void> {
    const { services, pods, endpoints } = this.#context.caches;
    const caches = [services, pods, endpoints];
    return runController({ queue: this.#queue, caches, subscribe: () => this.#subscribe() }, signal);
  }

  async #reconcile(key: Key, signal: AbortSignal): Promise<Outcome> {
    const { caches, gates } = this.#context;
    if (this.#writes.isPending(key)) return { requeueAfterMs: repairDelayMs };
    const service = caches.services.get(key);
    const endpoints = caches.endpoints.get(key);
    if (service === undefined) {
      this.#seen.delete(key);
      this.#droppedSrvNames.delete(key);
      return this.#write(key, plan({ service, pods: [], endpoints, gates }), signal);
    }
    const pods = caches.selection.podsOf(service);
    const { time, seen } = triggerTime(service, pods, this.#seen.get(key));
    const dropsName = this.#droppedSrvNames.has(key, service);
    const planned = plan({
      service,
      pods,
      endpoints,
      gates: dropsName ? gatesWithoutSrvName(gates) : gates,
      triggerTime: time,
    });
    try {
      await this.#write(key, planned, signal);
    } catch (error) {
      if (isNamespaceEnding(error)) return;
      this.#recordFailure(service, planned, { error, signal });
      throw error;
    }
    // Set after the write, so that a retry uses the same trigger time.
    this.#seen.set(key, seen);
  }

  async #write(key: Key, { create, update, remove }: Plan, signal: AbortSignal): Promise<void> {
    if (create.length + update.length + remove.length === 0) return;
    const { client } = this.#context;
    // The response is only needed to detect a dropped srvServiceName.
    const options = (each: Endpoints): WriteOptions => ({ signal, metadataOnly: !hasSrvName(portsOf(each)) });
    this.#writes.begin(key);
    try {
      for (const each of create) this.#note(key, await client.create(endpointsKind, each, options(each)), each);
      for (const each of update) this.#note(key, await client.update(endpointsKind, each, options(each)), each);
      for (const each of remove) {
        const { uid = '', resourceVersion = '' } = each.metadata;
        await client.delete(endpointsKind, nameFor(key), { preconditions: { uid, resourceVersion }, signal });
        this.#writes.removed(key, each);
      }
    } finally {
      if (this.#writes.end(key)) this.#queue.addAfter(key, repairDelayMs);
    }
  }

  #note(key: Key, kept: Endpoints, sent: Endpoints): void {
    this.#writes.wrote(key, kept, sent);
    if (!dropsSrvName(portsOf(sent), portsOf(kept))) return;
    this.#droppedSrvNames.add(key, this.#context.caches.services.get(key));
  }

  #recordFailure(
    service: Service,
    { create }: Plan,
    { error, signal }: { readonly error: unknown; readonly signal: AbortSignal },
  ): void {
    if (signal.aborted || hasStatusCode(error, 409)) return;
    const { namespace, name } = service.metadata;
    const why = messageOf(error);
    const event =
      create.length > 0
        ? {
            reason: 'FailedToCreateEndpoint',
            message: `Failed to create endpoint for service ${namespace}/${name}: ${why}`,
          }
        : { reason: 'FailedToUpdateEndpoint', message: `Failed to update endpoint ${namespace}/${name}: ${why}` };
    this.#recorder.record(serviceKind, service, { type: 'Warning', ...event });
  }

  #subscribe(): readonly (() => void)[] {
    const { caches, options } = this.#context;
    const batchMs = options.endpointUpdatesBatchPeriodMs ?? 0;
    const queue = this.#queue;
    return [
      caches.services.subscribe(onKeyChange((key) => queue.add(key))),
      onPodChange(caches, (key) => (batchMs > 0 ? queue.addAfter(key, batchMs) : queue.add(key))),
      this.#onEndpointsChange(Math.max(repairDelayMs, batchMs)),
    ];
  }

  /**
   * Enqueues all Endpoints that exist at the start, to find those whose Service was deleted meanwhile. Later Endpoints
   * without a Service are left alone, because their author may create the Service next.
   */
  #onEndpointsChange(delayMs: number): () => void {
    const { services, endpoints } = this.#context.caches;
    let isInitial = true;
    const onEvent = (each: Endpoints, isGone = false): void => {
      const key = keyOf(each);
      if (isInitial) return this.#queue.add(key);
      const observation = this.#writes.observe(key, each, isGone);
      if (observation === 'caught-up') this.#queue.add(key);
      if (observation === 'foreign' && services.get(key) !== undefined) this.#queue.addAfter(key, delayMs);
    };
    const stop = endpoints.subscribe({
      added: (each) => onEvent(each),
      updated: (each) => onEvent(each),
      deleted: (each) => onEvent(each, true),
    });
    isInitial = false;
    return stop;
  }
}

const portsOf = ({ subsets = [] }: Endpoints): readonly EndpointPort[] => subsets.flatMap(({ ports = [] }) => ports);
