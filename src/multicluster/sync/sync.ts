import type { Logger } from 'pino';
import type { Registry } from 'prom-client';
import type { Clock } from '../../client/clock.ts';
import { systemClock } from '../../client/clock.ts';
import type { Key } from '../../client/key.ts';
import type { SetRules } from '../guard/policy.ts';
import type { SeedPolicy } from '../merge/merged.ts';
import type { MemberListener } from '../member/events.ts';
import { keysFrom, keysIn } from '../member/keys.ts';
import type { Member } from '../member/member.ts';
import type { BrakeOptions } from './brake.ts';
import { Channels } from './channels.ts';
import type { SyncMetrics } from './metrics.ts';
import { syncMetrics } from './metrics.ts';
import { Reconciler } from './reconciler.ts';
import type { Seat } from './seats.ts';
import { problemOf, Seats, stateOf, takeOver, tellMember } from './seats.ts';
import { Services } from './services.ts';

export interface SyncOptions {
  readonly log: Logger;
  readonly metrics: Registry;
  readonly clock?: Clock | undefined;
  /** What the seed's view does about a conflict; default Withdraw. */
  readonly seedPolicy?: SeedPolicy | undefined;
  /** Namespaces from which no cluster may export; default none. */
  readonly deniedNamespaces?: readonly string[] | undefined;
  /** Changes of one service within this time are written together, after the first; default 100 ms. */
  readonly windowMs?: number | undefined;
  readonly brake?: BrakeOptions | undefined;
  /** What the set is called in the clusters; default `fairlead`. */
  readonly setName?: string | undefined;
  /** Whether another controller writes to the same members; default false. */
  readonly hasCompany?: () => boolean;
  /** A member that is written to takes part, or is to leave, and this controller leads. Must not reject. */
  readonly onJoined?: (member: Member, signal: AbortSignal) => Promise<void>;
}

/**
 * Keeps all members as the exports of all members say:
 *
 *     a member changes ─► services it concerns ─► queue of each member ─► merge ─► project ─► write ─► tell the exports
 *
 * Every run starts from what is known now, so that it does not matter how often, in which order or by how many
 * controllers it is run.
 */
export class Sync {
  readonly services: Services;
  readonly metrics: SyncMetrics;
  readonly #options: SyncOptions;
  readonly #clock: Clock;
  readonly #seats = new Seats();
  readonly #reconciler: Reconciler;
  readonly #channels: Channels;
  #term: AbortSignal | undefined;
  /** The rules by which services were looked at last. */
  #rules: SetRules | undefined;
  #willLookAtRanges = false;

