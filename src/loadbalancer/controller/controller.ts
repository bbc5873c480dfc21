import type { Logger } from 'pino';
import { serviceKeyOf } from '../../api/kinds/discovery/endpointslice/facts.ts';
import { messageOf } from '../../api/error-message.ts';
import type { Service } from '../../api/kinds/core/service/schema.ts';
import type { EndpointSlice } from '../../api/kinds/discovery/endpointslice/schema.ts';
import type { Client } from '../../client/client.ts';
import type { Clock, Random } from '../../client/clock.ts';
import { systemClock } from '../../client/clock.ts';
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
import { hasFinalizer, needsCleanup, needsUpdate, wantsLoadBalancer } from './needs.ts';
import { removeOrphans } from './orphans.ts';
import type { LoadBalancerProvider } from './provider.ts';
import { RetryError } from './provider.ts';
import { RefusedError, ServiceSync } from './service-sync.ts';

/** What the controller is given. */
export interface ServiceControllerOptions {
  readonly client: Client;
  readonly caches: Caches;
  readonly provider: LoadBalancerProvider;
  readonly recorder: EventRecorder;
  readonly metrics: ServiceControllerMetrics;
  readonly log: Logger;
  readonly observer?: QueueObserver;
  /** How many Services are worked on at once; upstream's default is 1, ours 4. */
  readonly workers?: number;
  /** For waits between tries, and times in what is written. */
  readonly clock?: Clock;
  readonly random?: Random;
  /** Whether a refused Service that has no address gets an entry for its ports all the same; default yes. */
  readonly isRefusalAnEntry?: boolean | undefined;
}

/**
 * Keeps the load balancers of Services, by the protocol of Kubernetes' own service controller:
 *
 *     wants one ─► finalizer ─► cloud ─► events, status
 *     deleted, or of another type ─► cloud ─► finalizer off ─► events, status
 *     nodes or endpoints changed ─► cloud
 *
 * One key is never worked on twice at once, so that a change of backends never meets a change of ports.
 */
export class ServiceController {
  readonly #options: ServiceControllerOptions;
  readonly #clock: Clock;
  readonly #caches: Caches;
  /** Services that need more than new backends. */
  readonly #changed = new Set<Key>();
  /** Where load balancers send to, until nodes change. */
  #eligible: EligibleNodes | undefined;

  constructor(options: ServiceControllerOptions) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.#caches = options.caches;
  }

  /** Acts until the signal fires. */
  async run(signal: AbortSignal): Promise<void> {
    const { services, nodes, slices } = this.#caches;
    const read = this.#options.provider.sendsToEndpoints === undefined ? [services, nodes] : [services, nodes, slices];
    await Promise.all(read.map((cache) => cache.synced(signal)));
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
        // Where in this program a refusal was told helps nobody.
        const cause = error instanceof RefusedError ? { reason: error.message } : { err: error };
        log[level]({ ...cause, service: key, failures }, 'could not sync the load balancer, retrying');
      },
    });
    const stops = [this.#followServices(queue, sync), this.#followNodes(queue, sync), this.#followSlices(queue, sync)];
    try {
      const { provider } = this.#options;
      await Promise.all([queue.run(signal), this.#removeOrphans(signal), provider.run?.(signal)]);
    } finally {
      for (const stop of stops) stop();
    }
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

  #followServices(queue: WorkQueue, { known }: ServiceSync): () => void {
    const { classes } = this.#options.provider;
    const add = (service: Service): void => {
      const key = keyOf(service);
      this.#changed.add(key);
      queue.add(key);
    };
    return this.#caches.services.subscribe({
      added(service) {
        if (wantsLoadBalancer(service, classes) || needsCleanup(service, classes)) add(service);
      },
      updated(service, old) {
        if (needsUpdate(old, service, classes) || needsCleanup(service, classes)) add(service);
      },
      // With the finalizer there is nothing left to do, unless somebody took it off.
      deleted(service) {
        if (known.has(keyOf(service))) add(service);
      },
    });
  }

  #followNodes(queue: WorkQueue, { known }: ServiceSync): () => void {
    if (this.#options.provider.ignoresNodes === true) return () => undefined;
    const all = (): void => {
      this.#eligible = undefined;
      for (const key of known.keys()) queue.add(key);
    };
    return this.#caches.nodes.subscribe({
      added: all,
      deleted: all,
      updated: (node, old) => {
        // What does not matter enough to tell at once counts the next time.
        this.#eligible = undefined;
        if (affectsLoadBalancers(node, old)) all();
      },
    });
  }

  #followSlices(queue: WorkQueue, { known }: ServiceSync): () => void {
    const { slices } = this.#caches;
    const { provider } = this.#options;
    const add = (slice: EndpointSlice): void => {
      const key = serviceKeyOf(slice);
      const service = key === undefined ? undefined : known.get(key);
      if (key !== undefined && service !== undefined && provider.sendsToEndpoints?.(service) === true) queue.add(key);
    };
    if (provider.sendsToEndpoints === undefined) return () => undefined;
    return slices.subscribe({ added: add, deleted: add, updated: add });
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
      const about = service ?? sync.known.get(key);
      // A conflict is somebody else's write that came first, and nobody's failure.
      if (about !== undefined && !hasStatusCode(error, 409)) sync.recordEvent(about, syncFailed(messageOf(error)));
      if (error instanceof RetryError) return { requeueAfterMs: error.afterMs };
      throw error;
    }
  }
}
