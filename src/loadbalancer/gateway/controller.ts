import type { Logger } from 'pino';

import { serviceKind } from '../../api/kinds/core/service/kind.ts';
import type { Service } from '../../api/kinds/core/service/schema.ts';
import { importKeysOf, serviceKeyOf } from '../../api/kinds/discovery/endpointslice/facts.ts';
import { endpointSliceKind } from '../../api/kinds/discovery/endpointslice/kind.ts';
import { managedByLabel } from '../../api/kinds/discovery/endpointslice/labels.ts';
import type { EndpointSlice } from '../../api/kinds/discovery/endpointslice/schema.ts';
import { gatewayKind } from '../../api/kinds/gateway/gateway/kind.ts';
import type { Gateway } from '../../api/kinds/gateway/gateway/schema.ts';
import type { GatewayClass } from '../../api/kinds/gateway/gatewayclass/kind.ts';
import { gatewayClassKind } from '../../api/kinds/gateway/gatewayclass/kind.ts';
import { gatewayController, gatewayNameLabel } from '../../api/kinds/gateway/labels.ts';
import { tcpRouteKind, udpRouteKind } from '../../api/kinds/gateway/route/kinds.ts';
import type { Route, RouteParentStatus, RouteProtocol } from '../../api/kinds/gateway/route/schema.ts';
import { equalJson } from '../../api/schema/equal-json.ts';
import { timestamp } from '../../api/timestamp.ts';
import type { Client } from '../../client/client.ts';
import type { Clock } from '../../client/clock.ts';
import { logRetry, runController } from '../../client/controller.ts';
import { onAnyChange } from '../../client/handlers.ts';
import type { Informer } from '../../client/informer.ts';
import type { Informers } from '../../client/informers.ts';
import type { Key } from '../../client/key.ts';
import { keyOf, nameOf } from '../../client/key.ts';
import type { QueueObserver } from '../../client/queue.ts';
import { WorkQueue } from '../../client/queue.ts';
import { hasStatusCode } from '../../client/transport.ts';
import type { GatewayCaches } from './caches.ts';
import { no, withConditions, yes } from './conditions.ts';
import type { RouteObject } from './listeners.ts';
import type { GatewayPlan } from './plan.ts';
import { gatewaysOf, isOwnedBy, planGateway, serviceNameOf, slicesManager } from './plan.ts';
import { revisedService, sliceChanges } from './write.ts';

export interface GatewayControllerOptions {
  readonly client: Client;
  readonly informers: Informers;
  readonly caches: GatewayCaches;
  readonly services: Informer<Service>;
  readonly clock: Clock;
  readonly log: Logger;
  readonly observer?: QueueObserver;
}

/** The class that exists in every cluster. */
const className = 'fairlead';
/** The features of the Gateway API, by the names of its conformance tests. */
const features = ['Gateway', 'ReferenceGrant', 'TCPRoute', 'UDPRoute'];

/**
 * Serves Gateways whose class has the controller `fairlead.dev/gateway`: a Service of type LoadBalancer has the address and the
 * ports, and EndpointSlices of it have the endpoints of the backends of the routes. The load balancer and the proxy serve both
 * like any other Service.
 */
export class GatewayController {
  readonly #options: GatewayControllerOptions;
  readonly #caches: GatewayCaches;
  /** The queues of the current term; a queue whose term has ended ignores keys. */
  #queue: WorkQueue;
  #classes: WorkQueue;

  constructor(options: GatewayControllerOptions) {
    this.#options = options;
    this.#caches = options.caches;
    this.#queue = this.#gatewayQueue();
    this.#classes = this.#classQueue();
    this.#subscribe();
  }

