import { isDeepStrictEqual } from 'node:util';

import type { Service } from '../../api/kinds/core/service/schema.ts';
import type { EndpointSlice } from '../../api/kinds/discovery/endpointslice/schema.ts';
import type { ApiObject } from '../../api/metadata.ts';
import { keyOf } from '../../client/key.ts';
import type { Handler } from '../../client/informer.ts';
import type { RouteProblem } from '../backend.ts';
import { proxyProtocolProblem } from '../routes/proxy-protocol.ts';
import type { RouteInput } from '../routes/routes.ts';
import { routesOf } from '../routes/routes.ts';
import { precedenceOf } from '../routes/precedence.ts';
import type { RouteOptions, ThisNode } from '../routes/options.ts';
import type { HealthCheck } from '../routes/health-check.ts';
import { healthCheckOf } from '../routes/health-check.ts';
import { serviceOwner } from '../routes/service.ts';
import { importOwner } from '../routes/import.ts';
import type { RoutingTable } from '../routes/table.ts';
import type { Caches } from './caches.ts';
import { sliceOwners } from './caches.ts';

/** What a change tracker reads and notifies. */
export interface ChangeTrackerOptions {
  readonly caches: Caches;
  readonly table: RoutingTable;
  readonly routeOptions: RouteOptions;
  /** A change was recorded for the next `update`. */
  readonly onChange: (what: 'service' | 'endpoint') => void;
  readonly onSlice: (slice: EndpointSlice) => void;
  readonly onHealthCheck: (owner: string, check: HealthCheck | undefined) => void;
}

/** Keeps the routing table up to date with the informers: marks owners of changed objects, and recomputes each once per `update`. */
export class ChangeTracker {
  readonly #options: ChangeTrackerOptions;
  /** Owner → what changed last. */
  readonly #dirty = new Map<string, 'service' | 'endpoint'>();
  /** Owner → a request of it that is not met. Nearly always empty. */
  readonly #problems = new Map<string, RouteProblem>();
  #node: ThisNode | undefined;

  constructor(options: ChangeTrackerOptions) {
    this.#options = options;
    const { caches } = options;
    caches.services.subscribe(this.#marking<Service>((service) => [serviceOwner(keyOf(service))], 'service'));
    const importChanged = this.#marking<ApiObject>((object) => [importOwner(keyOf(object))], 'service');
    caches.imported.subscribe(importChanged);
    caches.serviceImports.subscribe(importChanged);
    const sliceChanged = this.#marking<EndpointSlice>(sliceOwners, 'endpoint');
    caches.slices.subscribe({
      added: (slice) => {
        options.onSlice(slice);
        sliceChanged.added?.(slice);
      },
      updated: (slice, old) => {
        options.onSlice(slice);
        sliceChanged.updated?.(slice, old);
      },
      deleted: (slice) => sliceChanged.deleted?.(slice),
    });
  }

  /** The number of owners that wait, by what changed. */
  pending(what: 'service' | 'endpoint'): number {
    let count = 0;
    for (const each of this.#dirty.values()) if (each === what) count++;
    return count;
  }

  /** Requests of Services that are not met. */
  problems(): Iterable<RouteProblem> {
    return this.#problems.values();
  }

  /** Recomputes the routes of all marked owners. */
  update(node: ThisNode): void {
    // Topology may choose other endpoints for all owners.
    if (!isDeepStrictEqual(node, this.#node)) this.#markAll();
    this.#node = node;
    const owners = [...this.#dirty.keys()];
    this.#dirty.clear();
    for (const owner of owners) this.#recompute(owner, node);
  }

  /** The input for the routes of an owner; undefined if it was deleted. */
  #inputOf(owner: string, node: ThisNode): RouteInput | undefined {
    const { caches, routeOptions } = this.#options;
    const space = owner.indexOf(' ');
    const key = owner.slice(space + 1);
    const slices = caches.slices.by('owner', owner);
    if (owner.startsWith('Service ')) {
      const service = caches.services.get(key);
      return service && { service, slices, node, options: routeOptions };
    }
    const [imported, serviceImport] = [caches.imported.get(key), caches.serviceImports.get(key)];
    if (imported === undefined && serviceImport === undefined) return undefined;
    return { import: { key, imported, serviceImport }, slices, node, options: routeOptions };
  }

  #recompute(owner: string, node: ThisNode): void {
    const { table, onHealthCheck } = this.#options;
    const input = this.#inputOf(owner, node);
    const routes = input === undefined ? [] : routesOf(input);
    table.set(owner, routes, input && precedenceOf(input));
    if (!owner.startsWith('Service ')) return;
    const exists = input !== undefined && 'service' in input;
    onHealthCheck(owner, exists ? healthCheckOf(input) : undefined);
    const problem = exists ? proxyProtocolProblem(input.service, routes) : undefined;
    if (problem === undefined) this.#problems.delete(owner);
    else this.#problems.set(owner, problem);
  }

  #markAll(): void {
    const { caches } = this.#options;
    for (const service of caches.services.list()) this.#dirty.set(serviceOwner(keyOf(service)), 'service');
    for (const object of [...caches.imported.list(), ...caches.serviceImports.list()]) {
      this.#dirty.set(importOwner(keyOf(object)), 'service');
    }
  }

  #marking<T>(ownersOf: (object: T) => readonly string[], what: 'service' | 'endpoint'): Handler<T> {
    const mark = (object: T): void => {
      for (const owner of ownersOf(object)) this.#dirty.set(owner, what);
      this.#options.onChange(what);
    };
    return {
      added: mark,
      updated: (object, old) => {
        for (const owner of ownersOf(old)) this.#dirty.set(owner, what);
        mark(object);
      },
      deleted: mark,
    };
  }
}
