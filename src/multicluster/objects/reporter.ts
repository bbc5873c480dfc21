// What the leader does with ClusterMembers: it writes their status, renews their tokens and lets deleted ones go.
import type { Logger } from 'pino';
import { messageOf } from '../../api/error-message.ts';
import { secretKind } from '../../api/kinds/core/secret/kind.ts';
import { clusterMemberKind, kubeconfigKey } from '../../api/kinds/multicluster/clustermember/kind.ts';
import type { Client } from '../../client/client.ts';
import type { Clock } from '../../client/clock.ts';
import { sleep } from '../../client/clock.ts';
import { connectionReason } from '../../client/connection-error.ts';
import { EventRecorder } from '../../client/events.ts';
import { withToken } from '../../client/kubeconfig.ts';
import { hasStatusCode } from '../../client/transport.ts';
import { memberProblem } from '../explain/member-problem.ts';
import type { Member } from '../member/member.ts';
import type { DrainProgress } from '../project/drain.ts';
import type { KnownMember } from './member-objects.ts';
import type { ObservedCluster } from './status.ts';
import { drainEvent, statusOf } from './status.ts';
import type { TokenClaims } from './token.ts';
import type { GatewayProblem } from '../member/keys.ts';
import { lifetimeSeconds, renewAtMs } from './token.ts';

/** The set as far as the objects of its members depend on it. */
export interface ReportedSet {
  readonly known: ReadonlyMap<string, KnownMember>;
  member(id: string): Member | undefined;
  /** Why a member does not take part; undefined: it does. */
  rejection(id: string): { readonly reason: string; readonly message: string } | undefined;
  /** The number of services that wait to be written to a member. */
  waiting(id: string): number;
  /** Why the Pods of a member cannot be routed; undefined: they can. */
  overlap(id: string): string | undefined;
  /** Why other clusters cannot use the gateway of a member; undefined: they can, or reach it in another way. */
  gatewayProblem(id: string): GatewayProblem | undefined;
  /** How far the traffic of a draining member has moved to others. */
  drain(id: string): DrainProgress;
  /** Resolves to whether a member that leaves has nothing of the set any more. */
  withdraw(member: Member, signal: AbortSignal): Promise<boolean>;
}

export interface ReporterOptions {
  readonly client: Client;
  readonly log: Logger;
  readonly clock: Clock;
  readonly set: ReportedSet;
  /** Interval of the probes of members: it reports no more often, and at least every two seconds. */
  readonly probeMs: number;
}

const longestIntervalMs = 2000;
/** Retries of a renewal. */
const retryMs = 60_000;
/** How often the version of a server is read: upgrades are rare. */
const versionMs = 300_000;
/** Services that wait for less than this are on their way. */
const lagStepMs = 10_000;

/** Keeps a ClusterMember until its cluster is withdrawn from the set. */
export const memberFinalizer = 'fairlead.dev/cluster-member';

/** What is remembered about a member between two rounds. */
interface Memory {
  renewal?: { readonly triedAt: number; readonly problem: string | undefined } | undefined;
  version?: { readonly member: Member; readonly text: string; readonly readAt: number };
  waitingSince?: number | undefined;
  lastError?: string | undefined;
}

export class Reporter {
  readonly #options: ReporterOptions;
  readonly #events: EventRecorder;
  /** ID → what is remembered. */
  readonly #memories = new Map<string, Memory>();

  constructor(options: ReporterOptions) {
    this.#options = options;
    const { client, clock, log } = options;
    this.#events = new EventRecorder({ client, component: 'fairlead-multicluster', clock, log });
  }

