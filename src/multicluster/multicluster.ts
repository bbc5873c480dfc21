import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { timestamp } from '../api/timestamp.ts';
import type { Client } from '../client/client.ts';
import type { Clock } from '../client/clock.ts';
import { sleep, systemClock } from '../client/clock.ts';
import type { Usage } from '../client/limits.ts';
import { Informers } from '../client/informers.ts';
import type { LeaderElectionOptions } from '../client/leadership.ts';
import type { PartContext, RunningPart } from '../client/part.ts';
import { runElectedPart } from '../client/part.ts';
import { Semaphore } from '../machine/semaphore.ts';
import { memberProblem, slowness } from './explain/member-problem.ts';
import { deleteLeases, Renewer } from './lease/renewer.ts';
import { Member, readPermits } from './member/member.ts';
import { memberErrorLevel } from './member/error-level.ts';
import type { MemberOptions, ProbeTimes } from './member/options.ts';
import { defaultSourceLeaseMs, probeTimesOf } from './member/options.ts';
import { SharedEndpoints } from './member/shared-endpoints.ts';
import type { SyncOptions } from './sync/sync.ts';
import { Sync } from './sync/sync.ts';
import { Advisor } from './webhook/advisor.ts';
import type { WebhookOptions } from './webhook/webhook.ts';

/** A member as it is configured. */
export interface MemberEntry extends MemberOptions {
  /** Opens the connection that is this member's identity. */
  readonly connect: () => Client;
  /** Changes when anything in the entry does: the member is then replaced. Default: its id. */
  readonly version?: string | undefined;
}

export interface MulticlusterOptions extends Omit<SyncOptions, 'log' | 'metrics' | 'onJoined' | 'hasOtherWriters'> {
  /** The members of the set. Calls `change` with all of them, at once and whenever they change, until the signal fires. */
  readonly members: (change: (entries: readonly MemberEntry[]) => void, signal: AbortSignal) => void;
  /** The Lease is in the controller's own cluster; undefined: this is the only replica. */
  readonly leaderElection?: LeaderElectionOptions | undefined;
  /** The webhook that returns warnings for exports; undefined: none. */
  readonly webhook?: WebhookOptions | undefined;
  readonly probeTimes?: ProbeTimes | undefined;
  /** Limit of the objects that are cached of each member; default: `defaultMemberLimit`. */
  readonly memberLimit?: Usage | undefined;
}

/** The first writes wait for members that are being read, until none of them has synced for this long. */
const settleMs = 5000;

/** Starts the controller that joins the services of clusters; see README.md. */
export function startMulticluster(context: PartContext, options: MulticlusterOptions): RunningPart {
  const { client, log } = context;
  const { leaderElection, clock = systemClock } = options;
  const identity = `${hostname()}_${randomUUID()}`;
  const controller = new MulticlusterController(context, options, identity);
  const part = runElectedPart({
    context,
    clock,
    informers: new Informers({ client, log, clock }), // it reads its members, each over a connection of its own
    election: leaderElection && { identity, ...leaderElection },
    onEveryReplica: async (signal) => controller.follow(signal),
    lead: (term) => controller.lead(term),
    synced: (signal) => controller.settled(signal),
    problems: () => controller.problems(),
  });
  const failed = Promise.race([part.failed ?? controller.failed, controller.failed]);
  failed.catch(() => undefined); // reported by the owner of the part
  return {
    ready: part.ready,
    failed,
    problems: () => part.problems(),
    async [Symbol.asyncDispose]() {
      await part[Symbol.asyncDispose]();
      await controller[Symbol.asyncDispose]();
    },
  };
}

class MulticlusterController implements AsyncDisposable {
  readonly #context: PartContext;
  readonly #options: MulticlusterOptions;
  /** The holder of the leases of sources. */
  readonly #identity: string;
  readonly #sync: Sync;
  readonly #clock: Clock;
  readonly #endpoints = new SharedEndpoints();
  readonly #readPermits = new Semaphore(readPermits);
  readonly #failure = Promise.withResolvers<never>();
  /** Rejects when the webhook cannot listen. */
  readonly failed = this.#failure.promise;
  /** ID → version of the entry, and its member. */
  readonly #members = new Map<string, { readonly version: string; readonly member: Member }>();
  readonly #advisor: Advisor | undefined;
  /** Resolves when the last change of the members is done; changes are made one after the other. */
  #changing: Promise<void> = Promise.resolve();
  /** When another controller was last seen to renew the leases of sources. */
  #otherWriterSeenAt = -Infinity;
  /** Fires when this replica no longer leads; undefined: it does not. */
  #term: AbortSignal | undefined;

