import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { timestamp } from '../api/timestamp.ts';
import type { Client } from '../client/client.ts';
import type { Clock } from '../client/clock.ts';
import { sleep, systemClock } from '../client/clock.ts';
import { LeaderElection } from '../client/leader-election.ts';
import type { Usage } from '../client/limits.ts';
import type { PartContext, RunningPart } from '../client/part.ts';
import { deleteLeases, Renewer } from './lease/renewer.ts';
import { Member } from './member/member.ts';
import type { MemberOptions, PulseTimes } from './member/options.ts';
import { defaultSourceLeaseMs, pulseOf } from './member/options.ts';
import { ReadTurns } from './member/read-turns.ts';
import { SharedEndpoints } from './member/shared-endpoints.ts';
import type { SyncOptions } from './sync/sync.ts';
import { Sync } from './sync/sync.ts';
import { Advisor } from './webhook/advisor.ts';
import type { WebhookOptions } from './webhook/webhook.ts';

/** A member, and the way to it. */
export interface MemberEntry extends MemberOptions {
  /** Opens the connection that is this member's identity. */
  readonly connect: () => Client;
  /** Differs when anything about the entry does: then the member is taken in anew. Default: its id. */
  readonly version?: string | undefined;
}

export interface MulticlusterOptions extends Omit<SyncOptions, 'log' | 'metrics' | 'onJoined' | 'hasOtherWriters'> {
  /** The members of the set. Calls `change` with all of them, at once and whenever they change, until the signal fires. */
  readonly members: (change: (entries: readonly MemberEntry[]) => void, signal: AbortSignal) => void;
  /** Stands for election with a Lease in the part's own cluster; undefined: it is the only one. */
  readonly leaderElection?: ElectionSettings | undefined;
  /** Where API servers ask what an export would do; undefined: nowhere. */
  readonly webhook?: WebhookOptions | undefined;
  readonly pulse?: PulseTimes | undefined;
  /** What each member may have of the kinds that are read; default: `defaultMemberLimit`. */
  readonly memberLimit?: Usage | undefined;
}

export interface ElectionSettings {
  readonly namespace: string;
  readonly name: string;
  readonly leaseDurationMs?: number;
  readonly renewDeadlineMs?: number;
  readonly retryPeriodMs?: number;
}

/** The start waits for members that are being read until none of them came to its end for this long. */
const patienceMs = 5000;

/** Joins the services of clusters until it is disposed of; see README.md. */
export function startMulticluster(context: PartContext, options: MulticlusterOptions): RunningPart {
  return new Multicluster(context, options);
}

class Multicluster implements RunningPart {
  readonly ready: Promise<void>;
  readonly #context: PartContext;
  readonly #options: MulticlusterOptions;
  readonly #sync: Sync;
  readonly #clock: Clock;
  readonly #endpoints = new SharedEndpoints();
  readonly #readTurns = new ReadTurns();
  readonly #identity = `${hostname()}_${randomUUID()}`;
  readonly #stop = new AbortController();
  readonly #running: Promise<void>;
  readonly #failure = Promise.withResolvers<never>();
  readonly failed = this.#failure.promise;
  readonly #decided = Promise.withResolvers<void>();
  /** Id → the version of the entry, and the member that was made of it. */
  readonly #seated = new Map<string, { readonly version: string; readonly member: Member }>();
  readonly #advisor: Advisor | undefined;
  /** Changes of membership, one after the other. */
  #changing: Promise<void> = Promise.resolve();
  /** When another controller was last seen to renew the leases of members. */
  #companyAt = -Infinity;
  #isLeading = false;
  #isDecided = false;

