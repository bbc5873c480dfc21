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
import { standingOf } from '../routes/standing.ts';
import type { RouteOptions, ThisNode } from '../routes/options.ts';
import type { HealthCheck } from '../routes/health-check.ts';
import { healthCheckOf } from '../routes/health-check.ts';
import { serviceOwner } from '../routes/service.ts';
import { importOwner } from '../routes/import.ts';
import type { RoutingTable } from '../routes/table.ts';
import type { Caches } from './caches.ts';
import { sliceOwners } from './caches.ts';

/** What a follower reads and tells. */
export interface FollowerOptions {
  readonly caches: Caches;
  readonly table: RoutingTable;
  readonly routeOptions: RouteOptions;
  /** Something changed that the next `update` will answer. */
  readonly onChange: (what: 'service' | 'endpoint') => void;
  readonly onSlice: (slice: EndpointSlice) => void;
  readonly onHealthCheck: (owner: string, check: HealthCheck | undefined) => void;
}

/** Keeps a routing table as the objects in the caches ask: owners that changed are marked, and worked out once. */
export class Follower {
  readonly #options: FollowerOptions;
  /** Owner → what of it changed last. */
  readonly #dirty = new Map<string, 'service' | 'endpoint'>();
  /** Owner → what it asks for and does not get. Nearly always empty. */
  readonly #problems = new Map<string, RouteProblem>();
  #node: ThisNode | undefined;

  constructor(options: FollowerOptions) {
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

  /** How many owners wait, by what changed. */
  pending(what: 'service' | 'endpoint'): number {
    let count = 0;
    for (const each of this.#dirty.values()) if (each === what) count++;
    return count;
  }

  /** What Services ask for and do not get. */
  problems(): Iterable<RouteProblem> {
    return this.#problems.values();
  }

  /** Brings the table up to date with the caches, as this node sees them. */
  update(node: ThisNode): void {
    // What is near may be another matter now, for everybody.
    if (!isDeepStrictEqual(node, this.#node)) this.#markAll();
    this.#node = node;
    const owners = [...this.#dirty.keys()];
    this.#dirty.clear();
    for (const owner of owners) this.#work(owner, node);
  }

  /** What the routes of an owner are made of; undefined if it is gone. */
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

  #work(owner: string, node: ThisNode): void {
    const { table, onHealthCheck } = this.#options;
    const input = this.#inputOf(owner, node);
    const routes = input === undefined ? [] : routesOf(input);
    table.set(owner, routes, input && standingOf(input));
    if (!owner.startsWith('Service ')) return;
    const isThere = input !== undefined && 'service' in input;
    onHealthCheck(owner, isThere ? healthCheckOf(input) : undefined);
    const problem = isThere ? proxyProtocolProblem(input.service, routes) : undefined;
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