  /** Reports until the signal fires. Never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, set, probeMs } = this.#options;
    while (!signal.aborted) {
      for (const id of this.#memories.keys()) if (!set.known.has(id)) this.#memories.delete(id);
      await Promise.all(Array.from(set.known, ([id, known]) => this.#tryOne(id, known, signal)));
      await sleep(clock, Math.min(probeMs, longestIntervalMs), signal);
    }
    await this.#events.flush();
  }

  async #tryOne(id: string, known: KnownMember, signal: AbortSignal): Promise<void> {
    const memory = this.#memories.get(id) ?? {};
    this.#memories.set(id, memory);
    try {
      await this.#one(known, memory, signal);
      memory.lastError = undefined;
    } catch (error) {
      // 404: it was deleted meanwhile. 409: it changed, and the next round sees that.
      if (signal.aborted || hasStatusCode(error, 404) || hasStatusCode(error, 409)) return;
      const isNew = memory.lastError !== messageOf(error);
      memory.lastError = messageOf(error);
      this.#options.log[isNew ? 'warn' : 'debug'](
        { cluster: id, err: error },
        'could not write the ClusterMember, retrying',
      );
    }
  }

  async #one(known: KnownMember, memory: Memory, signal: AbortSignal): Promise<void> {
    const { client, clock, set } = this.#options;
    const { object, access, invalid } = known;
    const id = object.metadata.name ?? '';
    const member = set.member(id);
    if (await this.#finalize(known, member, signal)) return;
    if (member !== undefined) await this.#renew(known, memory, member, signal);
    const cluster = member && (await this.#observe(member, memory, signal));
    const status = statusOf(
      {
        generation: object.metadata.generation,
        rejection: invalid === undefined ? set.rejection(id) : { reason: 'InvalidSpec', message: invalid },
        access,
        renewalProblem: memory.renewal?.problem,
        cluster,
        nowMs: clock.now(),
      },
      object.status,
    );
    if (status === undefined) return;
    await client.updateStatus(clusterMemberKind, { ...object, status }, { signal });
    const event = drainEvent(object.status, status);
    if (event !== undefined) this.#events.record(clusterMemberKind, object, event);
  }

  /** Adds the finalizer of a member, and removes it from a deleted one that is withdrawn. Returns whether it wrote. */
  async #finalize({ object }: KnownMember, member: Member | undefined, signal: AbortSignal): Promise<boolean> {
    const { client, set } = this.#options;
    const { finalizers = [], deletionTimestamp } = object.metadata;
    const has = finalizers.includes(memberFinalizer);
    const write = async (next: readonly string[]): Promise<true> => {
      await client.update(
        clusterMemberKind,
        { ...object, metadata: { ...object.metadata, finalizers: next } },
        { signal },
      );
      return true;
    };
    if (deletionTimestamp === undefined)
      return !has && member !== undefined ? write([...finalizers, memberFinalizer]) : false;
    if (!has) return false;
    // Nothing was written to a cluster that did not take part under this id.
    const isRejected = set.rejection(object.metadata.name ?? '') !== undefined;
    if (!isRejected && (member === undefined || !(await set.withdraw(member, signal)))) return false;
    return write(finalizers.filter((each) => each !== memberFinalizer));
  }

  /** Replaces a token whose time has come, over the connection that it still opens. */
  async #renew(known: KnownMember, memory: Memory, member: Member, signal: AbortSignal): Promise<void> {
    const { clock, log } = this.#options;
    const { access } = known;
    const claims = access.problem === undefined ? access.claims : undefined;
    if (claims === undefined || clock.now() < renewAtMs(claims)) {
      memory.renewal = undefined;
      return;
    }
    if (memory.renewal !== undefined && clock.elapsed() - memory.renewal.triedAt < retryMs) return;
    const triedAt = clock.elapsed();
    try {
      await this.#writeToken(known, claims, member, signal);
      memory.renewal = { triedAt, problem: undefined };
      log.info({ cluster: member.id }, 'token renewed');
    } catch (error) {
      if (signal.aborted) return;
      memory.renewal = { triedAt, problem: connectionReason(error) };
      log.warn({ cluster: member.id, reason: connectionReason(error) }, 'could not renew the token, retrying');
    }
  }

  async #writeToken(
    { object, access }: KnownMember,
    claims: TokenClaims,
    member: Member,
    signal: AbortSignal,
  ): Promise<void> {
    if (access.problem !== undefined) return;
    const { namespace, account } = claims;
    const { status } = await member.withTimeout(signal, (deadline) =>
      member.client.requestToken({ namespace, name: account }, lifetimeSeconds(claims), { signal: deadline }),
    );
    const kubeconfig = withToken(access.content, access.access.userName, status?.token ?? '');
    const data = { [kubeconfigKey]: Buffer.from(kubeconfig).toString('base64') };
    await this.#options.client.patch(
      secretKind,
      { namespace: object.metadata.namespace, name: object.spec.secretRef.name },
      { body: { data }, signal },
    );
  }

  async #observe(member: Member, memory: Memory, signal: AbortSignal): Promise<ObservedCluster> {
    const { clock, set } = this.#options;
    const waiting = set.waiting(member.id);
    memory.waitingSince = waiting === 0 ? undefined : (memory.waitingSince ?? clock.elapsed());
    const lagMs = memory.waitingSince === undefined ? 0 : clock.elapsed() - memory.waitingSince;
    const lagSeconds = (Math.floor(lagMs / lagStepMs) * lagStepMs) / 1000;
    const exported = [...member.caches.superclusterExports.list(), ...member.caches.serviceExports.list()];
    return {
      state: member.probe.state,
      uid: member.probe.uid,
      version: await this.#versionOf(member, memory, signal),
      problem: memberProblem(member),
      waiting: lagSeconds === 0 ? 0 : waiting,
      lagSeconds,
      exports: [...new Set(exported.map(({ metadata: { namespace = '', name = '' } }) => `${namespace}/${name}`))],
      isLeaving: member.options.isLeaving === true,
      overlap: set.overlap(member.id),
      gateway: member.options.addressMode === 'gateway' ? { problem: set.gatewayProblem(member.id) } : undefined,
      drain: member.options.isDraining === true ? set.drain(member.id) : undefined,
    };
  }

  async #versionOf(member: Member, memory: Memory, signal: AbortSignal): Promise<string | undefined> {
    const { clock } = this.#options;
    const { version: last } = memory;
    const isRecent = last?.member === member && clock.elapsed() - last.readAt < versionMs;
    if (isRecent || member.probe.state !== 'alive') return last?.text;
    try {
      const answer = await member.withTimeout(signal, (deadline) =>
        member.client.read('/version', { signal: deadline }),
      );
      const text = (answer as { readonly gitVersion?: unknown }).gitVersion;
      if (typeof text !== 'string') return last?.text;
      memory.version = { member, text, readAt: clock.elapsed() };
      return text;
    } catch {
      return last?.text; // the next round reads it again, and the probe shows whether the server answers
    }
  }
}
