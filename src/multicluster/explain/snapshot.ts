import type { Lease } from '../../api/kinds/coordination/lease/kind.ts';
import type { Key } from '../../client/key.ts';
import { sleep, systemClock } from '../../client/clock.ts';
import { leaseStates } from './lease-states.ts';
import { lacksDefinitions, memberProblem } from './member-problem.ts';
import type { LeaseState } from './why.ts';
import { identityProblems } from '../guard/identity.ts';
import { sourceOfLease, uidOfLease } from '../lease/lease.ts';
import { leasesIn } from '../lease/renewer.ts';
import type { Merged, SeedPolicy } from '../merge/merged.ts';
import type { Actual, Desired } from '../project/desired.ts';
import type { SetRules } from '../guard/policy.ts';
import { keysIn } from '../member/keys.ts';
import { Member } from '../member/member.ts';
import type { MemberEntry } from '../multicluster.ts';
import { desiredIn } from '../sync/import-reconciler.ts';
import type { ServicesOptions } from '../sync/services.ts';
import { Services } from '../sync/services.ts';

/** How long to wait without progress for members that answer to be read, as the controller does at its start. */
const readMs = 5000;

const noListener = { source() {}, target() {}, namespace() {}, state() {} };

/** The controller's settings, which are not stored in the clusters. */
export type ControllerOptions = Pick<ServicesOptions, 'seedPolicy' | 'deniedNamespaces'>;

/** The leases of sources in each member that is ready and whose leases can be read. */
type Leases = ReadonlyMap<Member, readonly Lease[]>;

/** A read-only view of the clusters of a set, read as the controller reads them. */
export class Snapshot implements AsyncDisposable {
  readonly members: readonly Member[];
  readonly seedPolicy: SeedPolicy;
  /** Id → why the controller does not accept this member. */
  readonly rejected: ReadonlyMap<string, string>;
  readonly #leases: Leases;
  readonly #services: Services;

  constructor(members: readonly Member[], leases: Leases, { seedPolicy, deniedNamespaces }: ControllerOptions) {
    this.members = members;
    this.seedPolicy = seedPolicy;
    this.rejected = rejectedMembers(members, leases);
    this.#leases = leases;
    const accepted = members.filter(({ id }) => !this.rejected.has(id));
    this.#services = new Services({
      members: () => accepted,
      seedPolicy,
      deniedNamespaces,
      hasOtherWriters: () => false,
      clock: systemClock,
      onDenials: () => undefined,
    });
  }

  /** Why members are missing from what is shown, one sentence each. */
  problems(): readonly string[] {
    return this.members.flatMap((member) => this.problemOf(member) ?? []);
  }

  /** Why a member is rejected or cannot be read; undefined: it is read. */
  problemOf(member: Member): string | undefined {
    return this.rejected.get(member.id) ?? memberProblem(member);
  }

  /** Source → the state of its lease in a member; empty if the leases cannot be read. */
  leaseStates(member: Member): ReadonlyMap<string, LeaseState> {
    return leaseStates(this.#leases.get(member) ?? [], Date.now());
  }

  /** What holds for every member. */
  get rules(): SetRules {
    return this.#services.rules;
  }

  merged(key: Key): Merged {
    return this.#services.get(key);
  }

  /** What a member is to hold of a service, and what it holds. */
  desired(key: Key, member: Member): { readonly desired: Desired; readonly actual: Actual } {
    const ids = (isMeant: (each: Member) => boolean): ReadonlySet<string> =>
      new Set(this.members.filter(isMeant).map(({ id }) => id));
    return desiredIn({
      key,
      merged: this.merged(key),
      member,
      unknown: ids(({ id, caches }) => this.rejected.has(id) || !caches.isSynced),
      lost: ids(({ probe }) => probe.state === 'lost'),
      silent: ids(({ probe }) => probe.state === 'silent'),
    });
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
}

/** Members that the controller rejects: of two under one cluster the second, and a cluster that replaced another one. */
function rejectedMembers(members: readonly Member[], leases: Leases): ReadonlyMap<string, string> {
  const uids = new Map(members.map(({ id, probe }) => [id, probe.uid]));
  const known = new Map<string, string>();
  for (const lease of [...leases.values()].flat()) {
    const [source = '', uid] = [sourceOfLease(lease), uidOfLease(lease)];
    if (uid !== undefined && uids.get(source) !== uid) known.set(source, uid);
  }
  const facts = Array.from(uids, ([id, uid]) => ({ id, uid }));
  return new Map(identityProblems(facts, known).map(({ id, message }) => [id, message]));
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
  const leases = await Promise.all(
    members.filter(({ isReady }) => isReady).map(async (member) => [member, await readLeases(member)] as const),
  );
  return new Snapshot(members, new Map(leases), options);
}

/** Resolves when every member is read, does not answer for a lease duration, or makes no progress after its answer. */
async function allRead(members: readonly Member[], onWait: (ids: readonly string[]) => void): Promise<void> {
  let [before, hasReported] = ['', false];
  for (let end = systemClock.elapsed() + readMs; ;) {
    const pending = members.filter((member) => !member.isSettled && !lacksDefinitions(member));
    if (pending.length === 0) return;
    const progress = pending.map(({ id, probe }) => `${id} ${probe.state}`).join();
    if (progress !== before) end = systemClock.elapsed() + readMs;
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

const never = new AbortController().signal;
