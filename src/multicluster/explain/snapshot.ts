import type { Lease } from '../../api/kinds/coordination/lease/kind.ts';
import type { Key } from '../../client/key.ts';
import { sleep, systemClock } from '../../client/clock.ts';
import { leaseStates } from './lease-states.ts';
import { memberProblem } from './member-problem.ts';
import type { LeaseState } from './why.ts';
import { identityProblems } from '../guard/identity.ts';
import { sourceOfLease, uidOfLease } from '../lease/lease.ts';
import { leasesIn } from '../lease/renewer.ts';
import type { ImporterGroup } from '../merge/audience.ts';
import type { Merged, ConflictPolicy } from '../merge/merged.ts';
import type { Actual, Desired } from '../project/desired.ts';
import type { Dropped, SetRules } from '../guard/policy.ts';
import { gatewayProblemOf, keysIn, overlapIn } from '../member/keys.ts';
import type { MemberEntry } from '../member/entry.ts';
import { Member } from '../member/member.ts';
import { propertyProblem } from '../sync/membership.ts';
import type { DrainProgress } from '../project/drain.ts';
import { drainProgress, isReplaced } from '../sync/drain.ts';
import { desiredIn } from '../sync/import-reconciler.ts';
import type { ServicesOptions } from '../sync/services.ts';
import { Services } from '../sync/services.ts';

/** How long to wait without progress for members that answer to be read, as the controller does at its start. */
const readMs = 5000;

/** A member is read within this many times the latency of its last probe, or it makes no progress. */
const answersPerStep = 3;

const noListener = { source() {}, target() {}, gateways() {}, namespace() {}, state() {} };

/** The controller's settings, which are not stored in the clusters. */
export type ControllerOptions = Pick<ServicesOptions, 'conflictPolicy' | 'deniedNamespaces'>;

/** What commands read of each ready member in addition to its caches. */
type Facts = ReadonlyMap<
  Member,
  {
    /** The leases of sources. */
    readonly leases: readonly Lease[];
    /** Why the cluster cannot take part under its id. */
    readonly propertyProblem: string | undefined;
  }
>;

/** A read-only view of the clusters of a set, read as the controller reads them. */
export class Snapshot implements AsyncDisposable {
  readonly members: readonly Member[];
  readonly #options: ControllerOptions;
  #facts: Facts = new Map();
  #rejected: ReadonlyMap<string, string> = new Map();
  #services: Services;

  constructor(members: readonly Member[], options: ControllerOptions) {
    this.members = members;
    this.#options = options;
    this.#services = this.#merge();
  }

  get conflictPolicy(): ConflictPolicy {
    return this.#options.conflictPolicy;
  }

  /** Id → why the controller does not accept this member. */
  get rejected(): ReadonlyMap<string, string> {
    return this.#rejected;
  }

  /** A sentence for each member that is rejected or cannot be read. */
  problems(): readonly string[] {
    return this.members.flatMap((member) => this.problemOf(member) ?? []);
  }

  /** Why a member is rejected or cannot be read; undefined: it is read. */
  problemOf(member: Member): string | undefined {
    return this.#rejected.get(member.id) ?? memberProblem(member);
  }

