import type { Logger } from 'pino';
import { messageOf } from '../../api/thrown.ts';
import { nodeKind } from '../../api/kinds/core/node/kind.ts';
import type { Node } from '../../api/kinds/core/node/schema.ts';
import { serviceKind } from '../../api/kinds/core/service/kind.ts';
import type { Service } from '../../api/kinds/core/service/schema.ts';
import type { Client } from '../../client/client.ts';
import type { Clock, Random } from '../../client/clock.ts';
import { systemClock } from '../../client/clock.ts';
import type { Happening } from '../../client/event-series.ts';
import type { EventRecorder } from '../../client/events.ts';
import { Informer } from '../../client/informer.ts';
import type { Key } from '../../client/key.ts';
import { keyOf } from '../../client/key.ts';
import type { Outcome, QueueObserver } from '../../client/queue.ts';
import { WorkQueue } from '../../client/queue.ts';
import { isRefusal } from '../../client/transport.ts';
import type { Refusal } from '../providers/plan.ts';
import type { ServiceControllerMetrics } from './metrics.ts';
import { hasFinalizer, needsCleanup, needsUpdate, wantsLoadBalancer } from './needs.ts';
import { eligibleNodes, matters, signatureOf } from './nodes.ts';
import type { LoadBalancerProvider } from './provider.ts';
import { RetryError } from './provider.ts';
import { ServiceWrites } from './service-writes.ts';

/** What the controller is given. */
export interface ServiceControllerOptions {
  readonly client: Client;
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
  /** Told of watches that failed. */
  readonly onWatchError?: (kind: string, error: unknown) => void;
}

/**
 * Keeps the load balancers of Services, by the protocol of Kubernetes' own service controller:
 *
 *     wants one ─► finalizer ─► cloud ─► events, status
 *     deleted, or of another type ─► cloud ─► finalizer off ─► events, status
 *     nodes changed ─► cloud
 *
 * One key is never worked on twice at once, so that a change of nodes never meets a change of ports.
 */
export class ServiceController {
  readonly #options: ServiceControllerOptions;
  readonly #clock: Clock;
  readonly #writes: ServiceWrites;
  readonly #services: Informer<Service>;
  readonly #nodes: Informer<Node>;
  /** Service → as it was when its load balancer was last asked for. */
  readonly #known = new Map<Key, Service>();
  /** Service → the nodes that its load balancer was last told. */
  readonly #told = new Map<Key, string>();
  /** Services that need more than new nodes. */
  readonly #changed = new Set<Key>();

  constructor(options: ServiceControllerOptions) {
    const { client, onWatchError, clock = systemClock } = options;
    this.#options = options;
    this.#clock = clock;
    this.#writes = new ServiceWrites(client);
    const watching = (plural: string) => ({ onError: (error: unknown) => onWatchError?.(plural, error) });
    this.#services = new Informer(client, serviceKind, { ...watching('services'), trim: withoutManagers });
    this.#nodes = new Informer(client, nodeKind, { ...watching('nodes'), trim: withoutManagers });
  }