  constructor(options: SyncOptions) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.services = new Services({
      members: () => this.#seats.taking(),
      seedPolicy: options.seedPolicy ?? 'Withdraw',
      deniedNamespaces: options.deniedNamespaces,
      clock: this.#clock,
      hasCompany: options.hasCompany ?? (() => false),
      onDenials: (keys) => {
        for (const key of keys) this.#changed(key);
      },
    });
    this.metrics = syncMetrics(options.metrics, {
      services: () => [...this.services.keys()].length,
      conflicts: () => [...this.services.keys()].filter((key) => this.services.get(key).conflicts.length > 0).length,
      excessive: () => new Map(this.members.map(({ id, caches }) => [id, caches.excess !== undefined])),
      answeredInMs: () => new Map(this.members.map(({ id, pulse }) => [id, pulse.tookMs])),
      dropped: () => this.services.droppedOf(),
      waiting: () => new Map(this.#channels.all().map(({ member, length }) => [member.id, length])),
    });
    this.#reconciler = new Reconciler({
      services: this.services,
      seats: this.#seats,
      metrics: this.metrics,
      clock: this.#clock,
      log: options.log,
      changed: (key) => this.#changed(key),
      touch: (key, members) => this.#channels.touchIn(members, key),
    });
    const { log, windowMs = 100, brake = {} } = options;
    const { services } = this;
    this.#channels = new Channels({
      services,
      seats: this.#seats,
      reconciler: this.#reconciler,
      clock: this.#clock,
      log,
      windowMs,
      brake,
    });
  }

  get members(): readonly Member[] {
    return this.#seats.members;
  }

  /** Members that take part. */
  get taking(): readonly Member[] {
    return this.#seats.taking();
  }

  /** What keeps members from taking part, each a sentence. */
  problems(): readonly string[] {
    const own = this.#seats.all().flatMap((seat) => problemOf(seat) ?? []);
    const held = this.#channels
      .all()
      .flatMap(({ member, brake }) =>
        brake.held.map((source) => `too much of ${source} would be deleted in ${member.id} at once: it waits a while`),
      );
    return [...own, ...held];
  }

  /**
   * A member for the listener that `listenerFor` gave. It takes the place of one with the same id at once: until it has
   * been read it is unknown, so that what came from the cluster stays. Resolves when the old one is no longer written to.
   */
  async add(member: Member): Promise<void> {
    const old = this.#channels.drop(member.id);
    this.#seats.add(member);
    if (this.#term !== undefined) this.#channels.open(member, this.#term);
    this.#look(member.id);
    await old?.stop();
  }

  /** A member that is no longer of the set: what came from it goes from the others. */
  async remove(id: string): Promise<void> {
    const seat = this.#seats.get(id);
    if (seat === undefined) return;
    const channel = this.#channels.drop(id);
    this.#seats.remove(id);
    this.metrics.connected.remove({ cluster: id });
    this.#lookAtRanges();
    for (const key of keysIn(seat.member)) this.#changed(key);
    await channel?.stop();
    this.#reconciler.forgetMember(id); // only now: what was under way has been noted until here
    this.#spread(seat.member);
  }

  /** Who is told of what changes in the member with this id. */
  listenerFor(id: string): MemberListener {
    return {
      source: (key) => this.#changed(key),
      target: (key) => this.#channels.touchIn([id], key),
      namespace: (name) => this.#channels.touchNamespace(id, name),
      state: () => this.#look(id),
    };
  }

  /** Writes until the signal fires, and resolves when nothing is under way any more. */
  async lead(signal: AbortSignal): Promise<void> {
    this.#term = signal;
    this.#reconciler.begin();
    for (const member of this.members) this.#channels.open(member, signal);
    this.#channels.touch(new Set([...this.services.known(), ...this.members.flatMap((member) => [...keysIn(member)])]));
    this.#lookAtAll();
    if (!signal.aborted) await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
    this.#term = undefined;
    await this.#channels.close();
    for (const seat of this.#seats.all()) seat.joining = 'not yet';
  }

  #changed(key: Key): void {
    this.services.changed(key);
    this.#channels.push(key);
  }

  /**
   * What others have to know of a member is another: all that it exports, or that is elsewhere because of it, is looked at
   * wherever it is, everything in the member itself, and every export, which says whether the member has the service.
   * What nobody exports any more may have waited for the member only.
   */
  #spread(member: Member): void {
    const exported = new Set([...keysIn(member), ...this.services.exportedBy(member.id)]);
    for (const key of exported) this.services.changed(key);
    if (this.#term === undefined) return;
    this.#channels.touch(new Set([...exported, ...this.members.flatMap((each) => keysFrom(member.id, each))]));
    this.#channels.touchAllIn(member);
    for (const key of this.services.known()) {
      if (this.services.get(key).exporters.length > 0) this.#reconciler.touchExporters(key);
      else this.#channels.touch([key]);
    }
  }

  /** Enqueues every service if the address ranges of members have changed. */
  #lookAtRanges(): void {
    this.services.rangesChanged();
    if (this.#willLookAtRanges) return;
    this.#willLookAtRanges = true;
    this.#clock.after(0, () => {
      this.#willLookAtRanges = false;
      const { rules } = this.services;
      if (rules === this.#rules) return;
      this.#rules = rules;
      for (const key of this.services.known()) this.#changed(key);
    });
  }

  /** Looks whether a member has changed. */
  #look(id: string): void {
    this.#seats.checkIdentities();
    this.#lookAtRanges();
    const seat = this.#seats.get(id);
    if (seat !== undefined) this.#compare(seat);
  }

  /**
   * Tells others of a member that was read, is lost or returned. One that was merely silent for a moment is looked at
   * alone, but for services that want to know.
   */
  #compare(seat: Seat): void {
    const { member } = seat;
    const [state, wasReady, wasSilent] = [stateOf(seat), seat.wasReady, seat.wasSilent];
    const hasChanged = state !== seat.state;
    seat.state = state;
    seat.wasReady = member.isReady;
    seat.wasSilent = member.pulse.state === 'silent';
    this.#reportSlow(seat);
    this.#reportExcess(seat);
    this.metrics.connected.set({ cluster: member.id }, member.isReady ? 1 : 0);
    const isNew = member.isReady && seat.joining === 'not yet' && this.#term !== undefined;
    if (isNew) void this.#join(seat, this.#term); // catches everything
    if (hasChanged) this.#spread(member);
    else if (member.isReady && !wasReady) this.#channels.touchAllIn(member);
    if (!hasChanged && seat.wasSilent !== wasSilent) this.#touchDemoted(member);
  }

  #reportSlow(seat: Seat): void {
    const { id, pulse } = seat.member;
    if (seat.wasSlow === pulse.isSlow) return;
    seat.wasSlow = pulse.isSlow;
    const text = pulse.isSlow ? 'the cluster answers slowly' : 'the cluster no longer answers slowly';
    this.#options.log.warn({ cluster: id, tookMs: Math.round(pulse.tookMs) }, text);
  }

  #reportExcess(seat: Seat): void {
    const { id, caches } = seat.member;
    const isExcessive = caches.excess !== undefined;
    if (seat.wasExcessive === isExcessive) return;
    seat.wasExcessive = isExcessive;
    if (isExcessive)
      this.#options.log.error({ cluster: id, err: caches.excess }, 'the cluster is over its limit: it is not read');
    else this.#options.log.warn({ cluster: id }, 'the cluster is within its limit again');
  }

  /** The services whose endpoints in a member come last while it is silent. */
  #touchDemoted(member: Member): void {
    this.#channels.touch([...keysIn(member)].filter((key) => member.record(key)?.onLoss === 'Demote'));
  }

  async #join(seat: Seat, signal = new AbortController().signal): Promise<void> {
    const { log, setName = 'fairlead' } = this.#options;
    const { id } = seat.member;
    seat.joining = 'under way';
    try {
      await takeOver(seat, this.#seats, signal);
      seat.joining = 'done';
      this.#channels.touchAllIn(seat.member);
      // Where it shares its addresses with others, theirs follow those that it had.
      if (this.#sharesAddresses(seat.member)) this.#channels.touch(keysIn(seat.member));
    } catch (error) {
      seat.joining = 'not yet';
      if (signal.aborted) return;
      log.warn({ cluster: id, err: error }, 'could not read what the cluster knows, will try again');
      this.#clock.after(joinAgainMs, () => this.#look(id));
      return;
    }
    try {
      await tellMember(seat, setName, signal);
      this.#seats.hasChanged();
    } catch (error) {
      // Nothing depends on it but people who look.
      if (!signal.aborted) log.warn({ cluster: id, err: error }, 'could not write the properties of the cluster');
    }
    if (seat.member.options.isReadOnly !== true) await this.#options.onJoined?.(seat.member, signal);
    this.#lookAtAll();
  }

  #lookAtAll(): void {
    this.#seats.checkIdentities();
    for (const seat of this.#seats.all()) this.#compare(seat);
  }

  #sharesAddresses({ id, options: { vips } }: Member): boolean {
    return vips !== undefined && this.members.some((each) => each.id !== id && each.options.vips === vips);
  }
}

/** After a member could not be read. */
const joinAgainMs = 1000;