  constructor(context: PartContext, options: MulticlusterOptions) {
    this.#context = context;
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.#sync = new Sync({
      ...options,
      log: context.log,
      metrics: context.metrics,
      hasOtherWriters: () => this.#clock.elapsed() - this.#companyAt < 2 * this.#pulse.durationMs,
      onJoined: async (member, term) => this.#advisor?.introduce(member, term),
    });
    const { signal } = this.#stop;
    this.#advisor = options.webhook && this.#advise(options.webhook);
    options.members((entries) => this.#change(entries), signal);
    this.#running = this.#run(signal);
    this.ready = this.#whenReady(signal);
    // Who does not wait for them is told by `problems`.
    this.ready.catch(() => undefined);
    this.failed.catch(() => undefined);
  }

  get #pulse(): PulseTimes {
    return this.#options.pulse ?? pulseOf(defaultSourceLeaseMs);
  }

  problems(): readonly string[] {
    const members = this.#sync.members.filter(({ isReady }) => !isReady).map(problemOf);
    return [...(this.#isDecided ? [] : ['nobody is known to lead yet']), ...members, ...this.#sync.problems()];
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    await this.#running;
    await this.#changing;
    await Promise.all(Array.from(this.#seated.values(), ({ member }) => member[Symbol.asyncDispose]()));
    await this.#advisor?.[Symbol.asyncDispose]();
  }

  #advise(webhook: WebhookOptions): Advisor {
    const { seedPolicy = 'Withdraw' } = this.#options;
    return new Advisor({
      webhook,
      known: () => ({
        services: this.#sync.services,
        members: this.#sync.participating,
        seedPolicy,
        now: timestamp(this.#clock.now()),
      }),
      clock: this.#clock,
      log: this.#context.log,
      onFailure: (error) => this.#failure.reject(error),
    });
  }

  /** Makes the members what the entries say; those that stay as they are go on undisturbed. */
  #change(entries: readonly MemberEntry[]): void {
    this.#changing = this.#changing.then(async () => {
      const wanted = new Map(entries.map((entry) => [entry.id, entry]));
      for (const entry of wanted.values()) {
        const old = this.#seated.get(entry.id);
        if (old?.version === versionOf(entry)) continue;
        await this.#seat(entry);
        await old?.member[Symbol.asyncDispose]();
      }
      for (const [id, { member }] of this.#seated) {
        if (wanted.has(id)) continue;
        this.#seated.delete(id);
        await this.#sync.remove(id);
        await member[Symbol.asyncDispose]();
      }
      if (this.#isLeading) await this.#dropLeases();
    });
  }

  async #seat({ connect, version: _version, ...options }: MemberEntry): Promise<void> {
    const { log } = this.#context;
    const member = new Member({
      ...options,
      client: connect(),
      listener: this.#sync.listenerFor(options.id),
      endpoints: this.#endpoints,
      readTurns: this.#readTurns,
      limit: options.limit ?? this.#options.memberLimit,
      pulse: this.#options.pulse,
      clock: this.#options.clock,
      onError: (what, error) => log.debug({ cluster: options.id, err: error }, `${what} failed, will try again`),
    });
    this.#seated.set(options.id, { version: versionOf({ ...options, connect, version: _version }), member });
    await this.#sync.add(member);
  }

  async #run(signal: AbortSignal): Promise<void> {
    try {
      await this.#elect(signal);
    } catch (error) {
      this.#failure.reject(error); // who runs us says so, and starts us again
    }
  }

  /** Resolves when all members were read or do not answer, or none of them came to that for a while. */
  async #settled(signal: AbortSignal): Promise<void> {
    await this.#changing;
    let settled = 0;
    for (let end = this.#clock.elapsed() + patienceMs; !signal.aborted && this.#clock.elapsed() < end;) {
      const before = settled;
      settled = this.#sync.members.filter(({ isSettled }) => isSettled).length;
      if (settled === this.#sync.members.length) return;
      if (settled > before) end = this.#clock.elapsed() + patienceMs;
      await sleep(this.#clock, 10, signal);
    }
  }

  async #elect(signal: AbortSignal): Promise<void> {
    const { leaderElection } = this.#options;
    if (leaderElection === undefined) {
      this.#decide();
      return this.#lead(signal);
    }
    const { namespace, name, ...times } = leaderElection;
    const { client, log } = this.#context;
    const election = new LeaderElection({
      ...times,
      client,
      lease: { namespace, name },
      identity: this.#identity,
      clock: this.#clock,
      onError: (error) => log.warn({ err: error }, 'the lease could not be read or written, will try again'),
      onLeader: (leader) => {
        this.#decide();
        log.info({ leader, isUs: leader === this.#identity }, 'leader');
      },
    });
    await election.run((term) => this.#lead(term), signal);
  }

  #decide(): void {
    this.#isDecided = true;
    this.#decided.resolve();
  }

  async #lead(term: AbortSignal): Promise<void> {
    const { log } = this.#context;
    const renewer = new Renewer({
      ...this.#pulse,
      members: () => this.#sync.participating,
      holder: this.#identity,
      clock: this.#clock,
      onError: (error, cluster) => log.warn({ cluster, err: error }, 'could not renew leases, will try again'),
      onOtherHolder: () => (this.#companyAt = this.#clock.elapsed()),
    });
    this.#isLeading = true;
    await Promise.all([renewer.run(term), this.#write(term)]);
    this.#isLeading = false;
  }

  /** Members that are read before anything is written save writes that the next one would take back. */
  async #write(term: AbortSignal): Promise<void> {
    await this.#settled(term);
    await Promise.all([this.#sync.lead(term), this.#dropLeases()]);
  }

  /** Leases of clusters that have left stand for nothing. */
  async #dropLeases(): Promise<void> {
    const { log } = this.#context;
    const staying = this.#sync.members.filter(({ options }) => options.isLeaving !== true);
    const sources = new Set(staying.map(({ id }) => id));
    const ours = this.#sync.members.filter(({ isReady, options }) => isReady && options.isReadOnly !== true);
    for (const member of ours) {
      try {
        await deleteLeases(member, member.options.isLeaving === true ? new Set() : sources, this.#stop.signal);
      } catch (error) {
        if (!this.#stop.signal.aborted) log.warn({ cluster: member.id, err: error }, 'could not delete old leases');
      }
    }
  }

  async #whenReady(signal: AbortSignal): Promise<void> {
    await this.#settled(signal);
    const stopped = Promise.withResolvers<never>();
    signal.addEventListener('abort', () => stopped.reject(signal.reason), { once: true });
    await Promise.race([this.#decided.promise, stopped.promise]);
  }
}

const versionOf = ({ id, version = id }: MemberEntry): string => version;

/** Why a member is not ready. */
function problemOf({ id, pulse, caches }: Member): string {
  const why = pulse.error instanceof Error ? `: ${pulse.error.message}` : '';
  if (pulse.state !== 'alive') return `cluster ${id} does not answer${why}`;
  if (caches.excess !== undefined)
    return `cluster ${id} is not read: ${caches.excess.message}; raise the limit if the cluster is this large`;
  if (!caches.serves('seed') && !caches.serves('current')) {
    return `cluster ${id} serves neither kind of export: install their definitions`;
  }
  return `cluster ${id} is not read yet`;
}