  /** Keeps the caches filled until the signal fires, whether or not it acts. */
  async follow(signal: AbortSignal): Promise<void> {
    await Promise.all([this.#services.run(signal), this.#nodes.run(signal)]);
  }

  /** Resolves when everything was seen once. */
  async synced(signal: AbortSignal): Promise<void> {
    await Promise.all([this.#services.synced(signal), this.#nodes.synced(signal)]);
  }

  /** What is not seen yet. */
  get unsynced(): readonly string[] {
    return [...(this.#services.hasSynced ? [] : ['services']), ...(this.#nodes.hasSynced ? [] : ['nodes'])];
  }

  /** The Services as they are known. */
  get services(): Pick<Informer<Service>, 'list' | 'get'> {
    return this.#services;
  }

  /** Acts until the signal fires. */
  async act(signal: AbortSignal): Promise<void> {
    await this.synced(signal);
    await this.#options.provider.begin?.(this.#services.list(), signal);
    this.#known.clear();
    this.#told.clear();
    this.#changed.clear();
    const { workers = 4, observer, random, log } = this.#options;
    const queue = new WorkQueue({
      work: (key, stop) => this.#work(key, stop),
      workers,
      backoff: { baseMs: 5000, maxMs: 300_000 },
      clock: this.#clock,
      ...(random === undefined ? {} : { random }),
      ...(observer === undefined ? {} : { observer }),
      onError: (error, key, failures) => {
        const level = isRefusal(error, 409) ? 'debug' : 'warn';
        log[level]({ err: error, service: key, failures }, 'the load balancer could not be synced, will try again');
      },
    });
    const stops = [this.#followServices(queue), this.#followNodes(queue)];
    try {
      await Promise.all([queue.run(signal), this.#removeOrphans(signal)]);
    } finally {
      for (const stop of stops) stop();
    }
  }

  #followServices(queue: WorkQueue): () => void {
    const { classes } = this.#options.provider;
    const add = (service: Service): void => {
      const key = keyOf(service);
      this.#changed.add(key);
      queue.add(key);
    };
    return this.#services.subscribe({
      added(service) {
        if (wantsLoadBalancer(service, classes) || needsCleanup(service, classes)) add(service);
      },
      updated(service, old) {
        if (needsUpdate(old, service, classes) || needsCleanup(service, classes)) add(service);
      },
      // With the finalizer there is nothing left to do, unless somebody took it off.
      deleted: (service) => {
        if (this.#known.has(keyOf(service))) add(service);
      },
    });
  }

  #followNodes(queue: WorkQueue): () => void {
    const all = (): void => {
      for (const key of this.#known.keys()) queue.add(key);
    };
    return this.#nodes.subscribe({
      added: all,
      deleted: all,
      updated(node, old) {
        if (matters(node, old)) all();
      },
    });
  }

  async #work(key: Key, signal: AbortSignal): Promise<Outcome> {
    const isChanged = this.#changed.delete(key);
    const service = this.#services.get(key);
    try {
      if (!isChanged) return await this.#updateNodes(key, service, signal);
      this.#options.metrics.syncs.inc();
      await this.#sync(key, service, signal);
    } catch (error) {
      this.#changed.add(key);
      if (signal.aborted) throw error;
      const about = service ?? this.#known.get(key);
      // A conflict is somebody else's write that came first, and nobody's failure.
      if (about !== undefined && !isRefusal(error, 409)) {
        this.#tell(about, warning('SyncLoadBalancerFailed', `Error syncing load balancer: ${messageOf(error)}`));
      }
      if (error instanceof RetryError) return { againAfterMs: error.afterMs };
      throw error;
    }
  }

  async #sync(key: Key, service: Service | undefined, signal: AbortSignal): Promise<void> {
    const { classes } = this.#options.provider;
    const known = this.#known.get(key);
    const isAnother = known !== undefined && known.metadata.uid !== service?.metadata.uid;
    if (isAnother) {
      await this.#removeFromCloud(known, signal);
      this.#forget(key);
    }
    if (service === undefined) return;
    const isLeaving = service.metadata.deletionTimestamp !== undefined || !wantsLoadBalancer(service, classes);
    if (!isLeaving) return this.#ensure(key, service, signal);
    if (needsCleanup(service, classes)) await this.#cleanUp(key, service, signal);
    else this.#forget(key);
  }

  async #ensure(key: Key, service: Service, signal: AbortSignal): Promise<void> {
    const { provider } = this.#options;
    this.#tell(service, normal('EnsuringLoadBalancer', 'Ensuring load balancer'));
    const held = await this.#writes.addFinalizer(service, signal);
    this.#known.set(key, held);
    const nodes = eligibleNodes(this.#nodes.list());
    if (nodes.length === 0 && provider.ignoresNodes !== true) this.#tell(held, noNodes);
    const ensured = await within('failed to ensure load balancer', provider.ensure(held, nodes, signal));
    if (ensured === 'elsewhere') return;
    this.#told.set(key, signatureOf(nodes));
    const now = this.#now();
    const { status, refusal } = ensured;
    // The newest there is: a status that was written since is not written again.
    const newest = this.#services.get(key) ?? held;
    const isTold = newest.status.conditions?.some(({ message }) => message === refusal?.message) === true;
    if (!isTold) for (const event of ensured.events) this.#tell(held, event);
    if (refusal === undefined) this.#tell(held, normal('EnsuredLoadBalancer', 'Ensured load balancer'));
    await this.#writes.setStatus(newest, { status, refusal, now }, signal);
    this.#refuse(held, { refusal, isTold });
  }

  /** What a change of the Service alone can mend is told once and waits for it; the rest is tried again. */
  #refuse(
    service: Service,
    { refusal, isTold }: { readonly refusal: Refusal | undefined; readonly isTold: boolean },
  ): void {
    if (refusal === undefined) return;
    const message = `failed to ensure load balancer: ${refusal.message}`;
    if (!refusal.isFinal) throw new Error(message);
    if (!isTold) this.#tell(service, warning('SyncLoadBalancerFailed', `Error syncing load balancer: ${message}`));
  }

  async #cleanUp(key: Key, service: Service, signal: AbortSignal): Promise<void> {
    await this.#removeFromCloud(service, signal);
    await this.#writes.removeFinalizer(service, signal);
    this.#tell(service, normal('DeletedLoadBalancer', 'Deleted load balancer'));
    this.#forget(key);
    const now = this.#now();
    if (service.metadata.deletionTimestamp === undefined)
      await this.#writes.setStatus(service, { status: {}, now }, signal);
  }

  async #removeFromCloud(service: Service, signal: AbortSignal): Promise<void> {
    const { provider } = this.#options;
    const why = 'failed to delete load balancer';
    if (
      (await within('failed to check if load balancer exists before cleanup', provider.find(service, signal))) ===
      undefined
    )
      return;
    this.#tell(service, normal('DeletingLoadBalancer', 'Deleting load balancer'));
    await within(why, provider.remove(service, signal));
  }

