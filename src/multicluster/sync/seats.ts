import { identityProblems } from '../guard/identity.ts';
import { clusterUidAnnotation, sourceOfLease } from '../lease/lease.ts';
import { deleteLeases, leasesIn } from '../lease/renewer.ts';
import type { Member } from '../member/member.ts';
import { joinSet, leaveSet } from './properties.ts';

/** A member, and how it takes part. */
export interface Seat {
  readonly member: Member;
  /** What others had to know of it when it was last looked at. */
  state: string;
  wasReady: boolean;
  wasSilent: boolean;
  wasSlow: boolean;
  wasExcessive: boolean;
  /** Whether what it knows from before was taken over, in this term. */
  joining: 'not yet' | 'under way' | 'done';
  /** Why it does not take part: it is not who its id says, or says another id itself. */
  readonly problems: { identity?: string | undefined; property?: string | undefined };
}

/** Why a member does not take part; undefined: it does. */
export const problemOf = ({ problems: { identity, property } }: Seat): string | undefined => identity ?? property;

/** What the other members have to know of one: whether it was read, is lost, or does not take part. */
export const stateOf = (seat: Seat): string =>
  `${seat.member.caches.isSynced} ${seat.member.pulse.state === 'lost'} ${problemOf(seat) ?? ''}`;

/** Members of whom something is true, by id; and those that do not take part, since what came from them stays as it is. */
export interface Standing {
  /** They have not been read. */
  readonly unknown: ReadonlySet<string>;
  readonly lost: ReadonlySet<string>;
  readonly silent: ReadonlySet<string>;
}

/** The members of a set, and which of them take part. */
export class Seats {
  readonly #seats = new Map<string, Seat>();
  /** Id → the uid of the cluster that first came under it. */
  readonly #uids = new Map<string, string>();
  /** Worked out when it is asked for, and anew when a member has changed: every write asks. */
  #standing: Standing | undefined;
  #taking: readonly Member[] | undefined;

  get(id: string): Seat | undefined {
    return this.#seats.get(id);
  }

  all(): readonly Seat[] {
    return [...this.#seats.values()];
  }

  get members(): readonly Member[] {
    return this.all().map(({ member }) => member);
  }

  /** One that takes the place of another must be the same cluster. */
  add(member: Member): void {
    this.#seats.set(member.id, {
      member,
      state: '',
      wasReady: false,
      wasSilent: false,
      wasSlow: false,
      wasExcessive: false,
      joining: 'not yet',
      problems: {},
    });
    this.hasChanged();
  }

  remove(id: string): void {
    this.#seats.delete(id);
    this.#uids.delete(id);
    this.hasChanged();
  }

  /** Whether a member answers, was read or takes part may be another than it was. */
  hasChanged(): void {
    this.#standing = undefined;
    this.#taking = undefined;
  }

  /** Members whose exports count and that are written to. */
  taking(): readonly Member[] {
    this.#taking ??= this.all()
      .filter((seat) => problemOf(seat) === undefined)
      .map(({ member }) => member);
    return this.#taking;
  }

  standing(): Standing {
    this.#standing ??= {
      unknown: this.#idsOf(({ caches }) => !caches.isSynced),
      lost: this.#idsOf(({ pulse }) => pulse.state === 'lost'),
      silent: this.#idsOf(({ pulse }) => pulse.state === 'silent'),
    };
    return this.#standing;
  }

  #idsOf(isMeant: (member: Member) => boolean): ReadonlySet<string> {
    const seats = this.all().filter(
      (seat) => seat.member.options.isLeaving !== true && (problemOf(seat) !== undefined || isMeant(seat.member)),
    );
    return new Set(seats.map(({ member }) => member.id));
  }

  /** Takes over which cluster an id was before this controller began. */
  remember(id: string, uid: string): void {
    this.#uids.set(id, uid);
  }

  /** Looks whether everybody is who they say. */
  checkIdentities(): void {
    const facts = this.members.map((member) => member.facts());
    const problems = new Map(identityProblems(facts, this.#uids).map(({ id, message }) => [id, message]));
    for (const { id, uid } of facts) {
      const seat = this.#seats.get(id);
      const identity = problems.get(id);
      if (identity === undefined && uid !== undefined && !this.#uids.has(id)) this.#uids.set(id, uid);
      if (seat !== undefined) seat.problems.identity = identity;
    }
    this.hasChanged();
  }
}

/**
 * Takes over what a member knows from before: addresses that were handed out, and which cluster each id was. Nothing is
 * written to it before: what came from a cluster must not go because another has come under its id.
 */
export async function takeOver({ member }: Seat, seats: Seats, signal: AbortSignal): Promise<void> {
  const { caches, options } = member;
  options.vips?.adopt([...caches.serviceImports.list(), ...caches.importedServices.list()]);
  if (options.isReadOnly === true) return seats.checkIdentities();
  for (const lease of await leasesIn(member, signal)) {
    const [source, uid] = [sourceOfLease(lease), lease.metadata.annotations?.[clusterUidAnnotation]];
    const named = source === undefined ? undefined : seats.get(source)?.member;
    // A lease that this controller has renewed already names the cluster that is there now; one that names another counts.
    if (source !== undefined && uid !== undefined && named !== undefined && named.pulse.uid !== uid)
      seats.remember(source, uid);
  }
  seats.checkIdentities();
}

/** Tells a member which cluster of the set it is, or that it no longer is one. */
export async function tellMember({ member, problems }: Seat, setName: string, signal: AbortSignal): Promise<void> {
  if (member.options.isReadOnly === true) return;
  if (member.options.isLeaving === true) {
    await member.ask(signal, (deadline) => leaveSet(member, deadline));
    await deleteLeases(member, new Set(), signal);
  } else problems.property = await member.ask(signal, (deadline) => joinSet(member, setName, deadline));
}