  /** Source → the state of its lease in a member; empty if the leases cannot be read. */
  leaseStates(member: Member): ReadonlyMap<string, LeaseState> {
    return leaseStates(this.#facts.get(member)?.leases ?? [], Date.now());
  }

  /** The rules for all members. */
  get rules(): SetRules {
    return this.#services.rules;
  }

  merged(key: Key): Merged {
    return this.#services.get(key);
  }

  /** The merged service as a member imports it. */
  mergedFor(key: Key, member: Member): Merged {
    return this.#services.getFor(key, member);
  }

  /** The members by the exports that they import of a service. */
  groups(key: Key): readonly ImporterGroup[] {
    return this.#services.groups(key);
  }

  /** What is ignored of the exports of a service. */
  dropped(key: Key): readonly Dropped[] {
    this.merged(key);
    return this.#services.dropped(key);
  }

  /** The desired and the actual objects of a service in a member. */
  desired(key: Key, member: Member): { readonly desired: Desired; readonly actual: Actual } {
    const ids = (matches: (each: Member) => boolean): ReadonlySet<string> =>
      new Set(this.members.filter(matches).map(({ id }) => id));
    return desiredIn({
      key,
      merged: this.mergedFor(key, member),
      member,
      unknown: ids(({ id, caches }) => this.#rejected.has(id) || !caches.isSynced),
      lost: ids(({ probe }) => probe.state === 'lost'),
      silent: ids(({ probe }) => probe.state === 'silent'),
      draining: ids(({ options }) => options.isDraining === true),
      members: this.members
        .filter(({ id, options }) => options.isLeaving !== true && !this.#rejected.has(id))
        .map(({ id, options: { labels } }) => ({ id, labels })),
    });
  }

  /** Why the Pods of a member cannot be routed; undefined: they can. */
  overlap(id: string): string | undefined {
    return overlapIn(this.members, id);
  }

  /** Why other clusters cannot use the gateway of a member; undefined: they can, or reach it in another way. */
  gatewayProblem(id: string): string | undefined {
    return gatewayProblemOf(this.members, id)?.message;
  }

  /** How far the traffic of a draining member has moved to others. */
  drain(id: string): DrainProgress {
    return drainProgress(id, this.members, (key, member) => isReplaced(id, this.desired(key, member).desired));
  }

  /** Takes the snapshot again: reads leases and identities, and merges what the members hold now. */
  async renew(): Promise<void> {
    const ready = this.members.filter(({ isReady }) => isReady);
    const facts = await Promise.all(
      ready.map(async (member) => {
        const [leases, problem] = await Promise.all([readLeases(member), readPropertyProblem(member)]);
        return [member, { leases, propertyProblem: problem }] as const;
      }),
    );
    this.#facts = new Map(facts);
    this.#rejected = rejectedMembers(this.members, this.#facts);
    this.#services = this.#merge();
  }

  member(id: string): Member | undefined {
    return this.members.find((each) => each.id === id);
  }

  /** All services that are exported or imported anywhere. */
  keys(): readonly Key[] {
    return [...new Set(this.members.flatMap((member) => [...keysIn(member)]))].toSorted();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.members.map((member) => member[Symbol.asyncDispose]()));
  }

  #merge(): Services {
    return new Services({
      ...this.#options,
      members: () => this.members.filter(({ id }) => !this.#rejected.has(id)),
      hasOtherWriters: () => false,
      clock: systemClock,
      onDenials: () => undefined,
    });
  }
}

/**
 * Id → why the controller rejects the member: another member is the same cluster, another cluster had the id before, or
 * the ClusterProperty of the cluster has another id.
 */
function rejectedMembers(members: readonly Member[], read: Facts): ReadonlyMap<string, string> {
  const uids = new Map(members.map(({ id, probe }) => [id, probe.uid]));
  const known = new Map<string, string>();
  for (const lease of [...read.values()].flatMap(({ leases }) => leases)) {
    const [source = '', uid] = [sourceOfLease(lease), uidOfLease(lease)];
    if (uid !== undefined && uids.get(source) !== uid) known.set(source, uid);
  }
  const facts = Array.from(uids, ([id, uid]) => ({ id, uid }));
  return new Map([
    ...members.flatMap((member): [string, string][] => {
      const problem = read.get(member)?.propertyProblem;
      return problem === undefined ? [] : [[member.id, problem]];
    }),
    ...identityProblems(facts, known).map(({ id, message }): [string, string] => [id, message]),
  ]);
}

/** Reads the members, and waits for each as long as the controller does. Calls `onWait` when that takes long. */
export async function takeSnapshot(
  entries: readonly MemberEntry[],
  options: ControllerOptions,
  onWait: (ids: readonly string[]) => void = () => undefined,
): Promise<Snapshot> {
  const members = entries.map(
    ({ connect, version: _version, ...member }) =>
      new Member({ ...member, client: connect(), listener: noListener, log: { debug() {}, warn() {} } }),
  );
  await allRead(members, onWait);
  for (const {
    options: { vips },
    caches,
  } of members) {
    vips?.adopt([...caches.serviceImports.list(), ...caches.importedServices.list()]);
  }
  const snapshot = new Snapshot(members, options);
  await snapshot.renew();
  return snapshot;
}

/** Resolves when every member is read, does not answer for a lease duration, or makes no progress after its answer. */
async function allRead(members: readonly Member[], onWait: (ids: readonly string[]) => void): Promise<void> {
  let [before, hasReported] = ['', false];
  for (let end = systemClock.elapsed() + readMs; ;) {
    const pending = members.filter((member) => !member.isSettled && !member.caches.lacksKinds);
    if (pending.length === 0) return;
    const progress = pending.map(({ id, probe, caches }) => `${id} ${probe.state} ${caches.progress}`).join();
    // A slow member makes progress with each answer.
    const slowestMs = Math.max(0, ...pending.map(({ probe }) => probe.latencyMs));
    if (progress !== before) end = systemClock.elapsed() + Math.max(readMs, answersPerStep * slowestMs);
    before = progress;
    if (systemClock.elapsed() >= end) {
      // A member that has not answered its first probe is waited for until the probe fails.
      if (pending.every(({ probe }) => probe.state !== 'unknown')) return;
      if (!hasReported) onWait(pending.map(({ id }) => id));
      hasReported = true;
    }
    await sleep(systemClock, 10, never);
  }
}

/** The leases of sources in a member; none if they may not be read. */
const readLeases = (member: Member): Promise<readonly Lease[]> => leasesIn(member, never).catch(() => []);

/** Undefined also if ClusterProperties may not be read. */
const readPropertyProblem = (member: Member): Promise<string | undefined> =>
  member.withTimeout(never, (deadline) => propertyProblem(member, deadline)).catch(() => undefined);

const never = new AbortController().signal;
