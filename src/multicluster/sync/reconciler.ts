import type { Logger } from 'pino';
import { timestamp } from '../../api/timestamp.ts';
import type { Clock } from '../../client/clock.ts';
import type { Key } from '../../client/key.ts';
import type { Outcome } from '../../client/queue.ts';
import type { Member } from '../member/member.ts';
import type { Merged } from '../merge/merged.ts';
import type { Write } from '../project/desired.ts';
import type { Delivery } from '../project/export-conditions.ts';
import { isSaidExported } from '../project/exports.ts';
import { exportsOf } from '../record.ts';
import { hasArrived } from './arrival.ts';
import type { Channel } from './channel.ts';
import type { Delivered, Projection } from './deliver.ts';
import { deletedSource, deliver, judge } from './deliver.ts';
import type { Failure } from './deliveries.ts';
import { Deliveries, holdsAnything, isWithdrawn } from './deliveries.ts';
import { releaseExports, tellExports } from './exports.ts';
import type { SyncMetrics } from './metrics.ts';
import { Patience } from './patience.ts';
import type { Seats } from './seats.ts';
import { problemOf } from './seats.ts';
import type { Services } from './services.ts';

export interface ReconcilerOptions {
  readonly services: Services;
  readonly seats: Seats;
  readonly metrics: SyncMetrics;
  readonly clock: Clock;
  readonly log: Logger;
  /** A service is another than it was thought to be. */
  readonly changed: (key: Key) => void;
  /** A service needs a look in some members. */
  readonly touch: (key: Key, members: readonly string[]) => void;
}

/** Changes that somebody else has not written by then are told. */
const othersMs = 10_000;

/** What has not been read of a source comes over its watch; this is for when it does not. */
const unreadMs = 1000;

const same = (delivery: Delivery): Delivery => delivery;

/** Nobody can have what is not known. */
const unsure = (delivery: Delivery): Delivery =>
  delivery.state === 'acknowledged' ? { ...delivery, state: 'pending' } : delivery;

/**
 * One service in one member: what it is to hold is written, and its exports are told how far the service has come.
 * Every run starts from what is known now.
 */
export class Reconciler {
  readonly #options: ReconcilerOptions;
  #deliveries = new Deliveries();
  readonly #patience: Patience;

  constructor(options: ReconcilerOptions) {
    this.#options = options;
    this.#patience = new Patience(options.clock);
  }

  /** This controller leads from now on. What members had taken when it last did, another may have changed since. */
  begin(): void {
    this.#deliveries = new Deliveries();
    this.#patience.begin();
  }

  /** A member is no longer of the set. */
  forgetMember(id: string): void {
    this.#deliveries.forgetMember(id);
  }

  /** A member has failed to take a service, so often in a row. */
  failed(key: Key, member: string, failure: Failure): void {
    if (this.#deliveries.failed(key, member, failure)) this.touchExporters(key);
  }

  /** Makes a member hold what it is to hold of a service, or looks how far somebody else has come with that. */
  async run(channel: Channel, key: Key, signal: AbortSignal): Promise<Outcome> {
    const { services, seats, changed } = this.#options;
    const { member } = channel;
    const seat = seats.get(member.id);
    // It is touched again when it is ready.
    if (!member.isReady || seat?.joining !== 'done' || problemOf(seat) !== undefined) return;
    if (services.isOutOfOrder(key)) changed(key);
    return member.options.isReadOnly === true ? this.#judge(channel, key) : this.#write(channel, key, signal);
  }

  /** What somebody else is about to write is waited for: exports do not tell of every endpoint that is on its way. */
  #judge(channel: Channel, key: Key): Outcome {
    const { member } = channel;
    const delivered = judge(this.#projection(member, key));
    if (delivered.delivery.state === 'pending' && this.#deliveries.hasAcknowledged(key, member.id)) {
      const leftMs = othersMs - channel.waitedMs(key);
      if (leftMs > 0) return { requeueAfterMs: leftMs };
    }
    this.#acknowledge(channel, key, { ...delivered, version: this.#options.services.version(key) });
    this.#tidy(member, key);
    return undefined;
  }

  #projection(member: Member, key: Key): Projection {
    const { services, seats } = this.#options;
    return {
      key,
      merged: services.get(key),
      member,
      memory: member.memory,
      ...seats.standing(),
    };
  }

