import type { Clock } from '../../client/clock.ts';
import type { Key } from '../../client/key.ts';
import { nameFor } from '../../client/key.ts';
import { guard } from '../guard/guard.ts';
import type { Dropped, MemberPolicy, SetRules } from '../guard/policy.ts';
import { overQuota } from '../guard/quotas.ts';
import { reservedRangesOf } from '../guard/reserved-ranges.ts';
import type { ImporterGroup } from '../merge/audience.ts';
import { audienceText, conflictsIn, hiddenFrom, importerGroups, mergeFor, seenByExporter } from '../merge/audience.ts';
import { merge } from '../merge/merge.ts';
import type { Merged, ConflictPolicy } from '../merge/merged.ts';
import { recordsIn } from '../member/keys.ts';
import type { Member } from '../member/member.ts';
import { incumbentsIn } from '../project/project.ts';
import type { Denial } from '../record.ts';
import { compareText } from '../../api/order.ts';

const everything: MemberPolicy = {};

export interface ServicesOptions {
  readonly members: () => readonly Member[];
  readonly conflictPolicy: ConflictPolicy;
  /** Namespaces from which no cluster may export; default none. */
  readonly deniedNamespaces?: readonly string[] | undefined;
  readonly clock: Clock;
  /** Whether another controller writes to the members. */
  readonly hasOtherWriters: () => boolean;
  /** Called with the services that exceed a quota now, or no longer do. */
  readonly onDenials: (keys: readonly Key[]) => void;
}

/** The merged services of a set, computed on demand after their records have changed. */
export class Services {
  readonly #options: ServicesOptions;
  /** Member → its services that exceed its quotas, and whether another count is scheduled. */
  readonly #counted = new WeakMap<Member, { readonly denials: ReadonlyMap<Key, Denial>; readonly isDue: boolean }>();
  /** Key → the last result; its order keeps incumbents first. */
  readonly #merged = new Map<Key, Merged>();
  /** Last result → exporting clusters → the merge of the exports of these alone. */
  readonly #partial = new WeakMap<Merged, Map<string, Merged>>();
  /** Key → version of the last result. Versions only increase, even if a service is deleted in between. */
  readonly #versions = new Map<Key, number>();
  #lastVersion = 0;
  /** Keys whose records have changed since then. */
  readonly #stale = new Set<Key>();
  /** Key → what was ignored of its records. */
  readonly #dropped = new Map<Key, readonly Dropped[]>();
  #rules: SetRules;
  #areRangesStale = true;

  constructor(options: ServicesOptions) {
    this.#options = options;
    this.#rules = { reserved: reservedRangesOf([]), deniedNamespaces: options.deniedNamespaces ?? [] };
  }

