import { messageOf } from '../../api/error-message.ts';
import { ignoreNotFound } from '../../api/errors.ts';
import { serviceKind } from '../../api/kinds/core/service/kind.ts';
import type { Service } from '../../api/kinds/core/service/schema.ts';
import { timestamp } from '../../api/timestamp.ts';
import type { Client } from '../../client/client.ts';
import type { Clock } from '../../client/clock.ts';
import type { PlannedEvent } from '../../client/event-correlator.ts';
import type { EventRecorder } from '../../client/events.ts';
import type { Key } from '../../client/key.ts';
import { nameOf } from '../../client/key.ts';
import { hasAddress } from '../clouds/ingress.ts';
import type { Problem } from '../clouds/evaluate.ts';
import type { KnownBackends } from './backends.ts';
import { noNodes, normal, syncFailed, warning } from './events.ts';
import type { ServiceControllerMetrics } from './metrics.ts';
import { cleanupFinalizer, hasFinalizer, needsCleanup, needsLoadBalancer } from './needs.ts';
import type { Ensured, LoadBalancerProvider } from './provider.ts';
import { RetryError } from './provider.ts';
import type { DesiredStatus } from './status.ts';
import { statusPatch } from './status.ts';

export interface ServiceSyncOptions {
  readonly client: Client;
  readonly provider: LoadBalancerProvider;
  readonly recorder: EventRecorder;
  readonly metrics: ServiceControllerMetrics;
  readonly clock: Clock;
  /** See RunOptions. */
  readonly isRefusalAnEntry: boolean;
  /** The latest cached state of a Service. */
  readonly newest: (key: Key) => Service | undefined;
  readonly backends: (service: Service) => KnownBackends;
}

/** The load balancer cannot be set up as specified for now; logged without a stack trace. */
export class RefusedError extends Error {}

/** Reconciles the load balancers of single Services. */
export class ServiceSync {
  readonly #options: ServiceSyncOptions;
  readonly #writes: ServiceWrites;
  /** Service → its state at the last ensure call. */
  readonly #known = new Map<Key, Service>();
  /** Service → signature of the backends that its load balancer has. */
  readonly #backends = new Map<Key, string>();

  constructor(options: ServiceSyncOptions) {
    this.#options = options;
    this.#writes = new ServiceWrites(options.client);
  }

  /** The Services that may have a load balancer. */
  get known(): ReadonlyMap<Key, Service> {
    return this.#known;
  }

  /** Ensures or removes the load balancer. */
  async sync(key: Key, service: Service | undefined, signal: AbortSignal): Promise<void> {
    const { classes } = this.#options.provider;
    const known = this.#known.get(key);
    const isReplaced = known !== undefined && known.metadata.uid !== service?.metadata.uid;
    if (isReplaced) {
      await this.#removeFromCloud(known, signal);
      this.#delete(key);
    }
    if (service === undefined) return;
    const isLeaving = service.metadata.deletionTimestamp !== undefined || !needsLoadBalancer(service, classes);
    if (!isLeaving) return this.#ensure(key, service, signal);
    if (needsCleanup(service, classes)) await this.#cleanUp(key, service, signal);
    else this.#delete(key);
  }

