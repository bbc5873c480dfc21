import type { Clock } from '../../client/clock.ts';
import type { Key } from '../../client/key.ts';
import { nameFor } from '../../client/key.ts';
import { guard } from '../guard/guard.ts';
import type { Dropped, MemberPolicy, SetRules } from '../guard/policy.ts';
import { overQuota } from '../guard/quotas.ts';
import { reservedRangesOf } from '../guard/reserved-ranges.ts';
import { merge } from '../merge/merge.ts';
import type { Merged, SeedPolicy } from '../merge/merged.ts';
import { recordsIn } from '../member/keys.ts';
import type { Member } from '../member/member.ts';
import { incumbentsIn } from '../project/project.ts';
import type { Denial } from '../record.ts';

const everything: MemberPolicy = {};

export interface ServicesOptions {
  readonly members: () => readonly Member[];
  readonly seedPolicy: SeedPolicy;
  /** Namespaces from which no cluster may export; default none. */
  readonly deniedNamespaces?: readonly string[] | undefined;
  readonly clock: Clock;
  /** Whether others write the same. */
  readonly hasOtherWriters: () => boolean;
  /** Told of services that are beyond a quota now, or no longer are. */
  readonly onDenials: (keys: readonly Key[]) => void;
}

/** The merged services of a set, each worked out when it is asked for and its records have changed. */
export class Services {
  readonly #options: ServicesOptions;
  /** Member → its services that are beyond its quotas, and whether they will be counted again soon. */
  readonly #counted = new WeakMap<Member, { readonly denials: ReadonlyMap<Key, Denial>; readonly isDue: boolean }>();
  /** Key → what it came to last. The order in it is what keeps incumbents first. */
  readonly #merged = new Map<Key, Merged>();
  /** Key → the version of what it came to: of two versions the greater is the later, also of a service that was forgotten. */
  readonly #versions = new Map<Key, number>();
  #lastVersion = 0;
  /** Keys whose records have changed since. */
  readonly #stale = new Set<Key>();
  /** Key → what was left out of its records. */
  readonly #dropped = new Map<Key, readonly Dropped[]>();
  #rules: SetRules;
  #areRangesStale = true;

  constructor(options: ServicesOptions) {
    this.#options = options;
    this.#rules = { reserved: reservedRangesOf([]), deniedNamespaces: options.deniedNamespaces ?? [] };
  }

