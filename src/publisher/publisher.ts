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
import type { Desired } from './plan/desired.ts';
import { desired } from './plan/desired.ts';
import type { Provider } from './providers/provider.ts';
import { Reporter } from './reporter.ts';
import { Sources } from './sources.ts';
import type { ZoneSyncOptions } from './zone-sync.ts';
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
      const subscribe = (): readonly (() => void)[] => sources.subscribe(() => publisher?.changed(queue));
      await runController({ queue, caches: [sources], subscribe }, term);
      publisher = undefined;
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
  #desired: Desired | undefined;
  #problem: string | undefined;

  constructor(dependencies: Dependencies) {
    this.#with = dependencies;
    this.#limiter = new DeletionLimiter(dependencies.clock, dependencies.deletionLimits);
  }

  problems(): readonly string[] {
    const held = this.#limiter.held.map(
      (zone) => `zone ${zone}: deletions are delayed, because more than half of the names would be deleted at once`,
    );
    return [this.#problem ?? [], [...this.#zones.values()].flatMap(({ problem }) => problem ?? []), held].flat();
  }

  /** Objects have changed: every zone may be concerned. */
  changed(queue: WorkQueue): void {
    this.#desired = undefined;
    for (const zone of this.#zones.keys()) queue.add(zone);
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
    const { provider, intervalMs, log } = this.#with;
    const zones = await provider.zones(signal);
    const known = [...this.#zones.keys()];
    if (known.join(' ') !== zones.join(' ')) {
      this.#desired = undefined;
      for (const zone of known) if (!zones.includes(zone)) this.#zones.delete(zone);
      for (const zone of zones) if (!this.#zones.has(zone)) this.#zones.set(zone, this.#zoneSync(zone));
      log.info({ zones }, 'publishing');
      for (const zone of zones) queue.add(zone);
    }
    return { requeueAfterMs: intervalMs };
  }

  #zoneSync(zone: Name): ZoneSync {
    const wanted = (): ReturnType<ZoneSyncOptions['wanted']> => {
      const { zones, kept } = this.#wanted();
      return { wanted: zones.get(zone) ?? new Map(), kept };
    };
    return new ZoneSync({ ...this.#with, zone, wanted, limiter: this.#limiter });
  }

  /** What is to exist, computed once for each change of objects. */
  #wanted(): Desired {
    if (this.#desired !== undefined) return this.#desired;
    const { sources, registry, filter, metrics, reporter } = this.#with;
    const result = desired(sources.claims(), { zones: [...this.#zones.keys()], filter, registry });
    this.#desired = result;
    const sets = [...result.zones.values()].flatMap((names) => [...names.values()].flat());
    metrics.desired(
      sets.map(({ set }) => set),
      result.refusals.length,
    );
    reporter.refused('claims', result.refusals);
    return result;
  }
}