  /** Updates the backends if their signature has changed. */
  async updateBackends(key: Key, service: Service | undefined, signal: AbortSignal): Promise<void> {
    const { provider, metrics } = this.#options;
    if (service === undefined || !this.#known.has(key) || provider.ignoresNodes === true) return;
    const { signature, hasNoNodes, ...backends } = this.#options.backends(service);
    if (this.#backends.get(key) === signature) return;
    // Set before the call, because a failure is retried as a full sync.
    this.#backends.set(key, signature);
    const endNodes = metrics.nodeSeconds.startTimer();
    const endHost = metrics.hostSeconds.startTimer();
    try {
      await provider.updateBackends(service, backends, signal);
      endHost();
      const updated = normal('UpdatedLoadBalancer', 'Updated load balancer with new hosts');
      this.recordEvent(service, hasNoNodes ? noNodes : updated);
    } catch (error) {
      if (signal.aborted) throw error;
      metrics.nodeErrors.inc();
      const names = backends.nodes.slice(0, 20).map(({ metadata }) => metadata.name);
      const message = `Error updating load balancer with new hosts [${names.join(' ')}]: ${messageOf(error)}`;
      this.recordEvent(service, warning('UpdateLoadBalancerFailed', message));
      throw error;
    } finally {
      endNodes();
    }
  }

  recordEvent(service: Service, event: PlannedEvent): void {
    this.#options.recorder.record(serviceKind, service, event);
  }

  async #ensure(key: Key, service: Service, signal: AbortSignal): Promise<void> {
    const { provider } = this.#options;
    this.recordEvent(service, normal('EnsuringLoadBalancer', 'Ensuring load balancer'));
    const current = await this.#writes.addFinalizer(service, signal);
    this.#known.set(key, current);
    const { signature, hasNoNodes, ...backends } = this.#options.backends(current);
    if (hasNoNodes && provider.ignoresNodes !== true) this.recordEvent(current, noNodes);
    const ensuring = within('failed to ensure load balancer', provider.ensure(current, backends, signal));
    const ensured = await ensuring.catch((error: unknown) => {
      if (error instanceof RetryError) for (const event of error.events) this.recordEvent(current, event);
      throw error;
    });
    if (ensured === 'elsewhere') return;
    this.#backends.set(key, signature);
    await this.#report(key, { service: current, ensured }, signal);
  }

  async #report(
    key: Key,
    { service, ensured }: { readonly service: Service; readonly ensured: Ensured },
    signal: AbortSignal,
  ): Promise<void> {
    const { refusal, shortfall } = ensured;
    const problem = refusal ?? shortfall;
    // The cached state may already contain the status.
    const newest = this.#options.newest(key) ?? service;
    const conditions = newest.status.conditions ?? [];
    const isReported = problem !== undefined && conditions.some(({ message }) => message === problem.message);
    if (!isReported) for (const event of ensured.events) this.recordEvent(service, event);
    if (refusal === undefined) this.recordEvent(service, normal('EnsuredLoadBalancer', 'Ensured load balancer'));
    const { ingress = [] } = ensured.status;
    const status = { ingress: this.#options.isRefusalAnEntry ? ingress : ingress.filter(hasAddress) };
    await this.#writes.setStatus(newest, { status, problem, now: this.#now() }, signal);
    if (refusal !== undefined) this.#refuse(service, refusal, isReported);
    else if (shortfall?.isFinal === false)
      throw new RefusedError(`the load balancer serves only some ports: ${shortfall.message}`);
  }

  /** A refusal that only a change of the Service can resolve is reported once; others are retried. */
  #refuse(service: Service, refusal: Problem, isReported: boolean): void {
    const message = `failed to ensure load balancer: ${refusal.message}`;
    if (!refusal.isFinal) throw new RefusedError(message);
    if (!isReported) this.recordEvent(service, syncFailed(message));
  }

  async #cleanUp(key: Key, service: Service, signal: AbortSignal): Promise<void> {
    await this.#removeFromCloud(service, signal);
    await this.#writes.removeFinalizer(service, signal);
    this.recordEvent(service, normal('DeletedLoadBalancer', 'Deleted load balancer'));
    this.#delete(key);
    if (service.metadata.deletionTimestamp !== undefined) return;
    await this.#writes.setStatus(service, { status: {}, now: this.#now() }, signal);
  }

  async #removeFromCloud(service: Service, signal: AbortSignal): Promise<void> {
    const { provider } = this.#options;
    const finding = 'failed to check if load balancer exists before cleanup';
    if ((await within(finding, provider.find(service, signal))) === undefined) return;
    this.recordEvent(service, normal('DeletingLoadBalancer', 'Deleting load balancer'));
    await within('failed to delete load balancer', provider.remove(service, signal));
  }

  #now(): string {
    return timestamp(this.#options.clock.now());
  }

  #delete(key: Key): void {
    this.#known.delete(key);
    this.#backends.delete(key);
  }
}

/** Adds the failed operation to an error, except a RetryError. */
async function within<T>(what: string, work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    if (error instanceof RetryError) throw error;
    throw new Error(`${what}: ${messageOf(error)}`, { cause: error });
  }
}

/** The writes of the controller to a Service: patches, so that they do not conflict with other changes. */
class ServiceWrites {
  readonly #client: Client;

  constructor(client: Client) {
    this.#client = client;
  }

  /** Called before the first request to a cloud, so that the Service exists until its load balancer is deleted. */
  async addFinalizer(service: Service, signal: AbortSignal): Promise<Service> {
    if (hasFinalizer(service)) return service;
    const body = { metadata: { uid: service.metadata.uid, finalizers: [cleanupFinalizer] } };
    return this.#client.patch(serviceKind, nameOf(service), { body, type: 'strategic', signal });
  }

  async removeFinalizer(service: Service, signal: AbortSignal): Promise<void> {
    if (!hasFinalizer(service)) return;
    const body = {
      metadata: { uid: service.metadata.uid, '$deleteFromPrimitiveList/finalizers': [cleanupFinalizer] },
    };
    await ignoreNotFound(this.#client.patch(serviceKind, nameOf(service), { body, type: 'strategic', signal }));
  }

  /** Writes the status if it differs. Ignores a deleted Service. */
  async setStatus(service: Service, desired: DesiredStatus, signal: AbortSignal): Promise<void> {
    const body = statusPatch(service, desired);
    if (body === undefined) return;
    const options = { body, type: 'strategic', subresource: 'status', signal } as const;
    await ignoreNotFound(this.#client.patch(serviceKind, nameOf(service), options));
  }
}
