// The kernel does not translate what is sent to loopback: routes there need listeners, whatever makes the others.
import type { IpFamily } from '../api/addresses.ts';
import type { Backend, RouteChange, RouteProblem, RoutingState } from './backend.ts';
import { isLoopback } from './routes/decide.ts';
import type { Route } from './routes/route.ts';

/** Told of listeners at loopback, for metrics. */
export interface LoopbackObserver {
  /** After each sync: so many node ports of a family are asked for at loopback. */
  loopback?(family: IpFamily, nodePorts: number): void;
  /** A listener at loopback could not be opened. */
  unopened?(): void;
}

/** A backend for every route but those at loopback addresses, and listeners for those, once there are any (KEP-6032). */
export class BesideLoopback implements Backend {
  readonly #rules: Backend;
  readonly #open: () => Promise<Backend>;
  readonly #observer: LoopbackObserver;
  #listeners: Backend | undefined;
  /** What is known to be closed, so that it is counted once. */
  #closed: ReadonlySet<string> = new Set();

  /** `open` opens what listens. */
  constructor(rules: Backend, open: () => Promise<Backend>, observer: LoopbackObserver = {}) {
    this.#rules = rules;
    this.#open = open;
    this.#observer = observer;
  }

  async replace(state: RoutingState): Promise<void> {
    const ours = partOf(state, isLoopback);
    await this.#rules.replace(partOf(state, isElsewhere));
    if (this.#listeners === undefined && ours.routes.size === 0) return;
    this.#listeners ??= await this.#open();
    await this.#listeners.replace(ours);
    this.#tell(ours);
  }

  async apply(change: RouteChange, state: RoutingState): Promise<void> {
    await this.#rules.apply(changeOf(change, isElsewhere), partOf(state, isElsewhere));
    const own = changeOf(change, isLoopback);
    if (own.removed.length === 0 && own.added.length === 0) return;
    const ours = partOf(state, isLoopback);
    this.#listeners ??= await this.#open();
    await this.#listeners.apply(own, ours);
    this.#tell(ours);
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

  #tell({ routes }: RoutingState): void {
    const counts = { IPv4: 0, IPv6: 0 };
    for (const { kind, family } of routes.values()) if (kind === 'nodePort') counts[family]++;
    for (const family of ['IPv4', 'IPv6'] as const) this.#observer.loopback?.(family, counts[family]);
    const closed = new Set(this.#listeners?.problems().map(({ text }) => text));
    for (const text of closed) if (!this.#closed.has(text)) this.#observer.unopened?.();
    this.#closed = closed;
  }
}

const isElsewhere = (address: string): boolean => !isLoopback(address);

/** What of a state is at some addresses. Routes are picked when they are asked for: most changes are made without. */
function partOf(state: RoutingState, isAt: (address: string) => boolean): RoutingState {
  const { network } = state;
  return {
    get routes() {
      return new Map([...state.routes].filter(([, { address }]) => isAt(address)));
    },
    // What belongs to nobody is dropped: that must not be asked of rules where listeners are.
    network: { ...network, serviceRanges: network.serviceRanges.filter(isAt) },
    isClusterIp: (address) => isAt(address) && state.isClusterIp(address),
  };
}

function changeOf({ removed, added }: RouteChange, isAt: (address: string) => boolean): RouteChange {
  const own = (routes: readonly Route[]): readonly Route[] => routes.filter(({ address }) => isAt(address));
  return { removed: own(removed), added: own(added) };
}
