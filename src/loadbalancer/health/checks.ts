import type { Logger } from 'pino';

import { serviceKind } from '../../api/kinds/core/service/kind.ts';
import type { Service } from '../../api/kinds/core/service/schema.ts';
import { unhealthyAnnotation, unhealthyEndpoints } from '../../api/kinds/core/service/facts.ts';
import type { EndpointSlice } from '../../api/kinds/discovery/endpointslice/schema.ts';
import type { Client } from '../../client/client.ts';
import type { Clock } from '../../client/clock.ts';
import { sleep } from '../../client/clock.ts';
import type { EventRecorder } from '../../client/events.ts';
import type { Informer } from '../../client/informer.ts';
import type { Informers } from '../../client/informers.ts';
import type { Key } from '../../client/key.ts';
import { keyOf } from '../../client/key.ts';
import { Semaphore } from '../../machine/semaphore.ts';
import { normal, warning } from '../controller/events.ts';
import { wantsLoadBalancer } from '../controller/needs.ts';
import type { HealthSettings } from './settings.ts';
import { healthConfigOf } from './settings.ts';
import type { BackendHealth } from './probe.ts';
import { canConnect, nextHealth } from './probe.ts';
import type { Target } from './targets.ts';
import { targetsOf } from './targets.ts';

export interface HealthCheckOptions {
  readonly client: Client;
  readonly informers: Pick<Informers, 'start'>;
  readonly services: Pick<Informer<Service>, 'get' | 'subscribe'>;
  readonly slices: Informer<EndpointSlice, 'service'>;
  readonly recorder: EventRecorder;
  readonly log: Logger;
  readonly clock: Clock;
  /** Values of loadBalancerClass whose Services are ours. */
  readonly classes: readonly string[];
}

/** Probes in progress at once, over all Services. */
const maxConcurrentProbes = 128;
/** How many endpoints are named in an annotation; more that fail stay in use. */
const mostNamed = 1000;

/**
 * Connects to the backends of Services that ask for it, and says on the Service which of them do not answer. Who
 * carries the traffic reads it there. A new process begins with what the one before found.
 */
export class HealthChecks {
  readonly #options: HealthCheckOptions;
  readonly #probes = new Semaphore(maxConcurrentProbes);
  /** Service → ends its checks. */
  readonly #running = new Map<Key, AbortController>();
  /** Checks that have not ended yet, also of those that were told to. */
  readonly #watches = new Set<Promise<void>>();
  readonly #slices: Informer<EndpointSlice, 'service'>;

  constructor(options: HealthCheckOptions) {
    this.#options = options;
    this.#slices = options.slices;
  }

