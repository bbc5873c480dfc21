import { isDeepStrictEqual } from 'node:util';

import type { RouteChange } from '../backend.ts';
import type { RouteConflict } from './conflict.ts';
import type { DecisionTable } from './decide.ts';
import type { NodeNetwork, Route } from './route.ts';
import { routeKey } from './route.ts';
import type { Basis, Precedence, Reservation } from './precedence.ts';
import { basisOf, rankOf } from './precedence.ts';
import { getOrCompute } from '../../api/maps.ts';
import { compareText } from '../../api/order.ts';

interface Claim {
  readonly route: Route;
  readonly basis: Basis;
  /** Creation timestamp of its owner. */
  readonly since: string;
}

interface Owner {
  readonly keys: readonly string[];
  readonly precedence: Precedence;
}

interface Holder {
  readonly owner: string;
  readonly basis: Basis;
}

const noPrecedence: Precedence = { since: '', isImport: false, reservations: [] };

/**
 * All routes of the node, merged from those of each owner. It tracks changes since the last `takeChange`, so that several changes
 * of a route are one, and a reverted one is none.
 */
export class RoutingTable implements DecisionTable {
  readonly #routes = new Map<string, Route>();
  readonly #owners = new Map<string, Owner>();
  /** Key → its claims by precedence, if there are several or a displaced one. Nearly always empty. */
  readonly #contested = new Map<string, readonly Claim[]>();
  /** Address, or key of a route → the owners that reserve it; see precedence.ts. */
  readonly #holders = new Map<string, readonly Holder[]>();
  /** Address → keys of claims that a reservation can displace: all but those of the first rank. */
  readonly #displaceable = new Map<string, Set<string>>();
  /** Cluster IP → number of its routes. */
  readonly #clusterIps = new Map<string, number>();
  /** Key → the route at the last `takeChange`, for keys that may have changed. */
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

  /** Sets the routes and the precedence of an owner; without both, removes it. */
  set(owner: string, routes: readonly Route[], given: Partial<Precedence> = {}): void {
    const precedence = { ...noPrecedence, ...given };
    const next = new Map<string, Claim>();
    for (const route of routes) {
      const claim = { route, basis: basisOf(route.kind, precedence.isImport), since: precedence.since };
      const other = next.get(routeKey(route));
      if (other === undefined || rankOf(claim.basis) < rankOf(other.basis)) next.set(routeKey(route), claim);
    }
    const { keys = [], precedence: before = noPrecedence } = this.#owners.get(owner) ?? {};
    for (const key of keys) if (!next.has(key)) this.#withdraw(owner, key);
    if (next.size === 0 && precedence.reservations.length === 0) this.#owners.delete(owner);
    else this.#owners.set(owner, { keys: [...next.keys()], precedence });
    for (const [key, claim] of next) this.#claim(key, claim);
    if (!isDeepStrictEqual(before.reservations, precedence.reservations))
      this.#changeReservations(owner, before.reservations, precedence.reservations);
  }

  /** Claims that other owners displace. */
  conflicts(): readonly RouteConflict[] {
    return [...this.#contested].flatMap(([key, claims]) => {
      const winner = claims.find(({ route }) => route === this.#routes.get(key));
      return claims.flatMap((claim) => {
        const better = claim === winner ? undefined : (this.#displacer(key, claim) ?? holderOf(winner));
        if (better === undefined) return [];
        const { owner: loser, address, protocol, port } = claim.route;
        return [{ address, protocol, port, loser, winner: better.owner, basis: better.basis }];
      });
    });
  }

  /** Returns the change since the last call. */
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
    const { owner, address } = claim.route;
    if (rankOf(claim.basis) > 0) getOrCompute(this.#displaceable, address, () => new Set()).add(key);
    this.#resolve(key, [...this.#claimsOfOthers(key, owner), claim]);
  }

  #withdraw(owner: string, key: string): void {
    const address = (this.#routes.get(key) ?? this.#contested.get(key)?.[0]?.route)?.address ?? '';
    const others = this.#claimsOfOthers(key, owner);
    this.#resolve(key, others);
    if (others.length > 0) return;
    const keys = this.#displaceable.get(address);
    if (keys?.delete(key) === true && keys.size === 0) this.#displaceable.delete(address);
  }

  #claimsOfOthers(key: string, owner: string): readonly Claim[] {
    const claims = this.#contested.get(key) ?? this.#soleClaim(key);
    return claims.filter(({ route }) => route.owner !== owner);
  }

  #soleClaim(key: string): readonly Claim[] {
    const route = this.#routes.get(key);
    if (route === undefined) return [];
    const { isImport, since } = this.#owners.get(route.owner)?.precedence ?? noPrecedence;
    return [{ route, basis: basisOf(route.kind, isImport), since }];
  }

  /** Routes the first claim by precedence that no reservation displaces. The order of changes does not matter. */
  #resolve(key: string, claims: readonly Claim[]): void {
    const order = claims.length < 2 ? claims : claims.toSorted(byPrecedence);
    const winner = order.find((claim) => this.#displacer(key, claim) === undefined);
    if (order.length > 1 || winner !== order[0]) this.#contested.set(key, order);
    else this.#contested.delete(key);
    this.#put(key, winner?.route);
  }

  /** Another owner with a reservation of a better basis for the address or port of a claim. */
  #displacer(key: string, { route, basis }: Claim): Holder | undefined {
    const isBetter = (holder: Holder): boolean => holder.owner !== route.owner && rankOf(holder.basis) < rankOf(basis);
    return this.#holders.get(route.address)?.find(isBetter) ?? this.#holders.get(key)?.find(isBetter);
  }

  #changeReservations(owner: string, before: readonly Reservation[], now: readonly Reservation[]): void {
    for (const { place } of before) {
      const others = (this.#holders.get(place) ?? []).filter((holder) => holder.owner !== owner);
      if (others.length > 0) this.#holders.set(place, others);
      else this.#holders.delete(place);
    }
    for (const { place, basis } of now) {
      const holders = [...(this.#holders.get(place) ?? []), { owner, basis }];
      this.#holders.set(place, holders.length < 2 ? holders : holders.sort(byBasis));
    }
    for (const place of new Set([...before, ...now].map(({ place }) => place))) {
      for (const key of [place, ...(this.#displaceable.get(place) ?? [])]) {
        this.#resolve(key, this.#contested.get(key) ?? this.#soleClaim(key));
      }
    }
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

const holderOf = (claim: Claim | undefined): Holder | undefined =>
  claim && { owner: claim.route.owner, basis: claim.basis };

const byPrecedence = (a: Claim, b: Claim): number =>
  rankOf(a.basis) - rankOf(b.basis) || compareText(a.since, b.since) || compareText(a.route.owner, b.route.owner);

const byBasis = (a: Holder, b: Holder): number => rankOf(a.basis) - rankOf(b.basis) || compareText(a.owner, b.owner);
