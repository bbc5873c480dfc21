import { isDeepStrictEqual } from 'node:util';

import type { RouteChange } from '../backend.ts';
import type { DecisionTable } from './decide.ts';
import type { NodeNetwork, Route } from './route.ts';
import { routeKey } from './route.ts';

/** Two owners that want one address, protocol and port. */
export interface RouteConflict {
  readonly key: string;
  readonly winner: string;
  readonly loser: string;
}

interface Claim {
  readonly route: Route;
  /** When its owner was created, as text: the older one keeps an address. */
  readonly since: string;
}

/**
 * All routes of the node, put together from those of each owner. It remembers what changed since a backend was last
 * told, so that many changes are one, and one that was undone is none.
 */
export class RoutingTable implements DecisionTable {
  readonly #routes = new Map<string, Route>();
  /** Owner → keys it claims. */
  readonly #owned = new Map<string, readonly string[]>();
  /** Key → claims of more than one owner, the winner first. Nearly always empty. */
  readonly #contested = new Map<string, readonly Claim[]>();
  /** Owner → when it was created. */
  readonly #since = new Map<string, string>();
  /** Cluster IP → how many routes have it. */
  readonly #clusterIps = new Map<string, number>();
  /** Key → what the backend knows of it, for keys that may differ now. */
  readonly #before = new Map<string, Route | undefined>();
  #network: NodeNetwork;

  constructor(network: NodeNetwork) {
    this.#network = network;
  }

  get routes(): ReadonlyMap<string, Route> {
    return this.#routes;
  }

  get network(): NodeNetwork {
    return this.#network;
  }

  set network(network: NodeNetwork) {
    this.#network = network;
  }

  isClusterIp(address: string): boolean {
    return this.#clusterIps.has(address);
  }

  /** The routes of one owner, as they are now; none when it is gone. `since`: when it was created. */
  set(owner: string, routes: readonly Route[], since = ''): void {
    const next = new Map(routes.map((route) => [routeKey(route), route]));
    for (const key of this.#owned.get(owner) ?? []) if (!next.has(key)) this.#withdraw(owner, key);
    if (next.size === 0) {
      this.#owned.delete(owner);
      this.#since.delete(owner);
      return;
    }
    this.#owned.set(owner, [...next.keys()]);
    this.#since.set(owner, since);
    for (const [key, route] of next) this.#claim(key, { route, since });
  }

  /** Who wants what somebody else has. */
  conflicts(): readonly RouteConflict[] {
    return [...this.#contested].flatMap(([key, [winner, ...losers]]) =>
      losers.map(({ route }) => ({ key, winner: winner?.route.owner ?? '', loser: route.owner })),
    );
  }

  /** What changed since it was last asked, and forgets it. */
  takeChange(): RouteChange {
    const removed: Route[] = [];
    const added: Route[] = [];
    for (const [key, before] of this.#before) {
      const now = this.#routes.get(key);
      if (isDeepStrictEqual(before, now)) continue;
      if (before !== undefined) removed.push(before);
      if (now !== undefined) added.push(now);
    }
    this.#before.clear();
    return { removed, added };
  }

  #claim(key: string, claim: Claim): void {
    const { owner } = claim.route;
    const holder = this.#routes.get(key);
    const contested = this.#contested.get(key);
    if (contested === undefined && (holder === undefined || holder.owner === owner)) return this.#put(key, claim.route);
    const others: readonly Claim[] =
      contested?.filter(({ route }) => route.owner !== owner) ??
      (holder === undefined ? [] : [{ route: holder, since: this.#since.get(holder.owner) ?? '' }]);
    this.#settle(key, [...others, claim]);
  }

  #withdraw(owner: string, key: string): void {
    const contested = this.#contested.get(key);
    if (contested === undefined) this.#put(key, undefined);
    else
      this.#settle(
        key,
        contested.filter(({ route }) => route.owner !== owner),
      );
  }

  /** The older owner wins, then the one whose name is first: the same everywhere, in whatever order they came. */
  #settle(key: string, claims: readonly Claim[]): void {
    const order = claims.toSorted((a, b) => compare(a.since, b.since) || compare(a.route.owner, b.route.owner));
    if (order.length > 1) this.#contested.set(key, order);
    else this.#contested.delete(key);
    this.#put(key, order[0]?.route);
  }

  #put(key: string, route: Route | undefined): void {
    const old = this.#routes.get(key);
    if (old === route) return;
    if (!this.#before.has(key)) this.#before.set(key, old);
    if (old?.kind === 'clusterIP') this.#count(old.address, -1);
    if (route?.kind === 'clusterIP') this.#count(route.address, 1);
    if (route === undefined) this.#routes.delete(key);
    else this.#routes.set(key, route);
  }

  #count(address: string, by: number): void {
    const count = (this.#clusterIps.get(address) ?? 0) + by;
    if (count === 0) this.#clusterIps.delete(address);
    else this.#clusterIps.set(address, count);
  }
}

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);
