import type { ClusterProperty } from '../../api/kinds/about/clusterproperty/kind.ts';
import {
  clusterIdProperty,
  clusterPropertyKind,
  clusterSetProperty,
} from '../../api/kinds/about/clusterproperty/kind.ts';
import type { AudienceMember } from '../../api/kinds/multicluster/audience.ts';
import { hasStatusCode } from '../../client/transport.ts';
import { identityProblems } from '../guard/identity.ts';
import { clusterUidAnnotation, sourceOfLease } from '../lease/lease.ts';
import { deleteLeases, leasesIn } from '../lease/renewer.ts';
import type { ProbeState } from '../member/health-probe.ts';
import type { Member } from '../member/member.ts';

/** A member of the set, and whether it takes part. */
export interface Participant {
  readonly member: Member;
  /** Whether the addresses in its imports and the identities in its leases were adopted in this term. Nothing is written before. */
  adoption: 'Pending' | 'Running' | 'Done';
  /** Why the member does not take part: its id belongs to another cluster, or it has another id itself. */
  readonly problems: { identity?: string | undefined; property?: string | undefined };
  /** The member when it was last compared. */
  observed: Observed;
}

/** The state of a member that reconciles depend on. */
export interface Observed {
  /** What affects all services of the member in all members: whether it is read, lost, and takes part. */
  readonly shared: string;
  readonly isReady: boolean;
  readonly state: ProbeState;
  readonly isSlow: boolean;
  readonly isSkewed: boolean;
  /** See `problemOf`. */
  readonly problem: string | undefined;
  readonly isOverLimit: boolean;
  readonly lacksKinds: boolean;
}

/** Why a member does not take part; undefined: it does. */
export const problemOf = ({ problems: { identity, property } }: Participant): string | undefined =>
  identity ?? property;

export const observedOf = (participant: Participant): Observed => {
  const { caches, probe, isReady } = participant.member;
  return {
    shared: `${caches.isSynced} ${caches.lacksKinds} ${probe.state === 'lost'} ${problemOf(participant) ?? ''}`,
    isReady,
    state: probe.state,
    isSlow: probe.isSlow,
    isSkewed: probe.isSkewed,
    problem: problemOf(participant),
    isOverLimit: caches.excess !== undefined,
    lacksKinds: caches.lacksKinds,
  };
};

/** IDs of members by state. What came from a member that does not take part stays as it is, so it counts as unknown, lost and silent. */
export interface MembersByState {
  /** Not read yet. */
  readonly unknown: ReadonlySet<string>;
  readonly lost: ReadonlySet<string>;
  readonly silent: ReadonlySet<string>;
  readonly draining: ReadonlySet<string>;
  /** Those that audiences can include. */
  readonly members: readonly AudienceMember[];
}

/** The members of a set, and which of them take part. */
export class Membership {
  readonly #participants = new Map<string, Participant>();
  /** ID → the UID of the cluster that first had it. */
  readonly #uids = new Map<string, string>();
  // Every reconcile reads these: they are computed once after each change of a member.
  #byState: MembersByState | undefined;
  #participating: readonly Member[] | undefined;

  get(id: string): Participant | undefined {
    return this.#participants.get(id);
  }

  all(): readonly Participant[] {
    return [...this.#participants.values()];
  }

  get members(): readonly Member[] {
    return this.all().map(({ member }) => member);
  }

  /** Adds a member. If it replaces one with the same id, it must be the same cluster. */
  add(member: Member): void {
    const observed = {
      shared: '',
      isReady: false,
      state: 'unknown' as const,
      isSlow: false,
      isSkewed: false,
      problem: undefined,
      isOverLimit: false,
      lacksKinds: false,
    };
    this.#participants.set(member.id, { member, adoption: 'Pending', problems: {}, observed });
    this.invalidate();
  }

  remove(id: string): void {
    this.#participants.delete(id);
    this.#uids.delete(id);
    this.invalidate();
  }

  /** Drops what was computed; to be called after a member has changed. */
  invalidate(): void {
    this.#byState = undefined;
    this.#participating = undefined;
  }

  /** Members whose exports count and that are written to. */
  participating(): readonly Member[] {
    this.#participating ??= this.all()
      .filter((each) => problemOf(each) === undefined)
      .map(({ member }) => member);
    return this.#participating;
  }

  /** Whether services can be reconciled in a member now. Otherwise they are enqueued again once they can. */
  canReconcile(member: Member): boolean {
    const participant = this.#participants.get(member.id);
    return (
      participant?.member === member &&
      member.isReady &&
      participant.adoption === 'Done' &&
      problemOf(participant) === undefined
    );
  }

  byState(): MembersByState {
    this.#byState ??= {
      unknown: this.#idsOf(({ caches }) => !caches.isSynced),
      lost: this.#idsOf(({ probe }) => probe.state === 'lost'),
      silent: this.#idsOf(({ probe }) => probe.state === 'silent'),
      members: this.participating()
        .filter(({ options }) => options.isLeaving !== true)
        .map(({ id, options: { labels } }) => ({ id, labels })),
      draining: new Set(this.members.filter(({ options }) => options.isDraining === true).map(({ id }) => id)),
    };
    return this.#byState;
  }

