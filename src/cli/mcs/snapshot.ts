import type { Key } from '../../client/key.ts';
import { sleep, systemClock } from '../../client/clock.ts';
import type { Merged, SeedPolicy } from '../../multicluster/merge/merged.ts';
import type { Actual, Desired } from '../../multicluster/project/desired.ts';
import type { SetRules } from '../../multicluster/guard/policy.ts';
import { keysIn } from '../../multicluster/member/keys.ts';
import { Member } from '../../multicluster/member/member.ts';
import type { MemberEntry } from '../../multicluster/multicluster.ts';
import { desiredIn } from '../../multicluster/sync/import-reconciler.ts';
import type { ServicesOptions } from '../../multicluster/sync/services.ts';
import { Services } from '../../multicluster/sync/services.ts';
import { UsageError } from '../errors.ts';

/** How long members are waited for. */
const patienceMs = 5000;

const nobody = { source() {}, target() {}, namespace() {}, state() {} };

/** The controller's settings, which are not stored in the clusters. */
export type ControllerOptions = Pick<ServicesOptions, 'seedPolicy' | 'deniedNamespaces'>;

/** The clusters of a set as they are now, read as the controller reads them; nothing is written. */
export class Snapshot implements AsyncDisposable {
  readonly members: readonly Member[];
  readonly seedPolicy: SeedPolicy;
  readonly #services: Services;

  constructor(members: readonly Member[], { seedPolicy, deniedNamespaces }: ControllerOptions) {
    this.members = members;
    this.seedPolicy = seedPolicy;
    this.#services = new Services({
      members: () => members,
      seedPolicy,
      deniedNamespaces,
      hasOtherWriters: () => false,
      clock: systemClock,
      onDenials: () => undefined,
    });
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
      unknown: ids(({ caches }) => !caches.isSynced),
      lost: ids(({ probe }) => probe.state === 'lost'),
      silent: ids(({ probe }) => probe.state === 'silent'),
    });
  }

  member(id: string): Member {
    const member = this.members.find((each) => each.id === id);
    if (member !== undefined) return member;
    throw new UsageError(
      `there is no cluster "${id}" in the set: it has ${this.members.map((each) => each.id).join(', ')}`,
    );
  }

  /** All services that are exported or imported anywhere. */
  keys(): readonly Key[] {
    return [...new Set(this.members.flatMap((member) => [...keysIn(member)]))].toSorted();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.members.map((member) => member[Symbol.asyncDispose]()));
  }
}

/** Reads the members; one that does not answer within a few seconds is shown as such. */
export async function takeSnapshot(entries: readonly MemberEntry[], options: ControllerOptions): Promise<Snapshot> {
  const members = entries.map(
    ({ connect, version: _version, ...member }) =>
      new Member({ ...member, client: connect(), listener: nobody, onError: () => undefined }),
  );
  const snapshot = new Snapshot(members, options);
  const end = systemClock.elapsed() + patienceMs;
  const never = new AbortController().signal;
  while (members.some(({ isSettled }) => !isSettled) && systemClock.elapsed() < end)
    await sleep(systemClock, 10, never);
  for (const {
    options: { vips },
    caches,
  } of members) {
    vips?.adopt([...caches.serviceImports.list(), ...caches.importedServices.list()]);
  }
  return snapshot;
}