  /** The rules for all members; the same object until a range changes. */
  get rules(): SetRules {
    if (this.#areRangesStale) {
      const reserved = reservedRangesOf(this.#options.members().map(({ addressRanges }) => addressRanges));
      if (reserved.key !== this.#rules.reserved.key) this.#rules = { ...this.#rules, reserved };
      this.#areRangesStale = false;
    }
    return this.#rules;
  }

  /** Invalidates the address ranges of the members. */
  rangesChanged(): void {
    this.#areRangesStale = true;
  }

  /** All services that are exported, or were and are still held by a member. */
  keys(): IterableIterator<Key> {
    return this.#merged.keys();
  }

  /** These, and all that have not been computed since a change. */
  known(): ReadonlySet<Key> {
    return new Set([...this.#merged.keys(), ...this.#stale]);
  }

  /** The services that a cluster exports according to the last results. */
  exportedBy(id: string): readonly Key[] {
    return [...this.#merged].flatMap(([key, { exporters }]) =>
      exporters.some(({ cluster }) => cluster === id) ? [key] : [],
    );
  }

  /** What is ignored of the records of a service, and why. */
  dropped(key: Key): readonly Dropped[] {
    return this.#dropped.get(key) ?? [];
  }

  /** Member → how many of its exports, endpoints, slices, labels and annotations are ignored. */
  droppedOf(): ReadonlyMap<string, number> {
    const counts = new Map<string, number>();
    for (const dropped of this.#dropped.values()) {
      for (const { cluster } of dropped) counts.set(cluster, (counts.get(cluster) ?? 0) + 1);
    }
    return counts;
  }

  /** Invalidates a service whose records may have changed. */
  changed(key: Key): void {
    if (this.#merged.has(key) || this.#options.members().some((member) => member.isExported(key))) this.#stale.add(key);
    // A replica that does not lead never computes services: it must not collect keys of deleted ones.
    else this.#stale.delete(key);
  }

  /** The merged service; the same object until its records change. */
  get(key: Key): Merged {
    const known = this.#merged.get(key);
    if (known !== undefined && !this.#stale.has(key)) return known;
    this.#stale.delete(key);
    const { namespace = '', name } = nameFor(key);
    const incumbents = this.#agreed(key) ?? known?.order ?? this.#incumbents(key);
    const guarded = this.#options.members().flatMap((member) => {
      // Exports of a member that leaves do not count.
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
      { conflictPolicy: this.#options.conflictPolicy, incumbents },
    );
    this.#merged.set(key, merged);
    this.#versions.set(key, ++this.#lastVersion);
    return merged;
  }

  /** The merged service as a member imports it: without the exports whose audience does not include the member. */
  getFor(key: Key, { id, options: { labels } }: Pick<Member, 'id' | 'options'>): Merged {
    const merged = this.get(key);
    const importer = { id, labels };
    const hidden = hiddenFrom(merged, importer);
    if (hidden.length === 0) return merged;
    const partial = this.#partial.get(merged) ?? new Map<string, Merged>();
    this.#partial.set(merged, partial);
    const clusters = hidden.map(({ cluster }) => cluster).join();
    const found = partial.get(clusters) ?? mergeFor(merged, importer, { conflictPolicy: this.#options.conflictPolicy });
    partial.set(clusters, found);
    return found;
  }

  /** The members by the exports that they import of a service. */
  groups(key: Key): readonly ImporterGroup[] {
    const importers = this.#options.members().filter(({ options }) => options.isLeaving !== true);
    return importerGroups(importers, (member) => this.getFor(key, member));
  }

  /** All conflicts of a service, in any member. */
  conflicts(key: Key): Merged['conflicts'] {
    return this.#isShared(key) ? this.get(key).conflicts : conflictsIn(this.groups(key));
  }

  /** The merged service with the conflicts of the members that import the exports of a cluster. */
  seenBy(key: Key, cluster: string): Merged {
    const merged = this.get(key);
    return this.#isShared(key) ? merged : seenByExporter(merged, cluster, this.groups(key));
  }

  /** Whether all members import the same exports. */
  #isShared(key: Key): boolean {
    return this.get(key).exporters.every(({ record }) => audienceText(record) === undefined);
  }

  /** The version of the last result of `get`. */
  version(key: Key): number {
    return this.#versions.get(key) ?? 0;
  }

  /** Deletes a service without exports. */
  delete(key: Key): void {
    if ((this.#merged.get(key)?.exporters.length ?? 0) > 0) return;
    this.#merged.delete(key);
    this.#versions.delete(key);
    this.#stale.delete(key);
    this.#dropped.delete(key);
  }

  /** Whether the controllers of the set have agreed on another order of clusters than that of `get`. */
  isOutOfOrder(key: Key): boolean {
    const agreed = this.#agreed(key);
    if (agreed === undefined) return false;
    const { order } = this.get(key);
    const [theirs, ours] = [agreed.filter((id) => order.includes(id)), order.filter((id) => agreed.includes(id))];
    return theirs.some((id, index) => id !== ours[index]);
  }

  /**
   * Controllers that write to the same set, such as an agent in each cluster, see exports in different orders. They agree on
   * the order in the import of the first cluster that has one; otherwise they would overwrite each other for ever.
   */
  #agreed(key: Key): readonly string[] | undefined {
    const { hasOtherWriters, members } = this.#options;
    if (!hasOtherWriters() && !members().some(({ options }) => options.isReadOnly === true)) return undefined;
    const order = this.#incumbents(key);
    return order.length > 0 ? order : undefined;
  }

  /** The order that the first import in the set has stored. */
  #incumbents(key: Key): readonly string[] {
    const holders = this.#options.members().filter((member) => member.concerns(key));
    for (const member of holders.toSorted(byId)) {
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
    // The count may be older than the change that is reconciled now: schedule another.
    if (!counted.isDue) {
      this.#counted.set(member, { ...counted, isDue: true });
      this.#options.clock.after(countIntervalMs, () => this.#count(member, policy));
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

const byId = (left: Member, right: Member): number => compareText(left.id, right.id);

/** Interval of counting, which reads all exports of a member. */
const countIntervalMs = 1000;
