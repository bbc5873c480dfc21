import { isDeepStrictEqual } from 'node:util';

import { messageOf } from '../api/error-message.ts';
import { serviceKind } from '../api/kinds/core/service/kind.ts';
import type { Service } from '../api/kinds/core/service/schema.ts';
import type { Clock, Random } from '../client/clock.ts';
import { systemClock } from '../client/clock.ts';
import { onAnyChange } from '../client/handlers.ts';
import { EventRecorder } from '../client/events.ts';
import { Informers } from '../client/informers.ts';
import type { Key } from '../client/key.ts';
import { keyFor } from '../client/key.ts';
import type { PartContext, RunningPart } from '../client/part.ts';
import type { Backend, RouteProblem } from './backend.ts';
import { isEmptyChange } from './backend.ts';
import { Caches } from './controller/caches.ts';
import { RouteReporter } from './controller/route-reporter.ts';
import { ChangeTracker } from './controller/change-tracker.ts';
import { HealthChecks } from './controller/health-checks.ts';
import type { NodeState } from './controller/node.ts';
import { machineAddresses, nodeNetwork, thisNode, drainReason } from './controller/node.ts';
import { BoundedRunner } from './controller/runner.ts';
import { TriggerTimes } from './controller/trigger-times.ts';
import { ProxyMetrics } from './metrics.ts';
import { modes } from './modes.ts';
import type { ProxyOptions } from './options.ts';
import { routeOptionsOf } from './options.ts';
import { conflictProblems } from './routes/conflict.ts';
import type { HealthCheck } from './routes/health-check.ts';
import type { ThisNode } from './routes/options.ts';
import { isOfOneImport } from './routes/derived.ts';
import { RoutingTable } from './routes/table.ts';

export type { ProxyOptions } from './options.ts';

/** The machine, which tests replace. */
export interface ProxyMachine {
  readonly clock?: Clock;
  readonly random?: Random;
  /** The addresses of the machine. */
  readonly addresses?: () => readonly string[];
  /** In place of the backend of the mode. */
  readonly openBackend?: () => Promise<Backend>;
}

/** Starts the proxy of a node. Rules remain when it is disposed of, so that a restart interrupts nothing. */
export function startProxy(context: PartContext, options: ProxyOptions, machine: ProxyMachine = {}): RunningPart {
  return new RunningProxy(context, options, machine);
}

class RunningProxy implements RunningPart {
  readonly ready: Promise<void>;
  readonly #context: PartContext;
  readonly #options: ProxyOptions;
  readonly #clock: Clock;
  readonly #addresses: () => readonly string[];
  readonly #informers: Informers;
  readonly #caches: Caches;
  readonly #table: RoutingTable;
  readonly #changes: ChangeTracker;
  readonly #metrics: ProxyMetrics;
  readonly #checks: HealthChecks;
  readonly #events: EventRecorder;
  readonly #reporter: RouteReporter;
  readonly #triggers: TriggerTimes;
  readonly #runner: BoundedRunner;
  readonly #stop = new AbortController();
  readonly #synced = Promise.withResolvers<void>();
  readonly #ended: Promise<void>;
  #backend: Backend | undefined;
  /** The next sync is a full one: at the start, after a failure, after a change of networks, and periodically. */
  #needsFullSync = true;
  #lastFull = 0;
  #failure: string | undefined;
  /** The node in the last sync. */
  #node: { readonly state: NodeState; readonly forRoutes: ThisNode } | undefined;
  /** The Node has existed. If it is deleted, the proxy is not ready any more; if it never existed, it need not. */
  #hadNode = false;

