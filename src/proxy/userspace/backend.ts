import type { Logger } from 'pino';
import type { Registry } from 'prom-client';

import { systemClock } from '../../client/clock.ts';
import type { Backend, RouteChange, RouteProblem, RoutingState } from '../backend.ts';
import type { NodeNetwork, Route } from '../routes/route.ts';
import { unknownNetwork, placeText } from '../routes/route.ts';
import { Listeners } from './listeners.ts';
import type { ListenRequest, Engine, Listener } from './engine.ts';
import { allowedSourcesOf } from './allowed-sources.ts';
import { registerMetrics } from './metrics.ts';
import { NativeEngine } from './native/engine.ts';
import { loadLibc } from './native/libc.ts';
import { NodeEngine } from './node/engine.ts';
import type { UserspaceLimits, UserspaceOptions } from './options.ts';
import { limitsWithin } from './options.ts';
import { listenProblem, limitProblem } from './problem.ts';
import type { BalancerChange } from './balancer.ts';
import { UdpRelays } from './udp.ts';

/** The log and metrics of a backend. */
export interface UserspaceContext {
  readonly log?: Pick<Logger, 'error' | 'warn'>;
  readonly metrics?: Registry;
}

/** Serves routes by listening at their addresses. It needs no rights but those to listen there. */
export class UserspaceBackend implements Backend {
  readonly #engine: Engine;
  readonly #udp: UdpRelays;
  readonly #listeners: Listeners;
  #unsupported: readonly RouteProblem[] = [];
  #network: NodeNetwork = unknownNetwork;

  private constructor(engine: Engine, limits: UserspaceLimits, context: UserspaceContext) {
    this.#engine = engine;
    const warning = 'no descriptor is left for another UDP flow, and datagrams are lost: raise `ulimit -n`';
    this.#udp = new UdpRelays({ limits, onExhausted: () => context.log?.warn(warning) });
    this.#listeners = new Listeners({
      open: (route, request) => this.#open(route, request),
      explain: (route, error) => listenProblem(route, error, this.#network.serviceRanges),
      maxListeners: limits.listeners,
      explainLimit: (owner) => limitProblem(owner, limits.listeners),
      allowedSources: (route) => allowedSourcesOf(route, this.#network),
      clock: systemClock,
      random: Math.random,
    });
    if (context.metrics !== undefined) {
      const unopened = (): number => this.#listeners.unopened;
      registerMetrics(context.metrics, { counters: () => engine.counters, udp: this.#udp, unopened });
    }
  }

  /** Rejects if the requested engine is not available here. */
  static async open(options: UserspaceOptions = {}, context: UserspaceContext = {}): Promise<UserspaceBackend> {
    const limits = limitsWithin(options.descriptors ?? Infinity, options.limits);
    const drainMs = options.drainMs ?? 1000;
    const libc = options.engine === 'node' ? undefined : await loadLibc();
    if (libc === undefined) {
      if (options.engine === 'native')
        throw new Error('native relays need Linux on x64 or arm64, and the koffi package');
      return new UserspaceBackend(new NodeEngine({ limits, drainMs }), limits, context);
    }
    const onExit = (error: Error): void =>
      context.log?.error({ err: error }, 'a relay thread failed and its connections are closed; starting another');
    const engine = new NativeEngine({ libc, limits, drainMs, threads: options.threads ?? 1, onExit });
    return new UserspaceBackend(engine, limits, context);
  }

  async replace(state: RoutingState): Promise<void> {
    const routes = [...state.routes.values()];
    await this.#update({ isAll: true, removed: [], added: routes, network: state.network });
    this.#unsupported = routes.filter(isUnsupported).map(unsupported);
    await this.#listeners.replace(routes.filter((route) => !isUnsupported(route)));
  }

  async apply({ removed, added }: RouteChange, state: RoutingState): Promise<void> {
    await this.#update({ isAll: false, removed, added, network: state.network });
    const changed = [...removed, ...added].some(isUnsupported);
    if (changed) this.#unsupported = [...state.routes.values()].filter(isUnsupported).map(unsupported);
    const served = (routes: readonly Route[]): readonly Route[] => routes.filter((route) => !isUnsupported(route));
    await this.#listeners.apply({ removed: served(removed), added: served(added) });
  }

  problems(): readonly RouteProblem[] {
    return [...this.#listeners.problems(), ...this.#unsupported];
  }

  /** Removes nothing: the sockets end with the process. */
  cleanup(): Promise<void> {
    return Promise.resolve();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#listeners[Symbol.asyncDispose]();
    await Promise.all([this.#udp[Symbol.asyncDispose](), this.#engine[Symbol.asyncDispose]()]);
  }

  /** Updates balancers. It comes before the listeners change, so that every accepted connection has a route. */
  async #update(change: BalancerChange): Promise<void> {
    this.#network = change.network;
    this.#udp.change(only('UDP', change));
    await this.#engine.change(only('TCP', change));
  }

  #open(route: Route, request: ListenRequest): Promise<Listener> {
    return route.protocol === 'UDP' ? this.#udp.open(request) : this.#engine.open(request);
  }
}

function only(protocol: Route['protocol'], change: BalancerChange): BalancerChange {
  const own = (routes: readonly Route[]): readonly Route[] => routes.filter((route) => route.protocol === protocol);
  return { ...change, removed: own(change.removed), added: own(change.added) };
}

const isUnsupported = ({ protocol }: Route): boolean => protocol !== 'TCP' && protocol !== 'UDP';

const unsupported = (route: Route): RouteProblem => ({
  owner: route.owner,
  text: `${route.owner} is not served at ${placeText(route)}/${route.protocol}: listeners carry TCP and UDP; use nftables`,
});
