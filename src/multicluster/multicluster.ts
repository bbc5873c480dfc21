import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { timestamp } from '../api/timestamp.ts';
import type { Clock } from '../client/clock.ts';
import { sleep, systemClock } from '../client/clock.ts';
import type { Usage } from '../client/limits.ts';
import { Informers } from '../client/informers.ts';
import type { LeaderElectionOptions } from '../client/leadership.ts';
import type { PartContext, RunningPart } from '../client/part.ts';
import { runElectedPart } from '../client/part.ts';
import { unlessAborted } from '../client/unless-aborted.ts';
import { Semaphore } from '../machine/semaphore.ts';
import { memberProblem, slowness } from './explain/member-problem.ts';
import { deleteLeases, Renewer } from './lease/renewer.ts';
import type { MemberEntry } from './member/entry.ts';
import { Member, readPermits } from './member/member.ts';
import { memberErrorLevel } from './member/error-level.ts';
import type { ProbeTimes } from './member/options.ts';
import { defaultSourceLeaseMs, liveIn, probeTimesOf } from './member/options.ts';
import { SharedEndpoints } from './member/shared-endpoints.ts';
import type { MemberObjectsOptions } from './objects/member-objects.ts';
import { MemberObjects } from './objects/member-objects.ts';
import { Reporter } from './objects/reporter.ts';
import type { SyncOptions } from './sync/sync.ts';
import { Sync } from './sync/sync.ts';
import { Advisor } from './webhook/advisor.ts';
import type { WebhookOptions } from './webhook/webhook.ts';

export interface MulticlusterOptions extends Omit<SyncOptions, 'log' | 'metrics' | 'onJoined' | 'hasOtherWriters'> {
  /**
   * Members from elsewhere than the API. Calls `change` with all of them, at once and whenever they change, until the signal
   * fires. undefined: all members are ClusterMembers.
   */
  readonly members?: ((change: (entries: readonly MemberEntry[]) => void, signal: AbortSignal) => void) | undefined;
  /** The ids of the members to write to; the others are only read. undefined: all. */
  readonly targets?: readonly string[] | undefined;
  /** Where ClusterMembers are; undefined: there are none. */
  readonly objects?: MemberObjectsOptions | undefined;
  /** The Lease is in the controller's own cluster; undefined: this is the only replica. */
  readonly leaderElection?: LeaderElectionOptions | undefined;
  /** The webhook that returns warnings for exports; undefined: none. */
  readonly webhook?: WebhookOptions | undefined;
  readonly probeTimes?: ProbeTimes | undefined;
  /** Limit of the objects that are cached of each member; default: `defaultMemberLimit`. */
  readonly memberLimit?: Usage | undefined;
}

/** The options of the controller, with what it uses for all of its life. */
interface ControllerOptions extends Omit<MulticlusterOptions, 'objects'> {
  /** The holder of the leases of sources. */
  readonly identity: string;
  readonly objects: MemberObjects | undefined;
}

/** The first writes wait for members that are being read, until none of them has synced for this long. */
const settleMs = 5000;

