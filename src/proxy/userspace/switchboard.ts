// What becomes of a connection that a listener has: the routing table's own rules, and what was learnt from dialling.
import type { Origin } from '../routes/decide.ts';
import { admits, choose, originOf, rulesFor } from '../routes/decide.ts';
import type { NodeNetwork, Route, Target } from '../routes/route.ts';
import { nowhere, routeKey, targetKey } from '../routes/route.ts';
import { Pins } from './pins.ts';
import { prefaceOf } from './preface.ts';

/** What a switchboard is told of a change. */
export interface SwitchboardChange {
  /** Forget every route first. */
  readonly isAll: boolean;
  readonly removed: readonly Route[];
  readonly added: readonly Route[];
  readonly network: NodeNetwork;
}

/** Somebody who wants to be connected, and whom was tried for them. */
export interface Call {
  readonly key: string;
  readonly source: string;
  readonly sourcePort: number;
  /** Targets that did not answer, by `targetKey`. */
  readonly failed: Set<string>;
}

/** Whom a call is to be connected with. */
export interface Forward {
  readonly type: 'forward';
  readonly target: Target;
  /** Nobody is left to be tried after this target. */
  readonly isLast: boolean;
  /** What the target is told before all that the caller says; undefined: nothing. */
  readonly preface: Uint8Array | undefined;
}

/** Where a call is to go. */
export type Connection = Forward | { readonly type: 'reject' | 'drop' };

export interface SwitchboardOptions {
  readonly random: () => number;
  /** Milliseconds that never jump. */
  readonly now: () => number;
  readonly mostPins: number;
  /** Whom a connection is tried with at most, one after the other. */
  readonly mostAttempts: number;
}

/** How long one that did not answer is passed over, while there are others. */
const suspectMs = 1000;
const mostSuspects = 4096;
const mostOrigins = 4096;

const reject = { type: 'reject' } as const;
const drop = { type: 'drop' } as const;

/** Connects callers with targets, by the routes it was told last. */
export class Switchboard {
  readonly #options: SwitchboardOptions;
  readonly #pins: Pins;
  readonly #routes = new Map<string, Route>();
  /** Target → until when it is passed over. */
  readonly #suspects = new Map<string, number>();
  /** Client → where it is. Working that out takes longer than all else about a call. */
  readonly #origins = new Map<string, Origin>();
  #network: NodeNetwork = nowhere;

  constructor(options: SwitchboardOptions) {
    this.#options = options;
    this.#pins = new Pins({ most: options.mostPins, now: options.now });
  }

  change({ isAll, removed, added, network }: SwitchboardChange): void {
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

  /** Whom to connect a call with, now or after somebody in it has failed. */
  connect(call: Call): Connection {
    const { key, source, failed } = call;
    const route = this.#routes.get(key);
    if (route === undefined) return reject;
    if (!admits(route, source)) return drop;
    const { action } = rulesFor(route, this.#origin(source, route));
    if (action.type !== 'forward') return action.type === 'reject' ? reject : drop;
    if (failed.size >= this.#options.mostAttempts) return reject;
    const untried = failed.size === 0 ? action.targets : action.targets.filter((each) => !failed.has(targetKey(each)));
    if (untried.length === 0) return reject;
    const target = choose(this.#unsuspected(untried), {
      random: this.#options.random,
      pinned: this.#pins.get(key, source),
    });
    this.#pins.set(key, source, target);
    const isLast = untried.length === 1 || failed.size + 1 >= this.#options.mostAttempts;
    const { proxyProtocol } = route;
    const preface = proxyProtocol && prefaceOf(proxyProtocol, { ...route, source, sourcePort: call.sourcePort });
    return { type: 'forward', target, isLast, preface };
  }

  /** A target did not answer a call: it is not tried again in it, and others are preferred for a while. */
  failed(call: Call, target: Target): void {
    const name = targetKey(target);
    call.failed.add(name);
    this.#suspects.delete(name);
    if (this.#suspects.size >= mostSuspects) this.#suspects.clear();
    this.#suspects.set(name, this.#options.now() + suspectMs);
  }

  #unsuspected(targets: readonly Target[]): readonly Target[] {
    if (this.#suspects.size === 0) return targets;
    const now = this.#options.now();
    for (const [name, until] of this.#suspects) {
      if (until > now) break;
      this.#suspects.delete(name);
    }
    const good = targets.filter((target) => !this.#suspects.has(targetKey(target)));
    return good.length === 0 ? targets : good;
  }

  #origin(source: string, { address }: Route): Origin {
    if (source === address) return 'node';
    let origin = this.#origins.get(source);
    if (origin === undefined) {
      if (this.#origins.size >= mostOrigins) this.#origins.clear();
      origin = originOf(this.#network, { source, address });
      this.#origins.set(source, origin);
    }
    return origin;
  }
}