  async #updateNodes(key: Key, service: Service | undefined, signal: AbortSignal): Promise<void> {
    const { provider, metrics } = this.#options;
    const nodes = eligibleNodes(this.#nodes.list());
    const signature = signatureOf(nodes);
    const isTold = provider.ignoresNodes === true || this.#told.get(key) === signature;
    if (service === undefined || !this.#known.has(key) || isTold) return;
    // Before the call: what fails is asked for as a whole, not as nodes.
    this.#told.set(key, signature);
    const endNodes = metrics.nodeSeconds.startTimer();
    const endHost = metrics.hostSeconds.startTimer();
    try {
      await provider.updateNodes(service, nodes, signal);
      endHost();
      this.#tell(
        service,
        nodes.length === 0 ? noNodes : normal('UpdatedLoadBalancer', 'Updated load balancer with new hosts'),
      );
    } catch (error) {
      if (signal.aborted) throw error;
      metrics.nodeErrors.inc();
      const names = nodes.slice(0, 20).map(({ metadata }) => metadata.name);
      const message = `Error updating load balancer with new hosts [${names.join(' ')}]: ${messageOf(error)}`;
      this.#tell(service, warning('UpdateLoadBalancerFailed', message));
      throw error;
    } finally {
      endNodes();
    }
  }

  /** Takes down what belongs to Services that went while nobody held them: somebody took the finalizer off. */
  async #removeOrphans(signal: AbortSignal): Promise<void> {
    const { provider, client, log } = this.#options;
    try {
      for (const { namespace, name, uid } of await provider.all(signal)) {
        const cached = this.#services.get(`${namespace}/${name}`);
        if (cached?.metadata.uid === uid && hasFinalizer(cached)) continue;
        // The cache may be behind: the server is asked before anything is taken down.
        const found = await client.find(serviceKind, { namespace, name }, { signal });
        if (found?.metadata.uid === uid) continue;
        log.info({ service: `${namespace}/${name}`, uid }, 'a load balancer without its Service is removed');
        const spec = { type: 'LoadBalancer' } as const;
        await provider.remove({ metadata: { namespace, name, uid }, spec, status: { loadBalancer: {} } }, signal);
      }
    } catch (error) {
      if (!signal.aborted) log.warn({ err: error }, 'load balancers without a Service could not be looked for');
    }
  }

  #now(): string {
    return `${new Date(this.#clock.now()).toISOString().slice(0, 19)}Z`;
  }

  #forget(key: Key): void {
    this.#known.delete(key);
    this.#told.delete(key);
  }

  #tell(service: Service, event: Happening): void {
    this.#options.recorder.record(serviceKind, service, event);
  }
}

const withoutManagers = <T extends Service | Node>(object: T): T => {
  const { managedFields: _, ...metadata } = object.metadata;
  return { ...object, metadata };
};

const normal = (reason: string, message: string): Happening => ({ type: 'Normal', reason, message });
const warning = (reason: string, message: string): Happening => ({ type: 'Warning', reason, message });
const noNodes = warning('UnAvailableLoadBalancer', 'There are no available nodes for LoadBalancer');

/** Says what was being done when it fails; a cloud that asks for time keeps its own word. */
async function within<T>(what: string, work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    if (error instanceof RetryError) throw error;
    throw new Error(`${what}: ${messageOf(error)}`, { cause: error });
  }
}
