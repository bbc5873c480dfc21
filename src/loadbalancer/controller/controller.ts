import type { Logger } from 'pino';
import { serviceKeyOf } from '../../api/kinds/discovery/endpointslice/facts.ts';
import { messageOf } from '../../api/error-message.ts';
import type { Service } from '../../api/kinds/core/service/schema.ts';
import type { EndpointSlice } from '../../api/kinds/discovery/endpointslice/schema.ts';
import type { Client } from '../../client/client.ts';
import type { Clock, Random } from '../../client/clock.ts';
import { systemClock } from '../../client/clock.ts';
import { runController } from '../../client/controller.ts';
import { onAnyChange } from '../../client/handlers.ts';
import type { EventRecorder } from '../../client/events.ts';
import type { Key } from '../../client/key.ts';
import { keyOf } from '../../client/key.ts';
import type { Outcome, QueueObserver } from '../../client/queue.ts';
import { WorkQueue } from '../../client/queue.ts';
import { hasStatusCode } from '../../client/transport.ts';
import type { EligibleNodes, KnownBackends } from './backends.ts';
import { affectsLoadBalancers, eligibleNodes, endpointBackends, nodeBackends } from './backends.ts';
import type { Caches } from './caches.ts';
import { syncFailed } from './events.ts';
import type { ServiceControllerMetrics } from './metrics.ts';
import { hasFinalizer, needsCleanup, needsUpdate, needsLoadBalancer } from './needs.ts';
import { removeOrphans } from './orphans.ts';
import type { LoadBalancerProvider } from './provider.ts';
import { RetryError } from './provider.ts';
import { RefusedError, ServiceSync } from './service-sync.ts';

export interface ServiceControllerOptions {
  readonly client: Client;
  readonly caches: Caches;
  readonly provider: LoadBalancerProvider;
  readonly recorder: EventRecorder;
  readonly metrics: ServiceControllerMetrics;
  readonly log: Logger;
  readonly observer?: QueueObserver;
  /** Concurrent syncs; default 4 (Kubernetes: 1). */
  readonly workers?: number;
  readonly clock?: Clock;
  readonly random?: Random;
  /** See RunOptions. */
  readonly isRefusalAnEntry?: boolean | undefined;
}

/**
 * Reconciles the load balancers of Services like the service controller of Kubernetes:
 *
 *     needs a load balancer ─► add finalizer ─► cloud ─► Events, status
 *     deleted or of another type ─► cloud ─► remove finalizer ─► Events, status
 *     nodes or endpoints changed ─► cloud
 *
 * All changes go through one queue, so that backends and ports of a load balancer are never updated concurrently.
 */
export class ServiceController {
  readonly #options: ServiceControllerOptions;
  readonly #clock: Clock;
  readonly #caches: Caches;
  /** Services that need a full sync, not only an update of backends. */
  readonly #changed = new Set<Key>();
  /** Cached until nodes change. */
  #eligible: EligibleNodes | undefined;

