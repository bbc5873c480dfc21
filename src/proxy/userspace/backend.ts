import type { Logger } from 'pino';
import type { Registry } from 'prom-client';

import { systemClock } from '../../client/clock.ts';
import type { Backend, RouteChange, RouteProblem, RoutingState } from '../backend.ts';
import type { NodeNetwork, Route } from '../routes/route.ts';
import { nowhere, placeText } from '../routes/route.ts';
import { Doors } from './doors.ts';
import type { DoorPlace, Engine, OpenDoor } from './engine.ts';
import { heardAt } from './heard.ts';
import { describe } from './metrics.ts';
import { NativeEngine } from './native/engine.ts';
import { loadLibc } from './native/libc.ts';
import { NodeEngine } from './node/engine.ts';
import type { UserspaceLimits, UserspaceOptions } from './options.ts';
import { limitsWithin } from './options.ts';
import { doorProblem, limitProblem } from './problem.ts';
import type { SwitchboardChange } from './switchboard.ts';
import { UdpRelays } from './udp.ts';

/** Where a backend tells what it does. */
export interface UserspaceContext {
  readonly log?: Pick<Logger, 'error' | 'warn'>;
  readonly metrics?: Registry;
}

/** Makes routes happen by listening at their addresses: no rights are needed beyond those to listen there. */
export class UserspaceBackend implements Backend {
  readonly #engine: Engine;
  readonly #udp: UdpRelays;
  readonly #doors: Doors;
  #unsupported: readonly RouteProblem[] = [];
  #network: NodeNetwork = nowhere;

  private constructor(engine: Engine, limits: UserspaceLimits, context: UserspaceContext) {
    this.#engine = engine;
    const complaint = 'no descriptor is left for another UDP flow, and datagrams are lost: raise `ulimit -n`';
    this.#udp = new UdpRelays({ limits, onExhausted: () => context.log?.warn(complaint) });
    this.#doors = new Doors({
      open: (route, place) => this.#open(route, place),
      explain: (route, error) => doorProblem(route, error, this.#network.serviceRanges),
      most: limits.listeners,
      explainLimit: (owner) => limitProblem(owner, limits.listeners),
      heard: (route) => heardAt(route, this.#network),
      clock: systemClock,
      random: Math.random,
    });
    if (context.metrics !== undefined) {
      const unopened = (): number => this.#doors.unopened;
      describe(context.metrics, { counters: () => engine.counters, udp: this.#udp, unopened });
    }
  }

  /** Opens it; rejects where an engine was asked for that cannot be had. */
  static async open(options: UserspaceOptions = {}, context: UserspaceContext = {}): Promise<UserspaceBackend> {
    const limits = limitsWithin(options.descriptors ?? Infinity, options.limits);
    const drainMs = options.drainMs ?? 1000;
    const libc = options.engine === 'node' ? undefined : await loadLibc();
    if (libc === undefined) {
      if (options.engine === 'native')
        throw new Error('native relays need Linux on x64 or arm64, and the koffi package');
      return new UserspaceBackend(new NodeEngine({ limits, drainMs }), limits, context);
    }
    const onDeath = (error: Error): void =>
      context.log?.error(
        { err: error },
        'a thread of the proxy ended, and its connections with it; another is started',
      );
    const engine = new NativeEngine({ libc, limits, drainMs, threads: options.threads ?? 1, onDeath });
    return new UserspaceBackend(engine, limits, context);
  }

  async replace(state: RoutingState): Promise<void> {
    const routes = [...state.routes.values()];
    await this.#tell({ isAll: true, removed: [], added: routes, network: state.network });
    this.#unsupported = routes.filter(isUnsupported).map(unsupported);
    await this.#doors.replace(routes.filter((route) => !isUnsupported(route)));
  }

  async apply({ removed, added }: RouteChange, state: RoutingState): Promise<void> {
    await this.#tell({ isAll: false, removed, added, network: state.network });
    const changed = [...removed, ...added].some(isUnsupported);
    if (changed) this.#unsupported = [...state.routes.values()].filter(isUnsupported).map(unsupported);
    const served = (routes: readonly Route[]): readonly Route[] => routes.filter((route) => !isUnsupported(route));
    await this.#doors.apply({ removed: served(removed), added: served(added) });
  }

  problems(): readonly RouteProblem[] {
    return [...this.#doors.problems(), ...this.#unsupported];
  }

  /** Nothing outlives it: what it holds are sockets of this process. */
  cleanup(): Promise<void> {
    return Promise.resolve();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#doors[Symbol.asyncDispose]();
    await Promise.all([this.#udp[Symbol.asyncDispose](), this.#engine[Symbol.asyncDispose]()]);
  }

  /** First what connections go by, then where they arrive: nobody is accepted who cannot be sent on. */
  async #tell(change: SwitchboardChange): Promise<void> {
    this.#network = change.network;
    this.#udp.change(only('UDP', change));
    await this.#engine.change(only('TCP', change));
  }

  #open(route: Route, place: DoorPlace): Promise<OpenDoor> {
    return route.protocol === 'UDP' ? this.#udp.open(place) : this.#engine.open(place);
  }
}

function only(protocol: Route['protocol'], change: SwitchboardChange): SwitchboardChange {
  const own = (routes: readonly Route[]): readonly Route[] => routes.filter((route) => route.protocol === protocol);
  return { ...change, removed: own(change.removed), added: own(change.added) };
}

const isUnsupported = ({ protocol }: Route): boolean => protocol !== 'TCP' && protocol !== 'UDP';

const unsupported = (route: Route): RouteProblem => ({
  owner: route.owner,
  text: `${route.owner} is not served at ${placeText(route)}/${route.protocol}: listeners carry TCP and UDP; use nftables`,
});
