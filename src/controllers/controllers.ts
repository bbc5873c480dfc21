import { gatesWith } from '../api/gates.ts';
import type { Kind } from '../api/kind.ts';
import { EventRecorder } from '../client/events.ts';
import type { PartContext, RunningPart } from '../client/part.ts';
import { queueMetrics } from '../client/queue-metrics.ts';
import type { Cache } from './caches.ts';
import { Caches } from './caches.ts';
import type { ControllerContext } from './context.ts';
import { Complaints } from './complaints.ts';
import { runEndpoints } from './endpoints/controller.ts';
import { runEndpointSlices } from './endpointslice/controller.ts';
import { runGarbageCollector } from './garbage/controller.ts';
import { ServedKinds } from './garbage/served-kinds.ts';
import { Leadership } from './leadership.ts';
import { controllersMetrics } from './metrics.ts';
import { runMirroring } from './mirroring/controller.ts';
import type { ControllerName, ControllersOptions } from './options.ts';
import { selectedControllers, selectionErrors } from './options.ts';

export type { ControllersOptions, LeaderElectionOptions } from './options.ts';

/**
 * Runs the controllers behind a Service and the garbage collector until it is disposed of. Of several processes that
 * stand for election one acts; the others keep their caches filled and take over where it ends.
 */
export function startControllers(part: PartContext, options: ControllersOptions = {}): RunningPart {
  const [problem] = selectionErrors(options.controllers ?? ['*']);
  if (problem !== undefined) throw new Error(problem);
  return new Controllers(part, options);
}

class Controllers implements RunningPart {
  readonly ready: Promise<void>;
  readonly #context: ControllerContext;
  readonly #selected: ReadonlySet<ControllerName>;
  readonly #kinds: ServedKinds;
  readonly #leadership: Leadership;
  readonly #complaints: Complaints;
  /** Component → recorder; a term takes over the one of the term before. */
  readonly #recorders = new Map<string, EventRecorder>();
  readonly #stop = new AbortController();
  readonly #running: Promise<void>;
  readonly #failure = Promise.withResolvers<never>();
  readonly failed = this.#failure.promise;

  constructor({ client, log, metrics: registry }: PartContext, options: ControllersOptions) {
    this.#complaints = new Complaints(log);
    const watchOf = ({ plural }: Kind): string => `the watch of ${plural}`;
    const caches = new Caches(client, {
      failed: (kind, error) => this.#complaints.note(watchOf(kind), error),
      works: (kind) => this.#complaints.settle(watchOf(kind)),
    });
    const metrics = controllersMetrics(registry);
    const observer = queueMetrics(registry);
    const gates = options.gates ?? gatesWith();
    const recorder = (component: string): EventRecorder => this.#recorder(component);
    this.#context = { client, caches, gates, options, metrics, log, recorder, observer };
    this.#selected = selectedControllers(options.controllers);
    const onError = (error: unknown): void => this.#complaints.note('discovery', error);
    const onSuccess = (): void => this.#complaints.settle('discovery');
    this.#kinds = new ServedKinds({ client, caches, onError, onSuccess });
    this.#leadership = new Leadership({ client, log, metrics, options: options.leaderElection });
    const { signal } = this.#stop;
    this.#fillCaches();
    this.#running = this.#run(signal);
    this.ready = this.#whenReady(signal);
    // Who does not wait for it is told by `problems`.
    this.ready.catch(() => undefined);
    this.failed.catch(() => undefined);
  }

  problems(): readonly string[] {
    const { caches } = this.#context;
    const waiting = caches.unsynced.map(({ plural }) => `the ${plural} are not all seen yet`);
    return [...waiting, ...this.#leadership.problems(), ...this.#complaints.recent()];
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    await this.#running;
    await this.#context.caches.stop();
    await Promise.all(Array.from(this.#recorders.values(), (recorder) => recorder.flush()));
  }

  async #run(signal: AbortSignal): Promise<void> {
    try {
      await Promise.all([
        this.#selected.has('garbage-collector-controller') ? this.#kinds.run(signal) : undefined,
        this.#leadership.run((term) => this.#act(term), signal),
      ]);
    } catch (error) {
      this.#failure.reject(error); // who runs us says so, and starts us again
    }
  }

  /** The caches that the chosen controllers read. The collector's begin when it knows what is served. */
  #fillCaches(): void {
    const { caches } = this.#context;
    const { services, pods, nodes, slices, endpoints } = caches;
    const read: Readonly<Record<ControllerName, readonly Cache[]>> = {
      'endpoints-controller': [services, pods, endpoints],
      'endpointslice-controller': [services, pods, nodes, slices],
      'endpointslice-mirroring-controller': [services, endpoints, slices],
      'garbage-collector-controller': [],
    };
    for (const name of this.#selected) for (const cache of read[name]) caches.run(cache);
  }

  async #whenReady(signal: AbortSignal): Promise<void> {
    if (this.#selected.has('garbage-collector-controller')) await this.#kinds.synced(signal);
    await this.#context.caches.synced(signal);
    await this.#leadership.decided(signal);
  }

  /** Everything that is done while leading. Each term starts from what the caches say. */
  async #act(term: AbortSignal): Promise<void> {
    const context = this.#context;
    const runs: Readonly<Record<ControllerName, () => Promise<void>>> = {
      'endpoints-controller': () => runEndpoints(context, term),
      'endpointslice-controller': () => runEndpointSlices(context, term),
      'endpointslice-mirroring-controller': () => runMirroring(context, term),
      'garbage-collector-controller': () => runGarbageCollector(context, this.#kinds, term),
    };
    await Promise.all(Array.from(this.#selected, (name) => runs[name]()));
  }

  #recorder(component: string): EventRecorder {
    const known = this.#recorders.get(component);
    if (known !== undefined) return known;
    const { client, log } = this.#context;
    const onError = (error: unknown): void => log.debug({ err: error, component }, 'could not write an Event');
    const recorder = new EventRecorder({ client, component, onError });
    this.#recorders.set(component, recorder);
    return recorder;
  }
}