  async #write(channel: Channel, key: Key, signal: AbortSignal): Promise<Outcome> {
    const { member } = channel;
    const projection = this.#projection(member, key);
    const { merged } = projection;
    const version = this.#options.services.version(key);
    const delivered = await deliver(
      {
        ...projection,
        brake: (write) => this.#brake(channel, merged, write),
        now: () => this.#now(),
        onWrite: (write) => this.#count(member, write),
      },
      signal,
    );
    this.#acknowledge(channel, key, { ...delivered, version });
    const isLeaving = member.options.isLeaving === true;
    if (isLeaving) await releaseExports(member, key, signal);
    const againMs = isLeaving ? 0 : await this.#tell(member, key, signal);
    this.#tidy(member, key);
    const waitMs = delivered.waitMs > 0 ? delivered.waitMs : againMs;
    return waitMs > 0 ? { requeueAfterMs: waitMs } : undefined;
  }

  #acknowledge(channel: Channel, key: Key, delivered: Delivered & { readonly version: number }): void {
    const { metrics } = this.#options;
    const { id, options } = channel.member;
    const tookMs = channel.arrived(key);
    if (tookMs !== undefined && delivered.writes > 0) metrics.propagation.observe({ importer: id }, tookMs / 1000);
    const isNews = this.#deliveries.took(key, id, delivered);
    const mayBeGone = delivered.writes > 0 || options.isReadOnly === true;
    // The last one who looks at it tells all: a word for each would be as many writes as there are members.
    if ((isNews && !this.#isAwaited(key)) || (mayBeGone && this.#isLeaving(key))) this.touchExporters(key);
  }

  /** The exports of a service may have something else to say. */
  touchExporters(key: Key): void {
    const { services, seats, touch } = this.#options;
    const exporters = services.get(key).exporters.map(({ cluster }) => cluster);
    // Those of others are told by others.
    const ours = exporters.filter((id) => seats.get(id)?.member.options.isReadOnly !== true);
    touch(key, ours);
  }

  /** Tells the exports of a member how far the service has come; not 0: that is not known yet, but may be then. */
  async #tell(member: Member, key: Key, signal: AbortSignal): Promise<number> {
    const { services, seats } = this.#options;
    if (!member.isExported(key)) return 0;
    const isWaiting = this.#isWaiting(key);
    const leftMs = isWaiting ? this.#patience.leftMs(key) : 0;
    if (leftMs > 0) return leftMs;
    const isComplete = await this.#isComplete(member, key, signal);
    await tellExports(
      {
        key,
        merged: () => services.get(key),
        member,
        progress: () => ({
          deliveries: this.#deliveries.of(key, member.id, this.#staying()).map(isComplete ? same : unsure),
          isWithdrawn: isWithdrawn(key, member.id, seats.taking()),
          now: this.#now(),
        }),
        dropped: services.dropped(key).filter(({ cluster }) => cluster === member.id),
        onWrite: (write) => this.#count(member, write),
      },
      signal,
    );
    if (isWaiting) return this.#patience.againMs(key);
    return isComplete ? 0 : unreadMs;
  }

  /** Members that the service is to be in. */
  #staying(): readonly Member[] {
    return this.#options.seats.taking().filter(({ options }) => options.isLeaving !== true);
  }

  /** Whether some member that could has not looked at a service yet. */
  #isAwaited(key: Key): boolean {
    return this.#staying().some(
      (each) => each.isReady && each.concerns(key) && !this.#deliveries.hasTried(key, each.id),
    );
  }

  /** Whether such members are waited for; not where an export is to go. */
  #isWaiting(key: Key): boolean {
    const isWaiting = !this.#isLeaving(key) && this.#isAwaited(key);
    if (!isWaiting) this.#patience.forget(key);
    return isWaiting;
  }

  /** Whether some export of a service is to go. */
  #isLeaving(key: Key): boolean {
    return this.#options.services.get(key).exporters.some(({ verdict }) => verdict.state === 'leaving');
  }

  /**
   * Whether everything is known that a cluster has of a service it exports. The cluster itself is asked, once an export:
   * what has been said to be exported is so.
   */
  async #isComplete(member: Member, key: Key, signal: AbortSignal): Promise<boolean> {
    const { services } = this.#options;
    const record = member.record(key);
    const exporter = services.get(key).exporters.find(({ cluster }) => cluster === member.id);
    if (record === undefined || exporter?.verdict.state !== 'valid' || isSaidExported(record)) return true;
    const uid = exportsOf(record)
      .map(({ metadata }) => metadata.uid)
      .join();
    if (this.#deliveries.isComplete(key, member.id, uid)) return true;
    if (!(await hasArrived(member, key, signal))) return false;
    services.get(key);
    this.#deliveries.completed(key, member.id, { uid, version: services.version(key) });
    return true;
  }

  /** Gives back what a service had that is gone everywhere. */
  #tidy(member: Member, key: Key): void {
    const { services, seats } = this.#options;
    const { members } = seats;
    const { exporters, order } = services.get(key);
    if (order.length > 0) return;
    this.#release(member, key);
    if (exporters.length > 0 || members.some((each) => holdsAnything(each, key))) return;
    // Nobody has looked at it where its namespace went before it.
    for (const each of members) this.#release(each, key);
    // What a cluster may have that cannot be read now is given back when it can, or is no member any more.
    if (members.some(({ options }) => options.vips?.has(key) === true)) return;
    services.forget(key);
    this.#patience.forget(key);
    this.#deliveries.forget(key);
  }

  /** Gives back the address of a service where nobody has it any more. */
  #release({ options: { vips } }: Member, key: Key): void {
    const { seats, touch } = this.#options;
    if (vips === undefined) return;
    const sharing = seats.members.filter(({ options }) => options.vips === vips);
    if (sharing.some((each) => (each.concerns(key) && !each.isReady) || holdsAnything(each, key))) return;
    const ids = sharing.map(({ id }) => id);
    for (const waiting of vips.release(key)) touch(waiting, ids);
  }

  /** What a person has withdrawn is not held back: its export is there, and about to go. */
  #brake({ member, brake }: Channel, { exporters }: Merged, write: Write): number {
    const { seats, metrics, log } = this.#options;
    const source = deletedSource(write);
    if (source === undefined || seats.get(source) === undefined) return 0;
    const exporter = exporters.find(({ cluster }) => cluster === source);
    if (exporter?.verdict.state === 'leaving') return 0;
    const waitMs = brake.waitMs(source, member.caches.slices.by('source', source).length);
    if (waitMs > 0) {
      metrics.brake.inc({ importer: member.id });
      log.warn({ cluster: member.id, source, waitMs }, 'too much would be deleted at once: it waits');
    }
    return waitMs;
  }

  #count({ id }: Member, { kind, verb }: Write): void {
    this.#options.metrics.writes.inc({ cluster: id, kind: kind.kind, verb });
  }

  #now(): string {
    return timestamp(this.#options.clock.now());
  }
}
