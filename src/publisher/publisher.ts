import type { Logger } from 'pino';
import { messageOf } from '../api/error-message.ts';
import { systemClock } from '../client/clock.ts';
import { runController } from '../client/controller.ts';
import { DeletionLimiter } from '../client/deletion-limiter.ts';
import { EventRecorder } from '../client/events.ts';
import { Informers } from '../client/informers.ts';
import type { PartContext, RunningPart } from '../client/part.ts';
import { runElectedPart } from '../client/part.ts';
import { queueMetrics } from '../client/queue-metrics.ts';
import type { Outcome } from '../client/queue.ts';
import { WorkQueue } from '../client/queue.ts';
import type { Name } from '../dnswire/data.ts';
import { PublisherMetrics } from './metrics.ts';
import type { PublisherOptions } from './options.ts';
import type { Kept } from './plan/changes.ts';
import { DesiredIndex } from './plan/desired-index.ts';
import type { DesiredSet } from './plan/desired.ts';
import type { DesiredState } from './compare.ts';
import type { Provider } from './providers/provider.ts';
import { Reporter } from './reporter.ts';
import { Sources } from './sources.ts';
import { ZoneSync } from './zone-sync.ts';

/** Publishes the names of Services and imports until it is disposed of. */
export function startPublisher(context: PartContext, options: PublisherOptions): RunningPart {
  const { client, log } = context;
  const { clock = systemClock, leaderElection } = options;
  const recorder = new EventRecorder({
    client,
    component: 'publisher',
    clock,
    log,
  });
  const informers = new Informers({ client, log });
  const sources = new Sources(informers, options);
  const metrics = new PublisherMetrics(context.metrics);
  const observer = queueMetrics(context.metrics)('publisher');
  let publisher: Publisher | undefined;
  return runElectedPart({
    context,
    informers,
    election: leaderElection,
    clock,
    recorders: () => [recorder],
    problems: () => publisher?.problems() ?? [],
    async lead(term) {
      await using provider = options.openProvider({
        clock,
        onMessage: metrics.countMessage,
        onWebhookCall: metrics.countWebhookCall,
      });
      const reporter = new Reporter({ log, recorder, sources });
      publisher = new Publisher({ ...options, clock, log, provider, sources, reporter, metrics });
      const queue = new WorkQueue({
        work: (key, signal) => publisher?.work(key, signal, queue) ?? Promise.resolve(),
        observer,
        // The reporter has logged the error when it was new.
        onError: (error, zone) => log.debug({ err: error, zone }, 'could not sync the zone, retrying'),
        backoff: { baseMs: 500, maxMs: 10_000 },
        coalesceMs: 200,
        clock,
        ...(options.random === undefined ? {} : { random: options.random }),
      });
      queue.add(discovery);
      const subscribe = (): readonly (() => void)[] => [sources.subscribe((keys) => publisher?.changed(keys, queue))];
      await runController({ queue, caches: [sources], subscribe }, term);
      publisher = undefined;
      metrics.stopped();
    },
  });
}

/** The key of the queue that stands for finding out the zones; all others are zones. */
const discovery = '';

interface Dependencies extends Omit<PublisherOptions, 'sources'> {
  readonly clock: NonNullable<PublisherOptions['clock']>;
  readonly log: Logger;
  readonly provider: Provider;
  readonly sources: Sources;
  readonly reporter: Reporter;
  readonly metrics: PublisherMetrics;
}

/** The work of the leader. */
class Publisher {
  readonly #with: Dependencies;
  readonly #zones = new Map<Name, ZoneSync>();
  readonly #limiter: DeletionLimiter;
  #index: DesiredIndex;
  /** Objects whose claims may have changed. */
  readonly #dirty = new Set<string>();
  #problem: string | undefined;

  constructor(dependencies: Dependencies) {
    this.#with = dependencies;
    this.#limiter = new DeletionLimiter(dependencies.clock, dependencies.deletionLimits);
    this.#index = this.#indexOf([]);
  }

  problems(): readonly string[] {
    const held = this.#limiter.held.map(
      (zone) => `zone ${zone}: deletions are delayed, because more than half of the names would be deleted at once`,
    );
    return [this.#problem ?? [], [...this.#zones.values()].flatMap(({ problem }) => problem ?? []), held].flat();
  }

  /** Objects have changed: any zone may be concerned. */
  changed(keys: Iterable<string>, queue: WorkQueue): void {
    const before = this.#dirty.size;
    for (const key of keys) this.#dirty.add(key);
    if (this.#dirty.size > before) for (const zone of this.#zones.keys()) queue.add(zone);
  }

  async work(key: string, signal: AbortSignal, queue: WorkQueue): Promise<Outcome> {
    if (key !== discovery) return this.#zones.get(key)?.sync(signal);
    try {
      const outcome = await this.#discover(signal, queue);
      this.#problem = undefined;
      return outcome;
    } catch (error) {
      if (!signal.aborted) this.#problem = `the zones are unknown: ${messageOf(error)}`;
      throw error;
    }
  }

  /** Finds out which zones there are. */
  async #discover(signal: AbortSignal, queue: WorkQueue): Promise<Outcome> {
    const { provider, intervalMs, log, sources } = this.#with;
    const zones = await provider.zones(signal);
    const known = [...this.#zones.keys()];
    if (known.join(' ') !== zones.join(' ')) {
      this.#index = this.#indexOf(zones);
      for (const key of sources.keys()) this.#dirty.add(key);
      this.#zones.clear();
      for (const zone of zones) this.#zones.set(zone, this.#zoneSync(zone));
      log.info({ zones }, 'publishing');
      for (const zone of zones) queue.add(zone);
    }
    return { requeueAfterMs: intervalMs };
  }

  #indexOf(zones: readonly Name[]): DesiredIndex {
    const { filter, registry, metrics } = this.#with;
    const index = new DesiredIndex({ zones, filter, registry });
    metrics.desired(index);
    return index;
  }

  #zoneSync(zone: Name): ZoneSync {
    const desiredState = (): DesiredState => {
      this.#refresh();
      return { desired: this.#index.zones.get(zone) ?? new Map<Name, readonly DesiredSet[]>(), kept: this.#kept() };
    };
    return new ZoneSync({ ...this.#with, zone, desiredState, limiter: this.#limiter });
  }

  #kept(): Kept {
    return { resources: this.#index.kept, allImports: !this.#with.sources.hasImports };
  }

  /** Computes what is to exist again, for all objects that have changed. */
  #refresh(): void {
    if (this.#dirty.size === 0) return;
    const claims = this.#with.sources.claimsOf(this.#dirty);
    this.#dirty.clear();
    for (const [zone, names] of this.#index.update(claims)) this.#zones.get(zone)?.mark(names);
    this.#with.reporter.refused('claims', this.#index.refusals);
  }
}