  /** Reconciles until the signal fires. */
  async run(signal: AbortSignal): Promise<void> {
    const { classes, gateways } = this.#caches;
    const { services } = this.#options;
    const settled = [classes, gateways].map((cache) => ({ synced: (stop: AbortSignal) => cache.settled(stop) }));
    this.#queue = this.#gatewayQueue();
    this.#classes = this.#classQueue();
    const subscribe = (): readonly (() => void)[] => {
      for (const gateway of gateways.list()) this.#queue.add(keyOf(gateway));
      for (const each of classes.list()) this.#classes.add(keyOf(each));
      if (classes.isServed && classes.get(className) === undefined) this.#classes.add(className);
      return [];
    };
    await Promise.all([
      runController({ queue: this.#queue, caches: [...settled, services], subscribe }, signal),
      runController({ queue: this.#classes, caches: settled }, signal),
    ]);
  }

  #gatewayQueue(): WorkQueue {
    const { log, observer } = this.#options;
    return new WorkQueue({
      work: (key, signal) => this.#reconcile(key, signal),
      workers: 2,
      onError: logRetry(log, 'gateway-controller'),
      ...(observer === undefined ? {} : { observer }),
    });
  }

  #classQueue(): WorkQueue {
    return new WorkQueue({
      work: (key, signal) => this.#reconcileClass(key, signal),
      workers: 1,
      onError: logRetry(this.#options.log, 'gatewayclass-controller'),
    });
  }

  /** Maps changes to Gateways. */
  #subscribe(): void {
    const { classes, gateways, tcpRoutes, udpRoutes, grants, serviceImports, namespaces, slices } = this.#caches;
    const enqueueAll = (): void => {
      for (const gateway of gateways.list()) this.#queue.add(keyOf(gateway));
    };
    const enqueueBackend = (backend: string): void => {
      for (const route of [...tcpRoutes.by('backend', backend), ...udpRoutes.by('backend', backend)])
        enqueueRoute(route);
    };
    const enqueueRoute = (route: Route): void => {
      for (const key of gatewaysOf(route)) this.#queue.add(key);
    };
    classes.subscribe(
      onAnyChange((object) => {
        this.#classes.add(keyOf(object));
        for (const gateway of gateways.by('class', object.metadata.name ?? '')) this.#queue.add(keyOf(gateway));
      }),
    );
    gateways.subscribe(
      onAnyChange((gateway) => {
        this.#queue.add(keyOf(gateway));
        // Others may request the same address.
        if ((gateway.spec.addresses ?? []).length > 0) enqueueAll();
      }),
    );
    for (const routes of [tcpRoutes, udpRoutes]) {
      routes.subscribe(
        onAnyChange((route, old) => {
          if (old !== undefined) enqueueRoute(old);
          enqueueRoute(route);
        }),
      );
    }
    grants.subscribe(onAnyChange(enqueueAll));
    namespaces.subscribe({
      added: () => undefined,
      updated: (next, old) => {
        if (!equalJson(next.metadata.labels, old.metadata.labels)) enqueueAll();
      },
      deleted: () => undefined,
    });
    this.#options.services.subscribe(
      onAnyChange((service) => {
        const gateway = service.metadata.labels?.[gatewayNameLabel];
        if (gateway !== undefined) this.#queue.add(`${service.metadata.namespace ?? ''}/${gateway}`);
        enqueueBackend(`Service ${keyOf(service)}`);
      }),
    );
    serviceImports.subscribe(onAnyChange((each) => enqueueBackend(`ServiceImport ${keyOf(each)}`)));
    slices.subscribe(
      onAnyChange((slice) => {
        const gateway = slice.metadata.labels?.[gatewayNameLabel];
        if (slice.metadata.labels?.[managedByLabel] === slicesManager && gateway !== undefined) {
          this.#queue.add(`${slice.metadata.namespace ?? ''}/${gateway}`);
          return;
        }
        const service = serviceKeyOf(slice);
        if (service !== undefined) enqueueBackend(`Service ${service}`);
        for (const key of importKeysOf(slice)) enqueueBackend(`ServiceImport ${key}`);
      }),
    );
  }

  /** Sets the status of a class of this controller, and creates the one that every cluster has. */
  async #reconcileClass(name: Key, signal: AbortSignal): Promise<void> {
    const { client, clock } = this.#options;
    const object = this.#caches.classes.get(name);
    if (object === undefined) {
      if (name === className) await this.#createClass(signal);
      return;
    }
    if (object.spec.controllerName !== gatewayController) return;
    const accepted =
      object.spec.parametersRef === undefined
        ? yes('Accepted')
        : no('Accepted', 'InvalidParameters', 'parameters are not supported: remove parametersRef');
    const at = { generation: object.metadata.generation ?? 0, now: timestamp(clock.now()) };
    const status = {
      ...object.status,
      conditions: withConditions(object.status?.conditions, [accepted, yes('SupportedVersion')], at),
      supportedFeatures: features.map((feature) => ({ name: feature })),
    };
    if (equalJson(object.status, status)) return;
    await client.updateStatus(gatewayClassKind, { ...object, status }, { signal });
  }