/** Starts the controller that joins the services of clusters; see README.md. */
export function startMulticluster(context: PartContext, options: MulticlusterOptions): RunningPart {
  const { client, log } = context;
  const { leaderElection, clock = systemClock } = options;
  const identity = `${hostname()}_${randomUUID()}`;
  const informers = new Informers({ client, log, clock }); // members are read over connections of their own
  const objects = options.objects && new MemberObjects(informers, clock, options.objects);
  const controller = new MulticlusterController(context, { ...options, identity, objects });
  if (objects !== undefined) informers.start();
  const part = runElectedPart({
    context,
    clock,
    informers,
    election: leaderElection && { identity, ...leaderElection },
    onEveryReplica: (signal) => controller.follow(signal),
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
  readonly #options: ControllerOptions;
  readonly #sync: Sync;
  readonly #clock: Clock;
  readonly #endpoints = new SharedEndpoints();
  readonly #readPermits = new Semaphore(readPermits);
  readonly #failure = Promise.withResolvers<never>();
  /** Rejects when the webhook cannot listen. */
  readonly failed = this.#failure.promise;
  /** The members of each source; undefined: it has not been read yet. */
  readonly #sources: { given: readonly MemberEntry[] | undefined; objects: readonly MemberEntry[] | undefined };
  /** Resolves when all sources have been read once. */
  readonly #listed = Promise.withResolvers<void>();
  /** ID → version of the entry, and its member. */
  readonly #members = new Map<string, { readonly version: string; readonly member: Member }>();
  readonly #advisor: Advisor | undefined;
  /** Resolves when the last change of the members is done; changes are made one after the other. */
  #changing: Promise<void> = Promise.resolve();
  /** When another controller was last seen to renew the leases of sources. */
  #otherWriterSeenAt = -Infinity;
  /** Fires when this replica no longer leads; undefined: it does not. */
  #term: AbortSignal | undefined;

  constructor(context: PartContext, options: ControllerOptions) {
    this.#context = context;
    this.#options = options;
    const { members, objects } = options;
    this.#sources = { given: members ? undefined : [], objects: objects ? undefined : [] };
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
  async follow(signal: AbortSignal): Promise<void> {
    const { members, objects } = this.#options;
    const changed = (source: 'given' | 'objects') => (entries: readonly MemberEntry[]) => {
      this.#sources[source] = entries;
      this.#combine();
    };
    members?.(changed('given'), signal);
    await objects?.follow(changed('objects'), signal).catch((error: unknown) => {
      if (!signal.aborted) throw error;
    });
  }

  /** A member of the file hides a ClusterMember with its id. */
  #combine(): void {
    const { given, objects } = this.#sources;
    if (given === undefined || objects === undefined) return;
    const taken = new Set(given.map(({ id }) => id));
    const { targets } = this.#options;
    const entries = [...given, ...objects.filter(({ id }) => !taken.has(id))];
    this.#change(
      targets === undefined ? entries : entries.map((entry) => ({ ...entry, isReadOnly: !targets.includes(entry.id) })),
    );
    this.#listed.resolve();
  }

  /** Adds, replaces and removes members. Members whose entries have not changed are left alone. */
  #change(entries: readonly MemberEntry[]): void {
    this.#changing = this.#changing.then(async () => {
      const wanted = new Map(entries.map((entry) => [entry.id, entry]));
      for (const entry of wanted.values()) {
        const old = this.#members.get(entry.id);
        if (old?.version === versionOf(entry)) {
          const { isDraining = false } = old.member.options;
          if (!old.member.reconfigure(liveIn(entry))) continue;
          if (old.member.options.isDraining !== isDraining)
            this.#context.log.info({ cluster: entry.id }, isDraining ? 'cluster no longer drains' : 'cluster drains');
          this.#sync.reconfigured(old.member);
          continue;
        }
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
    await unlessAborted(this.#listed.promise, signal);
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
      holder: this.#options.identity,
      clock: this.#clock,
      onError: (error, member) =>
        log[memberErrorLevel(member, error)](
          { cluster: member.id, err: error },
          'could not renew the leases of sources, retrying',
        ),
      onOtherHolder: () => (this.#otherWriterSeenAt = this.#clock.elapsed()),
    });
    this.#term = term;
    await Promise.all([renewer.run(term), this.#write(term), this.#report(term)]);
    this.#term = undefined;
  }

  /** Keeps the ClusterMembers up to date. */
  async #report(term: AbortSignal): Promise<void> {
    const { objects } = this.#options;
    if (objects === undefined) return;
    const { client, log } = this.#context;
    const isGiven = (id: string): boolean => this.#sources.given?.some((entry) => entry.id === id) === true;
    const reporter = new Reporter({
      client,
      log,
      clock: this.#clock,
      probeMs: this.#probeTimes.renewMs,
      set: {
        get known() {
          return objects.known;
        },
        member: (id) => (isGiven(id) ? undefined : this.#members.get(id)?.member),
        rejection: (id) =>
          isGiven(id)
            ? { reason: 'DuplicateID', message: `the members file has a member "${id}" already` }
            : this.#sync.rejection(id),
        waiting: (id) => this.#sync.waiting(id),
        overlap: (id) => this.#sync.overlap(id),
        gatewayProblem: (id) => this.#sync.gatewayProblem(id),
        drain: (id) => this.#sync.drain(id),
        withdraw: (member, signal) => this.#sync.withdraw(member, signal),
      },
    });
    await reporter.run(term);
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