  constructor(options: ServiceControllerOptions) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.#caches = options.caches;
  }

  /** Reconciles until the signal fires. */
  async run(signal: AbortSignal): Promise<void> {
    const { services, nodes, slices } = this.#caches;
    const caches =
      this.#options.provider.sendsToEndpoints === undefined ? [services, nodes] : [services, nodes, slices];
    await Promise.all(caches.map((cache) => cache.synced(signal)));
    await this.#options.provider.start?.(this.#caches.services.list(), signal);
    this.#changed.clear();
    this.#eligible = undefined;
    const sync = this.#newSync();
    const { workers = 4, observer, random, log } = this.#options;
    const queue = new WorkQueue({
      work: (key, stop) => this.#work(sync, key, stop),
      workers,
      backoff: { baseMs: 5000, maxMs: 300_000 },
      clock: this.#clock,
      ...(random === undefined ? {} : { random }),
      ...(observer === undefined ? {} : { observer }),
      onError: (error, key, failures) => {
        const level = hasStatusCode(error, 409) ? 'debug' : 'warn';
        // The stack trace of a refusal is of no use.
        const cause = error instanceof RefusedError ? { reason: error.message } : { err: error };
        log[level]({ ...cause, service: key, failures }, 'could not sync the load balancer, retrying');
      },
    });
    const subscribe = (): readonly (() => void)[] => [
      this.#watchServices(queue, sync),
      this.#watchNodes(queue, sync),
      this.#watchSlices(queue, sync),
    ];
    const reconciling = runController({ queue, caches, subscribe }, signal);
    await Promise.all([reconciling, this.#removeOrphans(signal), this.#options.provider.run?.(signal)]);
  }

  #newSync(): ServiceSync {
    const { client, provider, recorder, metrics, isRefusalAnEntry = true } = this.#options;
    return new ServiceSync({
      client,
      provider,
      recorder,
      metrics,
      clock: this.#clock,
      isRefusalAnEntry,
      newest: (key) => this.#caches.services.get(key),
      backends: (service) => this.#backendsOf(service),
    });
  }

  #backendsOf(service: Service): KnownBackends {
    this.#eligible ??= eligibleNodes(this.#caches.nodes.list());
    if (this.#options.provider.sendsToEndpoints?.(service) !== true) return nodeBackends(this.#eligible);
    return endpointBackends(this.#eligible, this.#caches.slices.by('service', keyOf(service)) ?? []);
  }

  #removeOrphans(signal: AbortSignal): Promise<void> {
    const held = (): ReadonlySet<string> =>
      new Set(this.#caches.services.list().flatMap((service) => (hasFinalizer(service) && service.metadata.uid) || []));
    return removeOrphans({ ...this.#options, clock: this.#clock, held }, signal);
  }

  #watchServices(queue: WorkQueue, { known }: ServiceSync): () => void {
    const { classes } = this.#options.provider;
    const add = (service: Service): void => {
      const key = keyOf(service);
      this.#changed.add(key);
      queue.add(key);
    };
    return this.#caches.services.subscribe({
      added(service) {
        if (needsLoadBalancer(service, classes) || needsCleanup(service, classes)) add(service);
      },
      updated(service, old) {
        if (needsUpdate(old, service, classes) || needsCleanup(service, classes)) add(service);
      },
      // Usually cleaned up already; needed if the finalizer was removed by hand.
      deleted(service) {
        if (known.has(keyOf(service))) add(service);
      },
    });
  }

  #watchNodes(queue: WorkQueue, { known }: ServiceSync): () => void {
    if (this.#options.provider.ignoresNodes === true) return () => undefined;
    const enqueueAll = (): void => {
      this.#eligible = undefined;
      for (const key of known.keys()) queue.add(key);
    };
    return this.#caches.nodes.subscribe({
      added: enqueueAll,
      deleted: enqueueAll,
      updated: (node, old) => {
        // Other changes take effect with the next sync.
        this.#eligible = undefined;
        if (affectsLoadBalancers(node, old)) enqueueAll();
      },
    });
  }

  #watchSlices(queue: WorkQueue, { known }: ServiceSync): () => void {
    const { slices } = this.#caches;
    const { provider } = this.#options;
    const add = (slice: EndpointSlice): void => {
      const key = serviceKeyOf(slice);
      const service = key === undefined ? undefined : known.get(key);
      if (key !== undefined && service !== undefined && provider.sendsToEndpoints?.(service) === true) queue.add(key);
    };
    if (provider.sendsToEndpoints === undefined) return () => undefined;
    return slices.subscribe(onAnyChange(add));
  }

  async #work(sync: ServiceSync, key: Key, signal: AbortSignal): Promise<Outcome> {
    const isChanged = this.#changed.delete(key);
    const service = this.#caches.services.get(key);
    try {
      if (!isChanged) return await sync.updateBackends(key, service, signal);
      this.#options.metrics.syncs.inc();
      await sync.sync(key, service, signal);
    } catch (error) {
      this.#changed.add(key);
      if (signal.aborted) throw error;
      const subject = service ?? sync.known.get(key);
      // A conflict is retried without an Event.
      if (subject !== undefined && !hasStatusCode(error, 409)) sync.recordEvent(subject, syncFailed(messageOf(error)));
      if (error instanceof RetryError) return { requeueAfterMs: error.afterMs };
      throw error;
    }
  }
}
