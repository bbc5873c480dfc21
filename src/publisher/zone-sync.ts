// One zone: read it, plan, apply the difference, and read it back.
import type { Logger } from 'pino';
import { messageOf } from '../api/error-message.ts';
import type { Clock } from '../client/clock.ts';
import type { DeletionLimiter } from '../client/deletion-limiter.ts';
import type { Outcome } from '../client/queue.ts';
import type { Name } from '../dnswire/data.ts';
import type { DesiredState } from './compare.ts';
import { Comparison } from './compare.ts';
import type { NameChange } from './plan/changes.ts';
import type { ObjectRefusal } from './plan/desired.ts';
import { printSet } from './plan/record-set.ts';
import type { ZonePlan } from './plan/zone-planner.ts';
import type { PublisherMetrics } from './metrics.ts';
import type { PublisherOptions } from './options.ts';
import type { Failure, Provider } from './providers/provider.ts';
import type { Reporter } from './reporter.ts';

export interface ZoneSyncOptions extends Pick<PublisherOptions, 'registry' | 'policy' | 'isDryRun' | 'intervalMs'> {
  readonly zone: Name;
  readonly provider: Provider;
  /** What is to exist in this zone now. Before it returns it marks the names that differ from the last call. */
  readonly desiredState: () => DesiredState;
  readonly limiter: DeletionLimiter;
  readonly reporter: Reporter;
  readonly metrics: PublisherMetrics;
  readonly log: Logger;
  readonly clock: Clock;
}

/** A change that the server rejected. It is sent again only after a while, or when it is another change. */
interface Rejected {
  readonly text: string;
  readonly refusals: readonly ObjectRefusal[];
  readonly failures: number;
  readonly retryAt: number;
}

const rejectedBackoff = { baseMs: 10_000, maxMs: 600_000 };
/** How soon a zone that was changed meanwhile is read again. */
const staleRetryMs = 50;

/** Keeps one zone as it is to be. Syncs of a zone do not overlap. */
export class ZoneSync {
  readonly #options: ZoneSyncOptions;
  readonly #comparison: Comparison;
  /** Names whose desired sets have changed since they were planned. */
  readonly #marked = new Set<Name>();
  /** Name → the change of it that was rejected. */
  readonly #rejected = new Map<Name, Rejected>();
  #problem: string | undefined;
  /** When the zone is to be read even if nothing is marked. */
  #dueAt = 0;
  /** The plan that a dry run has logged. */
  #logged = '';

  constructor(options: ZoneSyncOptions) {
    this.#options = options;
    this.#comparison = new Comparison(options);
  }

  /** Why the zone is not as it is to be. */
  get problem(): string | undefined {
    return this.#problem;
  }

  /** What is to exist at these names has changed. */
  mark(names: Iterable<Name>): void {
    for (const name of names) this.#marked.add(name);
  }

