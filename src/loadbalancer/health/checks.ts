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
import { needsLoadBalancer } from '../controller/needs.ts';
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
  readonly slices: Informer<EndpointSlice, 'service' | 'import'>;
  readonly recorder: EventRecorder;
  readonly log: Logger;
  readonly clock: Clock;
  /** Values of loadBalancerClass whose Services are ours. */
  readonly classes: readonly string[];
}

/** Probes in progress at once, over all Services. */
const maxConcurrentProbes = 128;
/** The limit of endpoints in the annotation; further unhealthy ones stay in use. */
const maxNamed = 1000;

/**
 * Probes the backends of Services with the health check annotation, and writes unhealthy ones into an annotation of the
 * Service, which proxies read. A new process starts from that annotation.
 */
export class HealthChecks {
  readonly #options: HealthCheckOptions;
  readonly #probes = new Semaphore(maxConcurrentProbes);
  /** Service → stops its checks. */
  readonly #running = new Map<Key, AbortController>();
  /** All checks that have not ended, including stopped ones. */
  readonly #loops = new Set<Promise<void>>();
  readonly #slices: Informer<EndpointSlice, 'service' | 'import'>;

  constructor(options: HealthCheckOptions) {
    this.#options = options;
    this.#slices = options.slices;
  }

  /** Runs checks until the signal fires. */
  async run(signal: AbortSignal): Promise<void> {
    const stop = this.#options.services.subscribe({
      added: (service) => this.#onService(service, signal),
      updated: (service) => this.#onService(service, signal),
      deleted: (service) => this.#end(keyOf(service)),
    });
    await new Promise<void>((resolve) => {
      if (signal.aborted) resolve();
      else signal.addEventListener('abort', () => resolve(), { once: true });
    });
    stop();
    for (const key of this.#running.keys()) this.#end(key);
    await Promise.all(this.#loops);
  }

  #onService(service: Service, signal: AbortSignal): void {
    const key = keyOf(service);
    const isOurs = needsLoadBalancer(service, this.#options.classes) && !service.metadata.deletionTimestamp;
    const config = isOurs ? healthConfigOf(service) : 'none';
    if (config === 'none' || 'problem' in config) {
      this.#end(key);
      if (config !== 'none')
        this.#recordEvent(service, warning('HealthCheckInvalid', `Backends are not checked: ${config.problem}`));
      if (unhealthyEndpoints(service).size > 0) this.#clearMark(service, signal);
      return;
    }
    if (this.#running.has(key)) return; // it reads the config in every round
    const own = new AbortController();
    this.#running.set(key, own);
    // There are many slices, so they are watched only if a Service has health checks.
    this.#options.informers.start(this.#slices);
    const loop = this.#loop(key, AbortSignal.any([signal, own.signal])).finally(() => this.#loops.delete(loop));
    this.#loops.add(loop);
  }

  #end(key: Key): void {
    this.#running.get(key)?.abort();
    this.#running.delete(key);
  }

  async #loop(key: Key, signal: AbortSignal): Promise<void> {
    const { services, clock, log } = this.#options;
    let health: ReadonlyMap<string, BackendHealth> = new Map();
    await this.#slices.synced(signal).catch(() => undefined);
    while (!signal.aborted) {
      const service = services.get(key);
      const config = service === undefined ? 'none' : healthConfigOf(service);
      if (service === undefined || config === 'none' || 'problem' in config) return;
      try {
        health = await this.#round(service, { settings: config, health, signal });
      } catch (error) {
        if (!signal.aborted)
          log.debug({ err: error, service: key }, 'could not write the result of a health check, retrying');
      }
      await sleep(clock, config.intervalMs, signal);
    }
  }

  async #round(service: Service, { settings, health, signal }: Round): Promise<ReadonlyMap<string, BackendHealth>> {
    const targets = targetsOf(service, this.#slices.by('service', keyOf(service)));
    const named = unhealthyEndpoints(service);
    const after = new Map<string, BackendHealth>();
    await Promise.all(
      targets.map(async ({ address, port, endpoints }) => {
        const [own = ''] = endpoints;
        const isHealthy = await this.#probes.run(() =>
          canConnect(address, port, { timeoutMs: settings.timeoutMs, signal }),
        );
        after.set(own, nextHealth(health.get(own) ?? { isUp: !named.has(own), contrary: 0 }, isHealthy, settings));
      }),
    );
    signal.throwIfAborted();
    await this.#report(service, targets, { health: after, signal });
    return after;
  }

  async #report(
    service: Service,
    targets: readonly Target[],
    { health, signal }: Omit<Round, 'settings'>,
  ): Promise<void> {
    const down = targets.filter(({ endpoints: [own = ''] }) => health.get(own)?.isUp === false);
    const before = unhealthyEndpoints(service);
    const names = down
      .flatMap(({ endpoints }) => endpoints)
      .toSorted()
      .slice(0, maxNamed);
    if (names.length === before.size && names.every((name) => before.has(name))) return;
    await this.#mark(service, names, signal);
    const failed = names.filter((name) => !before.has(name));
    const left = `${targets.length - down.length} of ${targets.length} are healthy`;
    if (failed.length > 0)
      this.#recordEvent(service, warning('BackendUnhealthy', `Unhealthy: ${listed(failed)}; ${left}`));
    const back = [...before].filter((name) => !names.includes(name));
    if (back.length > 0)
      this.#recordEvent(service, normal('BackendHealthy', `Healthy again or removed: ${listed(back)}; ${left}`));
  }

  async #mark(service: Service, endpoints: readonly string[], signal: AbortSignal): Promise<void> {
    const { namespace, name = '', uid } = service.metadata;
    const value = endpoints.length === 0 ? null : endpoints.join(',');
    const body = { metadata: { uid, annotations: { [unhealthyAnnotation]: value } } };
    await this.#options.client.patch(serviceKind, { namespace, name }, { body, signal });
  }

  /** Removes the annotation when checks are disabled, so that all endpoints are used. */
  #clearMark(service: Service, signal: AbortSignal): void {
    this.#mark(service, [], signal).catch((error: unknown) =>
      this.#options.log.debug(
        { err: error, service: keyOf(service) },
        'could not remove the annotation of unhealthy backends',
      ),
    );
  }

  #recordEvent(service: Service, event: ReturnType<typeof normal>): void {
    this.#options.recorder.record(serviceKind, service, event);
  }
}

interface Round {
  readonly settings: HealthSettings;
  readonly health: ReadonlyMap<string, BackendHealth>;
  readonly signal: AbortSignal;
}

/** The first few names. */
const listed = (names: readonly string[]): string =>
  names.length <= 5 ? names.join(', ') : `${names.slice(0, 5).join(', ')} and ${names.length - 5} more`;
