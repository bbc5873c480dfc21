import { messageOf } from '../../api/error-message.ts';
import { isNotFound } from '../../api/errors.ts';
import { goErrorText } from '../../api/go-error-text.ts';
import { joinHostPort } from '../../api/addresses.ts';
import { apiServiceKind } from '../../api/kinds/apiregistration/apiservice/kind.ts';
import { localAvailability, withAvailability } from '../../api/kinds/apiregistration/apiservice/facts.ts';
import type { ApiService } from '../../api/kinds/apiregistration/apiservice/schema.ts';
import { endpointSliceKind } from '../../api/kinds/discovery/endpointslice/kind.ts';
import { serviceKeyOf } from '../../api/kinds/discovery/endpointslice/facts.ts';
import type { EndpointSlice } from '../../api/kinds/discovery/endpointslice/schema.ts';
import { serviceKind } from '../../api/kinds/core/service/kind.ts';
import type { Service } from '../../api/kinds/core/service/schema.ts';
import { timestamp } from '../../api/timestamp.ts';
import { setTimeout } from '../../machine/timers.ts';
import type { ServerContext } from '../context.ts';
import { updateObject } from '../verbs/update-object.ts';
import { serverRequest } from '../verbs/write-request.ts';
import type { Availability } from './availability-plan.ts';
import { missingBackend, passed } from './availability-plan.ts';
import { fetchBefore, fetchDocument, targetOf } from './backend.ts';
import type { RemoteVersion } from './remote-versions.ts';

/** How long a check of the server may take, as in kube-apiserver. */
const checkMs = 5000;
/** Available servers are checked this often, unavailable ones with a backoff from the first to the last. */
const intervals = { available: 30_000, first: 1000, last: 30_000 };
/** A check succeeds if one of so many concurrent requests does: they may reach different endpoints. */
const attempts = 3;

/** The state of the checks of one APIService. */
interface Check {
  isRunning: boolean;
  /** Something has changed since the check began. */
  isStale: boolean;
  failures: number;
  timer: NodeJS.Timeout | undefined;
}

/**
 * Sets the condition Available of APIServices: checks the Services behind them, requests their discovery, and reads their
 * documents. Each is checked by itself, so that a server that stalls delays no other.
 */
export class AvailabilityChecks {
  readonly #context: ServerContext;
  readonly #watches = new DisposableStack();
  /** The name of an APIService → its checks */
  readonly #checks = new Map<string, Check>();
  readonly #running = new Set<Promise<void>>();
  readonly #closed = new AbortController();

  constructor(context: ServerContext) {
    this.#context = context;
  }

