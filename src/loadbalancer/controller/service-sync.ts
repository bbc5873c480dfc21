import { messageOf } from '../../api/error-message.ts';
import { serviceKind } from '../../api/kinds/core/service/kind.ts';
import type { Service } from '../../api/kinds/core/service/schema.ts';
import { timestamp } from '../../api/timestamp.ts';
import type { Client } from '../../client/client.ts';
import type { Clock } from '../../client/clock.ts';
import type { PlannedEvent } from '../../client/event-correlator.ts';
import type { EventRecorder } from '../../client/events.ts';
import type { Key } from '../../client/key.ts';
import { hasAddress } from '../clouds/ingress.ts';
import type { Problem } from '../clouds/evaluate.ts';
import type { KnownBackends } from './backends.ts';
import { noNodes, normal, syncFailed, warning } from './events.ts';
import type { ServiceControllerMetrics } from './metrics.ts';
import { needsCleanup, wantsLoadBalancer } from './needs.ts';
import type { Ensured, LoadBalancerProvider } from './provider.ts';
import { RetryError } from './provider.ts';
import { ServiceWrites } from './service-writes.ts';

/** What work on one Service needs. */
export interface ServiceSyncOptions {
  readonly client: Client;
  readonly provider: LoadBalancerProvider;
  readonly recorder: EventRecorder;
  readonly metrics: ServiceControllerMetrics;
  readonly clock: Clock;
  /** Whether a refused Service that has no address gets an entry for its ports all the same. */
  readonly isRefusalAnEntry: boolean;
  /** The newest there is of a Service. */
  readonly newest: (key: Key) => Service | undefined;
  readonly backends: (service: Service) => KnownBackends;
}

/** The load balancer cannot be as the Service asks for, for now: no fault of this program. */
export class RefusedError extends Error {}

/** Brings the load balancer of one Service to what the Service asks for. Remembers what it asked for. */
export class ServiceSync {
  readonly #options: ServiceSyncOptions;
  readonly #writes: ServiceWrites;
  /** Service → as it was when its load balancer was last asked for. */
  readonly #known = new Map<Key, Service>();
  /** Service → the backends that its load balancer was last told. */
  readonly #told = new Map<Key, string>();

  constructor(options: ServiceSyncOptions) {
    this.#options = options;
    this.#writes = new ServiceWrites(options.client);
  }

  /** The Services that have a load balancer, or may have. */
  get known(): ReadonlyMap<Key, Service> {
    return this.#known;
  }

  /** Makes, changes or removes it. */
  async sync(key: Key, service: Service | undefined, signal: AbortSignal): Promise<void> {
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

  /** Tells it which backends there are, if it does not know. */
  async updateBackends(key: Key, service: Service | undefined, signal: AbortSignal): Promise<void> {
    const { provider, metrics } = this.#options;
    if (service === undefined || !this.#known.has(key) || provider.ignoresNodes === true) return;
    const { signature, hasNoNodes, ...backends } = this.#options.backends(service);
    if (this.#told.get(key) === signature) return;
    // Before the call: what fails is asked for as a whole, not as backends.
    this.#told.set(key, signature);
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
    const held = await this.#writes.addFinalizer(service, signal);
    this.#known.set(key, held);
    const { signature, hasNoNodes, ...backends } = this.#options.backends(held);
    if (hasNoNodes && provider.ignoresNodes !== true) this.recordEvent(held, noNodes);
    const ensuring = within('failed to ensure load balancer', provider.ensure(held, backends, signal));
    const ensured = await ensuring.catch((error: unknown) => {
      if (error instanceof RetryError) for (const event of error.events) this.recordEvent(held, event);
      throw error;
    });
    if (ensured === 'elsewhere') return;
    this.#told.set(key, signature);
    await this.#report(key, { held, ensured }, signal);
  }

  async #report(
    key: Key,
    { held, ensured }: { readonly held: Service; readonly ensured: Ensured },
    signal: AbortSignal,
  ): Promise<void> {
    const { refusal, shortfall } = ensured;
    const problem = refusal ?? shortfall;
    // The newest there is: a status that was written since is not written again.
    const newest = this.#options.newest(key) ?? held;
    const conditions = newest.status.conditions ?? [];
    const isTold = problem !== undefined && conditions.some(({ message }) => message === problem.message);
    if (!isTold) for (const event of ensured.events) this.recordEvent(held, event);
    if (refusal === undefined) this.recordEvent(held, normal('EnsuredLoadBalancer', 'Ensured load balancer'));
    const { ingress = [] } = ensured.status;
    const status = { ingress: this.#options.isRefusalAnEntry ? ingress : ingress.filter(hasAddress) };
    await this.#writes.setStatus(newest, { status, problem, now: this.#now() }, signal);
    if (refusal !== undefined) this.#refuse(held, refusal, isTold);
    else if (shortfall?.isFinal === false)
      throw new RefusedError(`the load balancer is set up in part: ${shortfall.message}`);
  }

  /** What a change of the Service alone can mend is told once and waits for it; the rest is tried again. */
  #refuse(service: Service, refusal: Problem, isTold: boolean): void {
    const message = `failed to ensure load balancer: ${refusal.message}`;
    if (!refusal.isFinal) throw new RefusedError(message);
    if (!isTold) this.recordEvent(service, syncFailed(message));
  }

  async #cleanUp(key: Key, service: Service, signal: AbortSignal): Promise<void> {
    await this.#removeFromCloud(service, signal);
    await this.#writes.removeFinalizer(service, signal);
    this.recordEvent(service, normal('DeletedLoadBalancer', 'Deleted load balancer'));
    this.#forget(key);
    if (service.metadata.deletionTimestamp !== undefined) return;
    await this.#writes.setStatus(service, { status: {}, now: this.#now() }, signal);
  }

  async #removeFromCloud(service: Service, signal: AbortSignal): Promise<void> {
    const { provider } = this.#options;
    const looking = 'failed to check if load balancer exists before cleanup';
    if ((await within(looking, provider.find(service, signal))) === undefined) return;
    this.recordEvent(service, normal('DeletingLoadBalancer', 'Deleting load balancer'));
    await within('failed to delete load balancer', provider.remove(service, signal));
  }

  #now(): string {
    return timestamp(this.#options.clock.now());
  }

  #forget(key: Key): void {
    this.#known.delete(key);
    this.#told.delete(key);
  }
}

/** Says what was being done when it fails; a cloud that asks for time keeps its own word. */
async function within<T>(what: string, work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    if (error instanceof RetryError) throw error;
    throw new Error(`${what}: ${messageOf(error)}`, { cause: error });
  }
}