  constructor(context: PartContext, options: ProxyOptions, machine: ProxyMachine) {
    this.#context = context;
    this.#options = options;
    this.#clock = machine.clock ?? systemClock;
    this.#addresses = machine.addresses ?? machineAddresses;
    const { client, log } = context;
    this.#informers = new Informers({ client, log });
    this.#caches = new Caches(this.#informers, options.nodeName);
    this.#table = new RoutingTable(nodeNetwork(this.#nodeState()));
    this.#metrics = new ProxyMetrics(context.metrics, {
      table: this.#table,
      pending: (what) => this.#changes.pending(what),
    });
    this.#events = new EventRecorder({ client, component: 'fairlead-proxy', clock: this.#clock, log });
    const service = (key: Key): Service | undefined => this.#caches.services.get(key);
    this.#reporter = new RouteReporter({ log, events: this.#events, service });
    this.#triggers = new TriggerTimes(this.#clock.now());
    this.#checks = new HealthChecks({
      host: options.healthCheckHost,
      maxPorts: options.healthCheckPorts,
      isHealthy: () => this.#failure === undefined,
      onError: (check, error) => this.#healthCheckFailed(check, error),
    });
    this.#runner = new BoundedRunner({
      run: () => this.#sync(),
      minIntervalMs: options.minSyncPeriodMs ?? 100,
      maxIntervalMs: fullSyncPeriodMs(options),
      onIdle: () => (this.#needsFullSync = true),
      onError: (error) => this.#syncFailed(error),
      clock: this.#clock,
      random: machine.random ?? Math.random,
    });
    this.#changes = new ChangeTracker({
      caches: this.#caches,
      table: this.#table,
      routeOptions: routeOptionsOf(options),
      onChange: (what) => {
        this.#metrics.changed(what);
        this.#queueSync();
      },
      onSlice: (slice) => this.#triggers.add(slice),
      onHealthCheck: (owner, check) => this.#checks.set(owner, check),
    });
    this.#caches.nodes.subscribe({ added: () => (this.#hadNode = true) });
    this.#caches.nodes.subscribe(onAnyChange(() => this.#queueSync()));
    this.#caches.serviceCidrs.subscribe(onAnyChange(() => this.#queueSync()));
    this.ready = this.#synced.promise;
    // Callers need not await `ready`.
    this.ready.catch(() => {});
    const open = machine.openBackend ?? (() => this.#openMode());
    this.#ended = this.#run(open);
  }

  problems(): readonly string[] {
    return [...this.#informers.unsynced(), this.#failure, this.#drainReason()].filter(
      (problem) => problem !== undefined,
    );
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort(new Error('the proxy stops'));
    await this.#ended;
    await this.#checks[Symbol.asyncDispose]();
    await this.#backend?.[Symbol.asyncDispose]();
    await this.#events.flush();
  }

  async #run(open: () => Promise<Backend>): Promise<void> {
    const { signal } = this.#stop;
    this.#informers.start();
    try {
      this.#backend = await open();
      await this.#informers.synced(signal);
      this.#queueSync();
      await this.#runner.serve(signal);
    } catch (error) {
      if (!signal.aborted) this.#failure = messageOf(error);
      this.#synced.reject(error);
    }
    this.#synced.reject(signal.reason);
    await this.#informers.stop();
  }

  #drainReason(): string | undefined {
    const node = this.#caches.nodes.get(this.#options.nodeName);
    if (node !== undefined) return drainReason(node);
    return this.#hadNode ? `Node ${this.#options.nodeName} was deleted` : undefined;
  }

  #openMode(): Promise<Backend> {
    const { mode, backend = {} } = this.#options;
    const { log, metrics } = this.#context;
    return modes[mode](backend, { observer: this.#metrics.observer, log, metrics });
  }

  #queueSync(): void {
    this.#metrics.queued(this.#clock.now());
    this.#runner.trigger();
  }

  async #sync(): Promise<void> {
    const backend = this.#backend;
    if (backend === undefined) return;
    const started = this.#clock.elapsed();
    this.#refreshNode();
    const triggers = this.#triggers.take();
    const change = this.#table.takeChange();
    if (started - this.#lastFull >= fullSyncPeriodMs(this.#options)) this.#needsFullSync = true;
    const how = this.#needsFullSync ? 'full' : 'partial';
    if (this.#needsFullSync) await backend.replace(this.#table);
    else if (!isEmptyChange(change)) await backend.apply(change, this.#table);
    if (how === 'full') this.#lastFull = started;
    this.#needsFullSync = false;
    this.#failure = undefined;
    this.#metrics.synced(how, (this.#clock.elapsed() - started) / 1000, this.#clock.now());
    for (const { family, atMs } of triggers) this.#metrics.programmed(family, (this.#clock.now() - atMs) / 1000);
    this.#checks.retry();
    this.#reporter.report([...this.#conflicts(), ...this.#changes.problems(), ...backend.problems()]);
    this.#synced.resolve();
  }

  /** Updates the table with changes of the cluster and of this machine. */
  #refreshNode(): void {
    const state = this.#nodeState();
    if (this.#node === undefined || !isDeepStrictEqual(state, this.#node.state)) {
      const network = nodeNetwork(state);
      if (!isDeepStrictEqual(network, this.#table.network)) {
        this.#table.network = network;
        this.#needsFullSync = true;
      }
      this.#node = { state, forRoutes: thisNode(state) };
    }
    this.#changes.update(this.#node.forRoutes);
  }

  #nodeState(): NodeState {
    return {
      node: this.#caches.nodes.get(this.#options.nodeName),
      machineAddresses: this.#addresses(),
      serviceCidrs: this.#caches.serviceCidrs.list(),
      options: this.#options,
    };
  }

  #conflicts(): readonly RouteProblem[] {
    const conflicts = this.#table
      .conflicts()
      .filter((conflict) => !isOfOneImport(conflict, (key) => this.#caches.services.get(key)));
    return conflictProblems(conflicts);
  }

  #syncFailed(error: unknown): void {
    // The table no longer contains the change, only its result.
    this.#needsFullSync = true;
    this.#failure = `applying routes failed: ${messageOf(error)}`;
    this.#metrics.failed();
    this.#context.log.error({ err: error }, 'applying routes failed, retrying');
  }

  #healthCheckFailed(check: HealthCheck, error: unknown): void {
    const { namespace, name, port } = check;
    const reason = messageOf(error);
    this.#context.log.warn(
      { service: `${namespace}/${name}`, port, reason },
      'listening for health checks failed, retrying',
    );
    const service = this.#caches.services.get(keyFor({ namespace, name }));
    if (service === undefined) return;
    this.#events.record(serviceKind, service, {
      type: 'Warning',
      reason: 'FailedToStartServiceHealthcheck',
      message: `node ${this.#options.nodeName} failed to start healthcheck "${namespace}/${name}" on port ${port}: ${reason}`,
    });
  }
}

const fullSyncPeriodMs = ({ fullSyncPeriodMs: period = 3_600_000 }: ProxyOptions): number => period;

/** Removes everything that a proxy in this mode left on the machine. */
export async function cleanupProxy(
  context: Pick<PartContext, 'log' | 'metrics'>,
  { mode, backend = {} }: Pick<ProxyOptions, 'mode' | 'backend'>,
): Promise<void> {
  await using opened = await modes[mode](backend, { ...context, observer: {} });
  await opened.cleanup();
}