  constructor(context: PartContext, options: MulticlusterOptions, identity: string) {
    this.#context = context;
    this.#options = options;
    this.#identity = identity;
    this.#clock = options.clock ?? systemClock;
    this.#sync = new Sync({
      ...options,
      log: context.log,
      metrics: context.metrics,
      hasOtherWriters: () => this.#clock.elapsed() - this.#otherWriterSeenAt < 2 * this.#probeTimes.durationMs,
      onJoined: async (member, term) => this.#advisor?.register(member, term),
    });
    this.#advisor = options.webhook && this.#advise(options.webhook);
  }

  get #probeTimes(): ProbeTimes {
    return this.#options.probeTimes ?? probeTimesOf(defaultSourceLeaseMs);
  }

  problems(): readonly string[] {
    const members = this.#sync.members.flatMap((member) => memberProblem(member) ?? slowness(member) ?? []);
    return [...members, ...this.#sync.problems()];
  }

  /** To be disposed of once it neither follows nor leads. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#changing;
    await Promise.all(Array.from(this.#members.values(), ({ member }) => member[Symbol.asyncDispose]()));
    await this.#advisor?.[Symbol.asyncDispose]();
  }

  #advise(webhook: WebhookOptions): Advisor {
    const { conflictPolicy = 'Withdraw' } = this.#options;
    return new Advisor({
      webhook,
      set: () => ({
        services: this.#sync.services,
        members: this.#sync.participating,
        conflictPolicy,
        now: timestamp(this.#clock.now()),
      }),
      clock: this.#clock,
      log: this.#context.log,
      onFailure: (error) => this.#failure.reject(error),
    });
  }

  /** Reads the members, whether or not this replica leads. */
  follow(signal: AbortSignal): void {
    this.#options.members((entries) => this.#change(entries), signal);
  }

  /** Adds, replaces and removes members. Members whose entries have not changed are left alone. */
  #change(entries: readonly MemberEntry[]): void {
    this.#changing = this.#changing.then(async () => {
      const wanted = new Map(entries.map((entry) => [entry.id, entry]));
      for (const entry of wanted.values()) {
        const old = this.#members.get(entry.id);
        if (old?.version === versionOf(entry)) continue;
        await this.#add(entry);
        await old?.member[Symbol.asyncDispose]();
      }
      for (const [id, { member }] of this.#members) {
        if (wanted.has(id)) continue;
        this.#members.delete(id);
        await this.#sync.remove(id);
        await member[Symbol.asyncDispose]();
      }
      if (this.#term !== undefined) await this.#deleteLeases(this.#term);
    });
  }

  async #add(entry: MemberEntry): Promise<void> {
    const { connect, version: _version, ...options } = entry;
    const { log } = this.#context;
    const member = new Member({
      ...options,
      client: connect(),
      listener: this.#sync.listenerFor(options.id),
      endpoints: this.#endpoints,
      permits: this.#readPermits,
      limit: options.limit ?? this.#options.memberLimit,
      probeTimes: this.#options.probeTimes,
      clock: this.#options.clock,
      log: log.child({ cluster: options.id }),
    });
    this.#members.set(entry.id, { version: versionOf(entry), member });
    await this.#sync.add(member);
  }

  /** Resolves when all members are ready or do not answer, or when none of them has become so for a while. */
  async settled(signal: AbortSignal): Promise<void> {
    await this.#changing;
    let settled = 0;
    for (let end = this.#clock.elapsed() + settleMs; !signal.aborted && this.#clock.elapsed() < end;) {
      const before = settled;
      settled = this.#sync.members.filter(({ isSettled }) => isSettled).length;
      if (settled === this.#sync.members.length) return;
      if (settled > before) end = this.#clock.elapsed() + settleMs;
      await sleep(this.#clock, 10, signal);
    }
  }

  /** Renews the leases of sources at once, and writes when the members have been read. */
  async lead(term: AbortSignal): Promise<void> {
    const { log } = this.#context;
    const renewer = new Renewer({
      ...this.#probeTimes,
      members: () => this.#sync.participating,
      holder: this.#identity,
      clock: this.#clock,
      onError: (error, member) =>
        log[memberErrorLevel(member, error)](
          { cluster: member.id, err: error },
          'could not renew the leases of sources, retrying',
        ),
      onOtherHolder: () => (this.#otherWriterSeenAt = this.#clock.elapsed()),
    });
    this.#term = term;
    await Promise.all([renewer.run(term), this.#write(term)]);
    this.#term = undefined;
  }

  /** What is written before all members are read may have to be written again. */
  async #write(term: AbortSignal): Promise<void> {
    await this.settled(term);
    await Promise.all([this.#sync.lead(term), this.#deleteLeases(term)]);
  }

  /** Deletes the leases of clusters that have left the set. */
  async #deleteLeases(term: AbortSignal): Promise<void> {
    const { log } = this.#context;
    const staying = this.#sync.members.filter(({ options }) => options.isLeaving !== true);
    const sources = new Set(staying.map(({ id }) => id));
    const writable = this.#sync.members.filter(({ isReady, options }) => isReady && options.isReadOnly !== true);
    for (const member of writable) {
      try {
        await deleteLeases(member, member.options.isLeaving === true ? new Set() : sources, term);
      } catch (error) {
        if (!term.aborted)
          log[memberErrorLevel(member, error)]({ cluster: member.id, err: error }, 'could not delete old leases');
      }
    }
  }
}

const versionOf = ({ id, version = id }: MemberEntry): string => version;