  async #createClass(signal: AbortSignal): Promise<void> {
    const object: GatewayClass = {
      metadata: { name: className },
      spec: { controllerName: gatewayController, description: 'TCP and UDP by the load balancer and the proxy' },
    };
    await this.#options.client.create(gatewayClassKind, object, { signal }).catch((error: unknown) => {
      if (!hasStatusCode(error, 409)) throw error;
    });
  }

  #isServed({ spec }: Gateway): boolean {
    const found = this.#caches.classes.get(spec.gatewayClassName);
    return found?.spec.controllerName === gatewayController && found.spec.parametersRef === undefined;
  }

  async #reconcile(key: Key, signal: AbortSignal): Promise<void> {
    const gateway = this.#caches.gateways.get(key);
    if (gateway === undefined || gateway.metadata.deletionTimestamp !== undefined || !this.#isServed(gateway)) {
      await this.#release(key, gateway, signal);
      return;
    }
    await this.#startCaches(signal);
    const plan = planGateway({
      gateway,
      routes: this.#routesOf(key),
      others: this.#caches.gateways.list().filter((other) => keyOf(other) !== key && this.#isServed(other)),
      labelsOf: (name) => {
        const namespace = this.#caches.namespaces.get(name);
        return namespace === undefined ? undefined : (namespace.metadata.labels ?? {});
      },
      current: this.#serviceOf(gateway),
      now: timestamp(this.#options.clock.now()),
      service: (name) => this.#options.services.get(name),
      serviceImport: (name) => this.#caches.serviceImports.get(name),
      slicesOfService: (name) => this.#caches.slices.by('service', name),
      slicesOfImport: (name) => this.#caches.slices.by('import', name),
      grants: (namespace) => this.#caches.grants.by('namespace', namespace),
    });
    await this.#apply(gateway, plan, signal);
  }

  /** Starts the caches that only Gateways need, since there are many slices, and waits for them. */
  async #startCaches(signal: AbortSignal): Promise<void> {
    const { tcpRoutes, udpRoutes, grants, serviceImports, namespaces, slices } = this.#caches;
    this.#options.informers.start(tcpRoutes, udpRoutes, grants, serviceImports, namespaces, slices);
    await Promise.all([
      ...[tcpRoutes, udpRoutes, grants, serviceImports].map((cache) => cache.settled(signal)),
      ...[namespaces, slices].map((cache) => cache.synced(signal)),
    ]);
  }

  #routesOf(key: Key): readonly RouteObject[] {
    const { tcpRoutes, udpRoutes } = this.#caches;
    const of = (protocol: RouteProtocol, routes: readonly Route[]): readonly RouteObject[] =>
      routes.map((route) => ({ protocol, route }));
    return [...of('TCP', tcpRoutes.by('gateway', key)), ...of('UDP', udpRoutes.by('gateway', key))];
  }

  #serviceOf(gateway: Gateway): Service | undefined {
    return this.#options.services.get(`${gateway.metadata.namespace ?? ''}/${serviceNameOf(gateway)}`);
  }

  async #apply(gateway: Gateway, plan: GatewayPlan, signal: AbortSignal): Promise<void> {
    const { client } = this.#options;
    const current = this.#serviceOf(gateway);
    const isFree = current === undefined || isOwnedBy(current, gateway);
    if (isFree) {
      await this.#writeService(current, plan.service, signal);
      await this.#writeSlices(gateway, plan.service === undefined ? [] : plan.slices, signal);
    }
    for (const { object, parents } of plan.routes) await this.#writeParents(object, parents, signal);
    const { attachedListenerSets: _, ...before } = gateway.status ?? {};
    if (equalJson(before, plan.status)) return;
    await client.updateStatus(gatewayKind, { ...gateway, status: plan.status }, { signal });
  }

  async #writeService(current: Service | undefined, wanted: Service | undefined, signal: AbortSignal): Promise<void> {
    const { client } = this.#options;
    if (wanted === undefined) {
      if (current !== undefined) await client.delete(serviceKind, nameOf(current), { signal });
      return;
    }
    if (current === undefined) {
      await client.create(serviceKind, wanted, { signal });
      return;
    }
    const next = revisedService(current, wanted);
    if (next !== current) await client.update(serviceKind, next, { signal });
  }

  /** Creations come first, so that an endpoint that moves between slices is always in one. */
  async #writeSlices(gateway: Gateway, wanted: readonly EndpointSlice[], signal: AbortSignal): Promise<void> {
    const { client } = this.#options;
    const key = `${gateway.metadata.namespace ?? ''}/${serviceNameOf(gateway)}`;
    const current = this.#caches.slices
      .by('service', key)
      .filter(({ metadata }) => metadata.labels?.[managedByLabel] === slicesManager);
    const { create, update, remove } = sliceChanges(current, wanted);
    for (const slice of create) await client.create(endpointSliceKind, slice, { signal });
    for (const slice of update) await client.update(endpointSliceKind, slice, { signal });
    for (const slice of remove) await client.delete(endpointSliceKind, nameOf(slice), { signal });
  }

  async #writeParents(
    { protocol, route }: RouteObject,
    parents: readonly RouteParentStatus[],
    signal: AbortSignal,
  ): Promise<void> {
    if (equalJson(route.status?.parents ?? [], parents)) return;
    const kind = protocol === 'TCP' ? tcpRouteKind : udpRouteKind;
    await this.#options.client.updateStatus(kind, { ...route, status: { ...route.status, parents } }, { signal });
  }

  /** Removes what a Gateway had that is gone or that another controller serves now. */
  async #release(key: Key, gateway: Gateway | undefined, signal: AbortSignal): Promise<void> {
    const { client, services } = this.#options;
    const [namespace = '', name = ''] = key.split('/');
    const own = services
      .list()
      .filter(
        ({ metadata }) =>
          metadata.namespace === namespace &&
          metadata.labels?.[gatewayNameLabel] === name &&
          (metadata.ownerReferences ?? []).some((owner) => owner.kind === gatewayKind.kind && owner.name === name) &&
          (gateway === undefined || metadata.name === serviceNameOf(gateway)),
      );
    for (const service of own) {
      for (const slice of this.#caches.slices.by('service', keyOf(service))) {
        if (slice.metadata.labels?.[managedByLabel] !== slicesManager) continue;
        await client.delete(endpointSliceKind, nameOf(slice), { signal });
      }
      await client.delete(serviceKind, nameOf(service), { signal });
    }
    for (const object of this.#routesOf(key)) {
      const parents = (object.route.status?.parents ?? []).filter(
        ({ controllerName, parentRef }) =>
          controllerName !== gatewayController ||
          parentRef.name !== name ||
          (parentRef.namespace ?? object.route.metadata.namespace) !== namespace,
      );
      await this.#writeParents(object, parents, signal);
    }
  }
}