  #idsOf(matches: (member: Member) => boolean): ReadonlySet<string> {
    const staying = this.all().filter(({ member }) => member.options.isLeaving !== true);
    const found = staying.filter((each) => problemOf(each) !== undefined || matches(each.member));
    return new Set(found.map(({ member }) => member.id));
  }

  /** Checks that every id is still the cluster that first had it. */
  checkIdentities(): void {
    const facts = this.members.map((member) => member.facts());
    const problems = new Map(identityProblems(facts, this.#uids).map(({ id, message }) => [id, message]));
    for (const { id, uid } of facts) {
      const participant = this.#participants.get(id);
      const identity = problems.get(id);
      if (identity === undefined && uid !== undefined && !this.#uids.has(id)) this.#uids.set(id, uid);
      if (participant !== undefined) participant.problems.identity = identity;
    }
    this.invalidate();
  }

  /**
   * Adopts the addresses in the imports of a member and the identities in its leases. Nothing is written to it before: what
   * came from a cluster must not be removed because another cluster has its id now.
   */
  async adopt(member: Member, signal: AbortSignal): Promise<void> {
    const { caches, options } = member;
    options.vips?.adopt([...caches.serviceImports.list(), ...caches.importedServices.list()]);
    const leases = options.isReadOnly === true ? [] : await leasesIn(member, signal);
    for (const lease of leases) {
      const [source, uid] = [sourceOfLease(lease), lease.metadata.annotations?.[clusterUidAnnotation]];
      const named = source === undefined ? undefined : this.get(source)?.member;
      // A lease that this controller renewed has the UID of the cluster that is there now; another UID is older.
      if (source !== undefined && uid !== undefined && named !== undefined && named.probe.uid !== uid)
        this.#uids.set(source, uid);
    }
    this.checkIdentities();
  }
}

/** Writes to a member which cluster of the set it is (KEP-2149), or removes that if it leaves. */
export async function announce({ member, problems }: Participant, setName: string, signal: AbortSignal): Promise<void> {
  if (member.options.isReadOnly === true) return;
  if (member.options.isLeaving === true) {
    await member.withTimeout(signal, (deadline) => deleteProperties(member, deadline));
    await deleteLeases(member, new Set(), signal);
  } else problems.property = await member.withTimeout(signal, (deadline) => writeProperties(member, setName, deadline));
}

/** Returns why the cluster cannot take part under its id: its own ClusterProperty names another one. */
export async function propertyProblem(member: Member, signal: AbortSignal): Promise<string | undefined> {
  const id = await propertyIn(member, clusterIdProperty, signal);
  return id && idProblem(member, id);
}

const idProblem = (member: Member, { spec }: ClusterProperty): string | undefined =>
  spec?.value === member.id
    ? undefined
    : `cluster ${member.id} has the id ${spec?.value ?? ''} (ClusterProperty ${clusterIdProperty}): join it under that id, or delete the property`;

/** Returns why the cluster cannot take part under its id. A cluster whose server does not serve ClusterProperties can. */
async function writeProperties(member: Member, setName: string, signal: AbortSignal): Promise<string | undefined> {
  const id = await propertyIn(member, clusterIdProperty, signal);
  const problem = id && idProblem(member, id);
  if (problem !== undefined) return problem;
  try {
    if (id === undefined)
      await member.client.create(clusterPropertyKind, property(clusterIdProperty, member.id), { signal });
    const set = await propertyIn(member, clusterSetProperty, signal);
    if (set === undefined) {
      await member.client.create(clusterPropertyKind, property(clusterSetProperty, setName), { signal });
    }
  } catch (error) {
    // 404: not served. 409: another client was faster.
    if (!hasStatusCode(error, 404) && !hasStatusCode(error, 409)) throw error;
  }
  return undefined;
}

async function deleteProperties(member: Member, signal: AbortSignal): Promise<void> {
  const id = await propertyIn(member, clusterIdProperty, signal);
  if (id?.spec?.value !== member.id) return;
  for (const name of [clusterSetProperty, clusterIdProperty]) {
    await member.client.delete(clusterPropertyKind, { name }, { signal });
  }
}

const propertyIn = (member: Member, name: string, signal: AbortSignal): Promise<ClusterProperty | undefined> =>
  member.client.find(clusterPropertyKind, { name }, { signal });

const property = (name: string, value: string): ClusterProperty => ({ metadata: { name }, spec: { value } });