  /** Checks all APIServices now, and from then on those whose servers change. */
  start(): void {
    const { watchCache, aggregation } = this.#context;
    const ofService = (key: string): void => {
      for (const { apiService, service } of aggregation.remotes.all) {
        if (`${service.namespace}/${service.name}` === key) this.#enqueue(apiService.metadata.name ?? '');
      }
    };
    const [services, slices, apiServices] = [
      watchCache.of(serviceKind),
      watchCache.of(endpointSliceKind),
      watchCache.of(apiServiceKind),
    ];
    this.#watches.use(
      services.watchers.watch(({ key }) => {
        if (!aggregation.remotes.isEmpty) ofService(key.slice(services.prefix.length));
      }),
    );
    this.#watches.use(
      slices.watchers.watch(({ item, previous }) => {
        const object = (item ?? previous)?.object as EndpointSlice | undefined;
        if (!aggregation.remotes.isEmpty && object !== undefined) ofService(serviceKeyOf(object) ?? '');
      }),
    );
    aggregation.remotes.onChange((name) => this.#enqueue(name));
    for (const { key } of apiServices.range(apiServices.prefix)) this.#enqueue(key.slice(apiServices.prefix.length));
  }

  /** Resolves when nothing runs any more. */
  async close(): Promise<void> {
    this.#watches.dispose();
    this.#closed.abort();
    for (const { timer } of this.#checks.values()) clearTimeout(timer);
    await Promise.all(this.#running);
  }

  #enqueue(name: string): void {
    if (this.#closed.signal.aborted) return;
    const check = this.#checks.get(name) ?? { isRunning: false, isStale: false, failures: 0, timer: undefined };
    this.#checks.set(name, check);
    clearTimeout(check.timer);
    if (check.isRunning) {
      check.isStale = true;
      return;
    }
    check.isRunning = true;
    const running = this.#run(name, check).finally(() => this.#running.delete(running));
    this.#running.add(running);
  }

  async #run(name: string, check: Check): Promise<void> {
    const { log } = this.#context;
    let delay: number | undefined;
    do {
      check.isStale = false;
      // A writer that changes the object all the time must not make this server write all the time.
      await Promise.resolve();
      try {
        delay = await this.#reconcile(name, check);
      } catch (error) {
        if (this.#closed.signal.aborted) return;
        log.warn({ apiservice: name, err: error }, 'failed to set the availability of an APIService, retrying');
        delay = intervals.first;
      }
    } while (check.isStale && !this.#closed.signal.aborted);
    check.isRunning = false;
    if (delay === undefined) this.#checks.delete(name);
    else if (!this.#closed.signal.aborted) check.timer = setTimeout(() => this.#enqueue(name), delay);
  }

  /** Returns when to check again; undefined: never, until it changes. */
  async #reconcile(name: string, check: Check): Promise<number | undefined> {
    const { watchCache, aggregation } = this.#context;
    const cache = watchCache.of(apiServiceKind);
    const item = cache.get(cache.key('', name));
    const remote = aggregation.remotes.named(name);
    if (remote === undefined) aggregation.documents.forget(name);
    if (item === undefined || item.problem !== undefined) return undefined;
    if (remote === undefined) {
      await this.#write(name, localAvailability, (object) => object.spec.service === undefined);
      return undefined;
    }
    const { availability, discovery } = await this.#check(remote);
    const { service } = remote;
    // Another Service may have replaced the one that was checked.
    await this.#write(
      name,
      availability,
      ({ spec }) => spec.service?.name === service.name && spec.service.namespace === service.namespace,
    );
    check.failures = availability.status === 'True' ? 0 : check.failures + 1;
    aggregation.documents.setDiscovery(remote, discovery);
    if (availability.status === 'True') {
      await this.#readOpenApi(remote);
      return intervals.available;
    }
    return Math.min(intervals.first * 2 ** Math.min(check.failures, 10), intervals.last);
  }

  /** Documents that cannot be read stay as they were. */
  async #readOpenApi(remote: RemoteVersion): Promise<void> {
    const { watchCache, nodes, aggregation, log } = this.#context;
    try {
      const target = targetOf(remote, watchCache, aggregation.frontProxy);
      await aggregation.documents.readOpenApi(remote, (path, headers) =>
        fetchBefore(checkMs, (signal) => fetchDocument(nodes, target, { path, headers, signal }), this.#closed.signal),
      );
    } catch (error) {
      if (this.#closed.signal.aborted) return;
      log.debug(
        { apiservice: remote.apiService.metadata.name, reason: messageOf(error) },
        'no OpenAPI of an APIService',
      );
    }
  }

  /** The availability, and the discovery document of an available server. */
  async #check(remote: RemoteVersion): Promise<{ readonly availability: Availability; readonly discovery?: string }> {
    const { namespace, name } = remote.service;
    const [services, slices] = [
      this.#context.watchCache.of(serviceKind),
      this.#context.watchCache.of(endpointSliceKind),
    ];
    const service = services.get(services.key(namespace, name))?.object as Service | undefined; // of its cache
    const inNamespace = slices.range(slices.scope(namespace)).map(({ object }) => object as EndpointSlice);
    const missing = missingBackend(remote, service, inNamespace);
    if (missing !== undefined) return { availability: missing };
    try {
      const discovery = await Promise.any(Array.from({ length: attempts }, () => this.#checkDiscovery(remote)));
      return { availability: passed, discovery };
    } catch (error) {
      const [first] = (error as AggregateError).errors; // the only error of Promise.any
      return { availability: { status: 'False', reason: 'FailedDiscoveryCheck', message: messageOf(first) } };
    }
  }

  async #checkDiscovery(remote: RemoteVersion): Promise<string> {
    const { watchCache, nodes, aggregation } = this.#context;
    const target = targetOf(remote, watchCache, aggregation.frontProxy);
    const path = `/apis/${remote.group}/${remote.version}`;
    const url = `https://${joinHostPort(target.address.host, target.address.port)}${path}`;
    const { status, text } = await fetchBefore(
      checkMs,
      (signal) => fetchDocument(nodes, target, { path, signal }),
      this.#closed.signal,
    ).catch((error: unknown) => {
      throw new Error(
        `failing or missing response from ${url}: Get ${JSON.stringify(url)}: ${requestErrorText(error)}`,
        {
          cause: error,
        },
      );
    });
    if (status < 200 || status > 299) {
      throw new Error(`failing or missing response from ${url}: bad status from ${url}: ${status}`);
    }
    return text;
  }

  async #write(name: string, availability: Availability, isCurrent: (object: ApiService) => boolean): Promise<void> {
    const context = this.#context;
    const resource = { kind: apiServiceKind, cache: context.watchCache.of(apiServiceKind) };
    const now = timestamp(context.clock());
    const item = resource.cache.get(resource.cache.key('', name));
    const before = item?.object as ApiService | undefined; // of its cache
    if (before === undefined || withAvailability(before, availability, now) === before) return;
    try {
      await updateObject(context, resource, serverRequest({ namespace: '', name, subresource: 'status' }), {
        revise: (old) => {
          const object = old as ApiService; // of its cache
          return isCurrent(object) ? withAvailability(object, availability, now) : object;
        },
      });
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
  }
}

const requestErrorText = (error: unknown): string =>
  (error as { readonly name?: unknown }).name === 'AbortError'
    ? 'context deadline exceeded (Client.Timeout exceeded while awaiting headers)'
    : goErrorText(error);