  /** Makes the zone as it is to be. Rejects if it cannot be read or written. */
  async sync(signal: AbortSignal): Promise<Outcome> {
    const { zone, metrics, reporter, clock, desiredState } = this.#options;
    const { desired } = desiredState();
    const leftMs = this.#dueAt - clock.elapsed();
    if (this.#marked.size === 0 && leftMs > 0) return { requeueAfterMs: leftMs };
    const marked = new Set(this.#marked);
    this.#dueAt = 0;
    metrics.began(clock.now());
    try {
      const requeueAfterMs = await this.#converge(signal);
      this.#problem = undefined;
      this.#dueAt = clock.elapsed() + requeueAfterMs;
      reporter.recovered(zone);
      return { requeueAfterMs: this.#marked.size > 0 ? 0 : requeueAfterMs };
    } catch (error) {
      if (signal.aborted) throw error;
      metrics.failed();
      this.#problem = `zone ${zone}: ${messageOf(error)}`;
      const waiting = [...marked].flatMap((name) => (desired.get(name) ?? []).flatMap(({ resources }) => resources));
      reporter.failed(zone, messageOf(error), waiting);
      throw error;
    }
  }

  /** Returns when the zone is to be read again. */
  async #converge(signal: AbortSignal): Promise<number> {
    const { zone, provider, metrics, reporter, clock, intervalMs, isDryRun } = this.#options;
    const plan = await this.#plan(signal);
    if (isDryRun) {
      this.#report(plan);
      this.#logPlan(plan.changes);
      return intervalMs;
    }
    const { allowed, heldMs } = this.#limited(plan, this.#sendable(plan.changes));
    if (allowed.length === 0) {
      this.#report(plan);
      metrics.synced(clock.now(), false);
      return this.#nextMs(heldMs);
    }
    const failures = await provider.apply(zone, allowed, signal);
    // A server answers NOERROR to changes that it ignores (RFC 2136 §3.4.2.2): read them back.
    const after = await this.#plan(signal);
    const failed = new Map(failures.map((failure) => [failure.change.name, failure]));
    const ignored = ignoredChanges(allowed, after, failed);
    for (const failure of [...failures, ...ignored]) this.#remember(failure);
    for (const failure of ignored) failed.set(failure.change.name, failure);
    const applied = allowed.filter(({ name }) => !failed.has(name));
    for (const { name, kind } of applied) {
      this.#rejected.delete(name);
      metrics.changed(zone, kind);
    }
    reporter.published(zone, applied);
    this.#report(after);
    metrics.synced(clock.now(), true);
    const isStale = failures.some(({ state }) => state === 'stale');
    const hasMore = after.changes.some(({ name }) => !this.#rejected.has(name)) && heldMs === 0;
    return isStale || hasMore ? staleRetryMs : this.#nextMs(heldMs);
  }

  async #plan(signal: AbortSignal): Promise<ZonePlan> {
    const { zone, desiredState, metrics } = this.#options;
    const desired = desiredState();
    // A name that changes while it is planned is marked again.
    const names = new Set(this.#marked);
    this.#marked.clear();
    try {
      const { content, plan } = await this.#comparison.run(desired, names, signal);
      metrics.planned(zone, content, plan);
      return plan;
    } catch (error) {
      this.mark(names);
      throw error;
    }
  }

  /** Leaves out changes that the server has rejected before. */
  #sendable(changes: readonly NameChange[]): readonly NameChange[] {
    const now = this.#options.clock.elapsed();
    const planned = new Set(changes.map(({ name }) => name));
    for (const name of this.#rejected.keys()) if (!planned.has(name)) this.#rejected.delete(name);
    return changes.filter((change) => {
      const rejected = this.#rejected.get(change.name);
      return rejected === undefined || rejected.retryAt <= now || rejected.text !== textOf(change);
    });
  }

  /** Leaves out deletions while too much would be deleted at once. */
  #limited(
    { owned }: ZonePlan,
    changes: readonly NameChange[],
  ): { readonly allowed: readonly NameChange[]; readonly heldMs: number } {
    const { zone, limiter } = this.#options;
    const all = owned.values().reduce((sum, count) => sum + count, 0);
    let heldMs = 0;
    const allowed = changes.filter(({ kind }) => {
      if (kind !== 'delete') return true;
      const waitMs = heldMs > 0 ? heldMs : limiter.waitMs(zone, all);
      heldMs = Math.max(heldMs, waitMs);
      return waitMs === 0;
    });
    return { allowed, heldMs };
  }

  #remember({ change, state, message }: Failure): void {
    if (state === 'stale') return;
    const last = this.#rejected.get(change.name);
    const text = textOf(change);
    const failures = last?.text === text ? last.failures + 1 : 1;
    const delayMs = Math.min(rejectedBackoff.maxMs, rejectedBackoff.baseMs * 2 ** (failures - 1));
    this.#rejected.set(change.name, {
      text,
      failures,
      retryAt: this.#options.clock.elapsed() + delayMs,
      refusals: change.resources.map((resource) => ({
        reason: 'UpdateFailed',
        message: `${change.name}: ${message}`,
        resource,
      })),
    });
  }

  #report({ refusals }: ZonePlan): void {
    const rejected = [...this.#rejected.values()].flatMap((each) => each.refusals);
    this.#options.reporter.refused(this.#options.zone, [...refusals, ...rejected]);
  }

  #logPlan(changes: readonly NameChange[]): void {
    const { zone, log } = this.#options;
    const texts = changes.map((change) => `${change.kind} ${textOf(change)}`);
    if (texts.join('\n') === this.#logged) return;
    this.#logged = texts.join('\n');
    for (const change of texts.slice(0, maxLogged)) log.info({ zone, change }, 'dry run: not applied');
    if (texts.length > maxLogged) log.info({ zone, changes: texts.length - maxLogged }, 'dry run: further changes');
  }

  /** When to read the zone again if no object changes. */
  #nextMs(heldMs: number): number {
    const now = this.#options.clock.elapsed();
    const retries = [...this.#rejected.values()].map(({ retryAt }) => Math.max(retryAt - now, staleRetryMs));
    return Math.min(this.#options.intervalMs, ...retries, ...(heldMs > 0 ? [heldMs] : []));
  }
}

const maxLogged = 1000;

/** Changes that the server has confirmed and not applied. */
function ignoredChanges(
  sent: readonly NameChange[],
  after: ZonePlan,
  failed: ReadonlyMap<Name, Failure>,
): readonly Failure[] {
  const left = new Map(after.changes.map((change) => [change.name, textOf(change)]));
  return sent
    .filter((change) => !failed.has(change.name) && left.get(change.name) === textOf(change))
    .map((change) => ({ change, state: 'rejected', message: 'the server confirmed the change and did not apply it' }));
}

/** A change as text, to recognize it. */
const textOf = ({ changes }: NameChange): string =>
  changes
    .filter(({ before, after }) => before !== after)
    .map(
      ({ before, after }) =>
        `${before === undefined ? '' : `- ${before.ttl} ${printSet(before)}`}${after === undefined ? '' : `+ ${after.ttl} ${printSet(after)}`}`,
    )
    .join('\n');
