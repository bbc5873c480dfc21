import type { Key } from '../../client/key.ts';
import { nameFor } from '../../client/key.ts';
import { guard } from '../guard/guard.ts';
import type { Dropped, MemberPolicy } from '../guard/policy.ts';
import { overQuota } from '../guard/quotas.ts';
import { merge } from '../merge/merge.ts';
import type { Merged, SeedPolicy } from '../merge/merged.ts';
import type { Member } from '../member/member.ts';
import { incumbentsIn } from '../project/project.ts';
import type { Denial } from '../record.ts';
import { textOf } from '../record.ts';

const everything: MemberPolicy = {};

/** The merged services of a set, each worked out when it is asked for and its records have changed. */
export class Services {
  readonly #members: () => readonly Member[];
  readonly #seedPolicy: SeedPolicy;
  /** Key → what it came to last. The order in it is what keeps incumbents first. */
  readonly #merged = new Map<Key, Merged>();
  /** Keys whose records have changed since. */
  readonly #stale = new Set<Key>();
  /** Key → what was left out of its records. */
  readonly #dropped = new Map<Key, readonly Dropped[]>();

  constructor(members: () => readonly Member[], seedPolicy: SeedPolicy) {
    this.#members = members;
    this.#seedPolicy = seedPolicy;
  }

  /** All services that are exported, or were. */
  keys(): IterableIterator<Key> {
    return this.#merged.keys();
  }

  /** What was left out of the records of all services, and why. */
  dropped(): readonly Dropped[] {
    return [...this.#dropped.values()].flat();
  }

  /** The records of a service may have changed. */
  changed(key: Key): void {
    this.#stale.add(key);
  }

  /** The service as it is now. Until its records change this is the same object. */
  get(key: Key): Merged {
    const known = this.#merged.get(key);
    if (known !== undefined && !this.#stale.has(key)) return known;
    this.#stale.delete(key);
    const { namespace = '', name } = nameFor(key);
    const incumbents = known?.order ?? this.#incumbents(key);
    const guarded = this.#members().flatMap((member) => {
      // One that leaves exports nothing any more.
      const record = member.options.isLeaving === true ? undefined : member.record(key);
      if (record === undefined) return [];
      const policy = member.options.policy ?? everything;
      return [
        guard(record, policy, {
          incumbents,
          quotaDenial: this.#quotaDenial(member, key),
          memory: member.accepted,
        }),
      ];
    });
    const dropped = guarded.flatMap((each) => each.dropped);
    if (dropped.length > 0) this.#dropped.set(key, dropped);
    else this.#dropped.delete(key);
    const merged = merge(
      { namespace, name },
      guarded.map(({ record }) => record),
      { seedPolicy: this.#seedPolicy, incumbents },
    );
    this.#merged.set(key, merged);
    return merged;
  }

  /** Forgets a service that nobody exports and nobody holds. */
  forget(key: Key): void {
    if ((this.#merged.get(key)?.exporters.length ?? 0) > 0) return;
    this.#merged.delete(key);
    this.#stale.delete(key);
    this.#dropped.delete(key);
  }

  /** Who came first before this controller began, as any of the imports remembers it. */
  #incumbents(key: Key): readonly string[] {
    for (const member of this.#members()) {
      const incumbents = incumbentsIn(member.actual(key));
      if (incumbents.length > 0) return incumbents;
    }
    return [];
  }

  #quotaDenial(member: Member, key: Key): Denial | undefined {
    const { policy } = member.options;
    if (policy?.maxExports === undefined && policy?.maxEndpoints === undefined) return undefined;
    // All exports of the member, which its quota bounds in the end; members without a quota do not pay for this.
    const keys = new Set(
      [...member.caches.seedExports.list(), ...member.caches.currentExports.list()].map(keyOfObject),
    );
    const records = [...keys].flatMap((each) => member.record(each) ?? []);
    return overQuota(records, policy).get(key);
  }
}

const keyOfObject = ({
  metadata,
}: {
  readonly metadata: { readonly namespace?: string; readonly name?: string };
}): Key => textOf({ namespace: metadata.namespace ?? '', name: metadata.name ?? '' });