  /** What holds for every member now. While no range changes this is the same object. */
  get rules(): SetRules {
    if (this.#areRangesStale) {
      const reserved = reservedRangesOf(this.#options.members().map(({ addressRanges }) => addressRanges));
      if (reserved.key !== this.#rules.reserved.key) this.#rules = { ...this.#rules, reserved };
      this.#areRangesStale = false;
    }
    return this.#rules;
  }

  /** The members, or the ranges of their addresses, may have changed. */
  rangesChanged(): void {
    this.#areRangesStale = true;
  }

  /** All services that are exported, or were. */
  keys(): IterableIterator<Key> {
    return this.#merged.keys();
  }

  /** Those, and all whose records have changed since they were last looked at. */
  known(): ReadonlySet<Key> {
    return new Set([...this.#merged.keys(), ...this.#stale]);
  }

  /** The services that a cluster exported when they were last looked at. */
  exportedBy(id: string): readonly Key[] {
    return [...this.#merged].flatMap(([key, { exporters }]) =>
      exporters.some(({ cluster }) => cluster === id) ? [key] : [],
    );
  }

  /** What was left out of the records of a service, and why. */
  dropped(key: Key): readonly Dropped[] {
    return this.#dropped.get(key) ?? [];
  }

  /** Member → how many of its exports, endpoints, slices, labels and annotations are left out. */
  droppedOf(): ReadonlyMap<string, number> {
    const counts = new Map<string, number>();
    for (const dropped of this.#dropped.values()) {
      for (const { cluster } of dropped) counts.set(cluster, (counts.get(cluster) ?? 0) + 1);
    }
    return counts;
  }

  /** The records of a service may have changed. */
  changed(key: Key): void {
    if (this.#merged.has(key) || this.#options.members().some((member) => member.isExported(key))) this.#stale.add(key);
    // Of what nobody asked for, such as where another controller leads, nothing is left.
    else this.#stale.delete(key);
  }

  /** The service as it is now. Until its records change this is the same object. */
  get(key: Key): Merged {
    const known = this.#merged.get(key);
    if (known !== undefined && !this.#stale.has(key)) return known;
    this.#stale.delete(key);
    const { namespace = '', name } = nameFor(key);
    const incumbents = this.#agreed(key) ?? known?.order ?? this.#incumbents(key);
    const guarded = this.#options.members().flatMap((member) => {
      // One that leaves exports nothing any more.
      const record = member.options.isLeaving === true ? undefined : member.record(key);
      if (record === undefined) return [];
      const policy = member.options.policy ?? everything;
      return [
        guard(record, policy, {
          quotaDenial: this.#quotaDenial(member, key),
          cache: member.accepted,
          rules: this.rules,
        }),
      ];
    });
    const dropped = guarded.flatMap((each) => each.dropped);
    if (dropped.length > 0) this.#dropped.set(key, dropped);
    else this.#dropped.delete(key);
    const merged = merge(
      { namespace, name },
      guarded.map(({ record }) => record),
      { seedPolicy: this.#options.seedPolicy, incumbents },
    );
    this.#merged.set(key, merged);
    this.#versions.set(key, ++this.#lastVersion);
    return merged;
  }

  /** Which version of the service `get` gave last. */
  version(key: Key): number {
    return this.#versions.get(key) ?? 0;
  }

  /** Forgets a service that nobody exports and nobody holds. */
  forget(key: Key): void {
    if ((this.#merged.get(key)?.exporters.length ?? 0) > 0) return;
    this.#merged.delete(key);
    this.#versions.delete(key);
    this.#stale.delete(key);
    this.#dropped.delete(key);
  }

  /** Whether others have agreed on another order of clusters than the one that `get` gives. */
  isOutOfOrder(key: Key): boolean {
    const agreed = this.#agreed(key);
    if (agreed === undefined) return false;
    const { order } = this.get(key);
    const [theirs, ours] = [agreed.filter((id) => order.includes(id)), order.filter((id) => agreed.includes(id))];
    return theirs.some((id, index) => id !== ours[index]);
  }

  /**
   * Where others write too, such as an agent in each cluster, all of them have to agree on who came first, though they
   * learn of exports in different orders: what the import of the first cluster says that has one.
   */
  #agreed(key: Key): readonly string[] | undefined {
    const { hasOtherWriters, members } = this.#options;
    if (!hasOtherWriters() && !members().some(({ options }) => options.isReadOnly === true)) return undefined;
    const order = this.#incumbents(key);
    return order.length > 0 ? order : undefined;
  }

  /** Who came first before this controller began, as the first of the imports remembers it. */
  #incumbents(key: Key): readonly string[] {
    const concerned = this.#options.members().filter((member) => member.concerns(key));
    for (const member of concerned.toSorted(byId)) {
      const incumbents = incumbentsIn(member.actual(key));
      if (incumbents.length > 0) return incumbents;
    }
    return [];
  }

  #quotaDenial(member: Member, key: Key): Denial | undefined {
    const { policy } = member.options;
    if (policy?.maxExports === undefined && policy?.maxEndpoints === undefined) return undefined;
    const counted = this.#counted.get(member);
    if (counted === undefined) return this.#count(member, policy).get(key);
    // What has just been counted may be out of date by the change that is looked at: it is counted again soon.
    if (!counted.isDue) {
      this.#counted.set(member, { ...counted, isDue: true });
      this.#options.clock.after(quotaMs, () => this.#count(member, policy));
    }
    return counted.denials.get(key);
  }

  #count(member: Member, policy: MemberPolicy): ReadonlyMap<Key, Denial> {
    const before = this.#counted.get(member)?.denials ?? new Map<Key, Denial>();
    const denials = overQuota(recordsIn(member), policy);
    this.#counted.set(member, { denials, isDue: false });
    const changed = [...denials.keys(), ...before.keys()].filter((key) => before.has(key) !== denials.has(key));
    if (changed.length > 0) this.#options.onDenials(changed);
    return denials;
  }
}

const byId = (left: Member, right: Member): number => (left.id < right.id ? -1 : 1);

/** Quotas are counted over all exports of a member, which is not done for every change of one. */
const quotaMs = 1000;
