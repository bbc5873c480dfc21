// The kernel does not translate packets to loopback addresses: routes there need listeners in every mode.
import type { IpFamily } from '../api/addresses.ts';
import { isLoopback } from '../api/addresses.ts';
import type { Backend, RouteChange, RouteProblem, RoutingState } from './backend.ts';
import type { Route } from './routes/route.ts';

/** Observes listeners at loopback, for metrics. */
export interface LoopbackObserver {
  /** After each sync: the number of node ports at loopback. */
  loopback?(family: IpFamily, nodePorts: number): void;
  /** A listener at loopback could not be opened. */
  unopened?(): void;
}

/** Passes routes at loopback addresses to listeners (KEP-6032) and all others to another backend. */
export class LoopbackBackend implements Backend {
  readonly #rules: Backend;
  readonly #openListeners: () => Promise<Backend>;
  readonly #observer: LoopbackObserver;
  #listeners: Backend | undefined;
  /** Failures that were counted. */
  #failures: ReadonlySet<string> = new Set();

  /** `openListeners` is called for the first route at loopback. */
  constructor(rules: Backend, openListeners: () => Promise<Backend>, observer: LoopbackObserver = {}) {
    this.#rules = rules;
    this.#openListeners = openListeners;
    this.#observer = observer;
  }

  async replace(state: RoutingState): Promise<void> {
    const ours = partOf(state, isLoopback);
    await this.#rules.replace(partOf(state, isElsewhere));
    if (this.#listeners === undefined && ours.routes.size === 0) return;
    this.#listeners ??= await this.#openListeners();
    await this.#listeners.replace(ours);
    this.#observe(ours);
  }

  async apply(change: RouteChange, state: RoutingState): Promise<void> {
    await this.#rules.apply(changeOf(change, isElsewhere), partOf(state, isElsewhere));
    const own = changeOf(change, isLoopback);
    if (own.removed.length === 0 && own.added.length === 0) return;
    const ours = partOf(state, isLoopback);
    this.#listeners ??= await this.#openListeners();
    await this.#listeners.apply(own, ours);
    this.#observe(ours);
  }

  problems(): readonly RouteProblem[] {
    return [...this.#rules.problems(), ...(this.#listeners?.problems() ?? [])];
  }

  async cleanup(): Promise<void> {
    await this.#listeners?.cleanup();
    await this.#rules.cleanup();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#listeners?.[Symbol.asyncDispose]();
    await this.#rules[Symbol.asyncDispose]();
  }

  #observe({ routes }: RoutingState): void {
    const counts = { IPv4: 0, IPv6: 0 };
    for (const { kind, family } of routes.values()) if (kind === 'nodePort') counts[family]++;
    for (const family of ['IPv4', 'IPv6'] as const) this.#observer.loopback?.(family, counts[family]);
    const failures = new Set(this.#listeners?.problems().map(({ text }) => text));
    for (const text of failures) if (!this.#failures.has(text)) this.#observer.unopened?.();
    this.#failures = failures;
  }
}

const isElsewhere = (address: string): boolean => !isLoopback(address);

/** The part of a state at some addresses. Routes are filtered lazily, because most changes do not read them. */
function partOf(state: RoutingState, isAt: (address: string) => boolean): RoutingState {
  const { network } = state;
  return {
    get routes() {
      return new Map([...state.routes].filter(([, { address }]) => isAt(address)));
    },
    // Rules drop packets to unused addresses in service ranges; ranges with listeners must not be among them.
    network: { ...network, serviceRanges: network.serviceRanges.filter(isAt) },
    isClusterIp: (address) => isAt(address) && state.isClusterIp(address),
  };
}

function changeOf({ removed, added }: RouteChange, isAt: (address: string) => boolean): RouteChange {
  const own = (routes: readonly Route[]): readonly Route[] => routes.filter(({ address }) => isAt(address));
  return { removed: own(removed), added: own(added) };
}