  /** Checks until the signal fires. */
  async run(signal: AbortSignal): Promise<void> {
    const stop = this.#options.services.subscribe({
      added: (service) => this.#look(service, signal),
      updated: (service) => this.#look(service, signal),
      deleted: (service) => this.#end(keyOf(service)),
    });
    await new Promise<void>((resolve) => {
      if (signal.aborted) resolve();
      else signal.addEventListener('abort', () => resolve(), { once: true });
    });
    stop();
    for (const key of this.#running.keys()) this.#end(key);
    await Promise.all(this.#watches);
  }

  #look(service: Service, signal: AbortSignal): void {
    const key = keyOf(service);
    const isOurs = wantsLoadBalancer(service, this.#options.classes) && !service.metadata.deletionTimestamp;
    const wish = isOurs ? healthConfigOf(service) : 'none';
    if (wish === 'none' || 'problem' in wish) {
      this.#end(key);
      if (wish !== 'none')
        this.#tell(service, warning('HealthCheckInvalid', `Backends are not checked: ${wish.problem}`));
      if (unhealthyEndpoints(service).size > 0) this.#unmark(service, signal);
      return;
    }
    if (this.#running.has(key)) return; // which reads the wish anew in every round
    const own = new AbortController();
    this.#running.set(key, own);
    // There are many slices: they are read only if a Service asks for a check.
    this.#options.informers.start(this.#slices);
    const watch = this.#watch(key, AbortSignal.any([signal, own.signal])).finally(() => this.#watches.delete(watch));
    this.#watches.add(watch);
  }

  #end(key: Key): void {
    this.#running.get(key)?.abort();
    this.#running.delete(key);
  }

  async #watch(key: Key, signal: AbortSignal): Promise<void> {
    const { services, clock, log } = this.#options;
    let standings: ReadonlyMap<string, BackendHealth> = new Map();
    await this.#slices.synced(signal).catch(() => undefined);
    while (!signal.aborted) {
      const service = services.get(key);
      const wish = service === undefined ? 'none' : healthConfigOf(service);
      if (service === undefined || wish === 'none' || 'problem' in wish) return;
      try {
        standings = await this.#round(service, { settings: wish, standings, signal });
      } catch (error) {
        if (!signal.aborted) log.debug({ err: error, service: key }, 'a check could not be told, will try again');
      }
      await sleep(clock, wish.intervalMs, signal);
    }
  }

  async #round(service: Service, { settings, standings, signal }: Round): Promise<ReadonlyMap<string, BackendHealth>> {
    const targets = targetsOf(service, this.#slices.by('service', keyOf(service)));
    const named = unhealthyEndpoints(service);
    const after = new Map<string, BackendHealth>();
    await Promise.all(
      targets.map(async ({ address, port, endpoints }) => {
        const [own = ''] = endpoints;
        const hasAnswered = await this.#probes.run(() =>
          canConnect(address, port, { timeoutMs: settings.timeoutMs, signal }),
        );
        after.set(own, nextHealth(standings.get(own) ?? { isUp: !named.has(own), contrary: 0 }, hasAnswered, settings));
      }),
    );
    signal.throwIfAborted();
    await this.#report(service, targets, { standings: after, signal });
    return after;
  }

  async #report(
    service: Service,
    targets: readonly Target[],
    { standings, signal }: Omit<Round, 'settings'>,
  ): Promise<void> {
    const down = targets.filter(({ endpoints: [own = ''] }) => standings.get(own)?.isUp === false);
    const before = unhealthyEndpoints(service);
    const names = down
      .flatMap(({ endpoints }) => endpoints)
      .toSorted()
      .slice(0, mostNamed);
    if (names.length === before.size && names.every((name) => before.has(name))) return;
    await this.#mark(service, names, signal);
    const failed = names.filter((name) => !before.has(name));
    const left = `${targets.length - down.length} of ${targets.length} answer`;
    if (failed.length > 0)
      this.#tell(service, warning('BackendUnhealthy', `No answer from ${listed(failed)}: ${left}`));
    const back = [...before].filter((name) => !names.includes(name));
    if (back.length > 0) this.#tell(service, normal('BackendHealthy', `No longer left out: ${listed(back)}; ${left}`));
  }

  async #mark(service: Service, endpoints: readonly string[], signal: AbortSignal): Promise<void> {
    const { namespace, name = '', uid } = service.metadata;
    const value = endpoints.length === 0 ? null : endpoints.join(',');
    const body = { metadata: { uid, annotations: { [unhealthyAnnotation]: value } } };
    await this.#options.client.patch(serviceKind, { namespace, name }, { body, signal });
  }

  /** Nobody looks any more, so that nothing is left out. */
  #unmark(service: Service, signal: AbortSignal): void {
    this.#mark(service, [], signal).catch((error: unknown) =>
      this.#options.log.debug({ err: error, service: keyOf(service) }, 'an old finding could not be taken back'),
    );
  }

  #tell(service: Service, event: ReturnType<typeof normal>): void {
    this.#options.recorder.record(serviceKind, service, event);
  }
}

interface Round {
  readonly settings: HealthSettings;
  readonly standings: ReadonlyMap<string, BackendHealth>;
  readonly signal: AbortSignal;
}

/** A few of them, for a person. */
const listed = (names: readonly string[]): string =>
  names.length <= 5 ? names.join(', ') : `${names.slice(0, 5).join(', ')} and ${names.length - 5} more`;
