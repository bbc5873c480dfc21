// Chooses the target of an accepted connection: by the rules of the routing table, session affinity and recent dial failures.
import { proxyHeaderOf } from '../../api/proxy-header.ts';
import type { Origin } from '../routes/decide.ts';
import { admits, choose, originOf, rulesFor } from '../routes/decide.ts';
import type { NodeNetwork, Route, Target } from '../routes/route.ts';
import { unknownNetwork, routeKey, targetKey } from '../routes/route.ts';
import { AffinityTable } from './affinity-table.ts';

/** A change of routes. */
export interface BalancerChange {
  /** `added` are all routes; others are removed. */
  readonly isAll: boolean;
  readonly removed: readonly Route[];
  readonly added: readonly Route[];
  readonly network: NodeNetwork;
}

/** An accepted connection that has no target yet. */
export interface PendingConnection {
  readonly key: string;
  readonly source: string;
  readonly sourcePort: number;
  /** Targets that did not answer it, by `targetKey`. */
  readonly failed: Set<string>;
}

/** The target to dial next. */
export interface Forward {
  readonly type: 'forward';
  readonly target: Target;
  /** No other target is left to try. */
  readonly isLast: boolean;
  /** The header of the PROXY protocol, if the route uses it. */
  readonly proxyHeader: Uint8Array | undefined;
}

/** The decision about a pending connection. */
export type Decision = Forward | { readonly type: 'reject' | 'drop' };

export interface BalancerOptions {
  readonly random: () => number;
  /** Milliseconds of a monotonic clock. */
  readonly now: () => number;
  readonly maxAffinityEntries: number;
  /** Targets that are dialed for a connection at most, one after the other. */
  readonly maxAttempts: number;
}

/** How long other targets are preferred to one that did not answer. */
const suspectMs = 1000;
const maxSuspects = 4096;
const maxOrigins = 4096;

const reject = { type: 'reject' } as const;
const drop = { type: 'drop' } as const;

/** Chooses a target for each connection. */
export class Balancer {
  readonly #options: BalancerOptions;
  readonly #affinity: AffinityTable;
  readonly #routes = new Map<string, Route>();
  /** Target that did not answer → until when others are preferred. */
  readonly #suspects = new Map<string, number>();
  /** Client → its origin: a cache, because computing it takes longer than the rest of a decision. */
  readonly #origins = new Map<string, Origin>();
  #network: NodeNetwork = unknownNetwork;

  constructor(options: BalancerOptions) {
    this.#options = options;
    this.#affinity = new AffinityTable({ maxEntries: options.maxAffinityEntries, now: options.now });
  }

  change({ isAll, removed, added, network }: BalancerChange): void {
    if (isAll) this.#routes.clear();
    for (const route of removed) this.#routes.delete(routeKey(route));
    for (const route of added) this.#routes.set(routeKey(route), route);
    this.#network = network;
    this.#origins.clear();
  }

  /** The route of a key. */
  route(key: string): Route | undefined {
    return this.#routes.get(key);
  }

  /** Chooses the target to dial, first or after a failure. */
  choose(pending: PendingConnection): Decision {
    const { key, source, failed } = pending;
    const route = this.#routes.get(key);
    if (route === undefined) return reject;
    if (!admits(route, source)) return drop;
    const { action } = rulesFor(route, this.#origin(source, route));
    if (action.type !== 'forward') return action.type === 'reject' ? reject : drop;
    if (failed.size >= this.#options.maxAttempts) return reject;
    const untried = failed.size === 0 ? action.targets : action.targets.filter((each) => !failed.has(targetKey(each)));
    if (untried.length === 0) return reject;
    const target = choose(this.#unsuspected(untried), {
      random: this.#options.random,
      affinityTarget: this.#affinity.get(key, source),
    });
    this.#affinity.set(key, source, target);
    const isLast = untried.length === 1 || failed.size + 1 >= this.#options.maxAttempts;
    const { proxyProtocol } = route;
    const proxyHeader =
      proxyProtocol && proxyHeaderOf(proxyProtocol, { ...route, source, sourcePort: pending.sourcePort });
    return { type: 'forward', target, isLast, proxyHeader };
  }

  /** Records that a target did not answer: this connection does not try it again, and others prefer other targets for a while. */
  failed(pending: PendingConnection, target: Target): void {
    const name = targetKey(target);
    pending.failed.add(name);
    this.#suspects.delete(name);
    if (this.#suspects.size >= maxSuspects) this.#suspects.clear();
    this.#suspects.set(name, this.#options.now() + suspectMs);
  }

  #unsuspected(targets: readonly Target[]): readonly Target[] {
    if (this.#suspects.size === 0) return targets;
    const now = this.#options.now();
    for (const [name, until] of this.#suspects) {
      if (until > now) break;
      this.#suspects.delete(name);
    }
    const others = targets.filter((target) => !this.#suspects.has(targetKey(target)));
    return others.length === 0 ? targets : others;
  }

  #origin(source: string, { address }: Route): Origin {
    if (source === address) return 'node';
    let origin = this.#origins.get(source);
    if (origin === undefined) {
      if (this.#origins.size >= maxOrigins) this.#origins.clear();
      origin = originOf(this.#network, { source, address });
      this.#origins.set(source, origin);
    }
    return origin;
  }
}
