// The changes of a zone, kept up to date: only names that something has happened to are planned again.
import type { Name } from '../../dnswire/data.ts';
import type { Kept, NameChange, NamePlan, ZoneInput } from './changes.ts';
import { NamePlanner } from './changes.ts';
import type { ObjectRefusal } from './desired.ts';
import { registeredNames } from './registry.ts';

/** The result of comparing a zone with what is to be in it. */
export interface ZonePlan {
  readonly changes: readonly NameChange[];
  readonly refusals: readonly ObjectRefusal[];
  /** Sets in the zone that this publisher owns, by type. */
  readonly owned: ReadonlyMap<string, number>;
  /** Sets that are to exist and belong to another owner. */
  readonly ownerMismatches: ReadonlyMap<string, number>;
}

/** What may differ from the last plan. */
export interface Dirty {
  /** Names whose desired sets have changed. */
  readonly desired: Iterable<Name>;
  /** Names whose records have changed; undefined: any. */
  readonly content: Iterable<Name> | undefined;
}

/** The names that are planned at once. */
const portion = 1000;

/** The plan of one zone. */
export class ZonePlanner {
  /** Name → its plan, if there is anything in it. */
  readonly #plans = new Map<Name, NamePlan>();
  readonly #changes = new Map<Name, NameChange>();
  readonly #refusals = new Map<Name, readonly ObjectRefusal[]>();
  readonly #owned = new Map<string, number>();
  readonly #mismatches = new Map<string, number>();
  /** Host name → the names that belong to it. */
  readonly #belonging = new Map<Name, Set<Name>>();
  /** Name → the host names that it belongs to. */
  readonly #hosts = new Map<Name, readonly Name[]>();
  /** Names at which other servers take over, for all names below. */
  readonly #cuts = new Set<Name>();
  #kept: Kept | undefined;

  /**
   * Plans again what may have changed, in portions. What is to exist may change between them; names that it changes at are
   * planned again in the next update.
   */
  *update(input: ZoneInput, dirty: Dirty): Generator<undefined, ZonePlan> {
    const names = this.#namesOf(input, dirty);
    const planner = new NamePlanner(input);
    let planned = 0;
    for (const name of names) {
      this.#put(name, planner.plan(name));
      if (++planned % portion === 0) yield;
    }
    this.#kept = input.kept;
    return {
      changes: [...this.#changes.values()],
      refusals: [...this.#refusals.values()].flat(),
      owned: this.#owned,
      ownerMismatches: this.#mismatches,
    };
  }

  /** The names to plan again. */
  #namesOf(input: ZoneInput, dirty: Dirty): ReadonlySet<Name> {
    const desired = new Set(dirty.desired);
    const hasCut = [...(dirty.content ?? [])].map((name) => this.#updateCut(input, name)).includes(true);
    if (dirty.content === undefined || hasCut || isOther(input.kept, this.#kept)) return this.#allOf(input);
    const names = new Set(desired);
    for (const name of dirty.content)
      for (const each of [name, ...registeredNames(name, input.registry)]) names.add(each);
    for (const name of desired) this.#updateBelonging(input, name);
    // The set grows while it is walked.
    for (const name of names) for (const each of this.#belonging.get(name) ?? []) names.add(each);
    return names;
  }

  #allOf(input: ZoneInput): ReadonlySet<Name> {
    const all = [this.#plans, this.#changes, this.#refusals, this.#owned, this.#mismatches];
    for (const each of [...all, this.#cuts, this.#belonging, this.#hosts]) each.clear();
    for (const name of input.content.keys()) this.#updateCut(input, name);
    for (const name of input.desired.keys()) this.#updateBelonging(input, name);
    return new Set([...input.desired.keys(), ...input.content.keys()]);
  }

  /** Whether a name is, or was, one at which other servers take over. */
  #updateCut({ zone, content }: ZoneInput, name: Name): boolean {
    const was = this.#cuts.delete(name);
    const is = name !== zone && content.get(name)?.some(({ type }) => type === 'NS' || type === 'DNAME') === true;
    if (is) this.#cuts.add(name);
    return was || is;
  }

  #updateBelonging({ desired }: ZoneInput, name: Name): void {
    for (const host of this.#hosts.get(name) ?? []) {
      const belonging = this.#belonging.get(host);
      belonging?.delete(name);
      if (belonging?.size === 0) this.#belonging.delete(host);
    }
    const hosts = (desired.get(name) ?? []).flatMap(({ set }) => set.hostname ?? []);
    if (hosts.length === 0) this.#hosts.delete(name);
    else this.#hosts.set(name, hosts);
    for (const host of hosts) this.#belonging.set(host, (this.#belonging.get(host) ?? new Set()).add(name));
  }

  #put(name: Name, plan: NamePlan): void {
    const last = this.#plans.get(name);
    count(this.#owned, last?.owned, plan.owned);
    count(this.#mismatches, last?.mismatched, plan.mismatched);
    if (plan.change === undefined) this.#changes.delete(name);
    else this.#changes.set(name, plan.change);
    if (plan.refusals.length === 0) this.#refusals.delete(name);
    else this.#refusals.set(name, plan.refusals);
    if (plan.owned.length + plan.mismatched.length === 0) this.#plans.delete(name);
    else this.#plans.set(name, plan);
  }
}

const isOther = (kept: Kept, last: Kept | undefined): boolean =>
  kept.resources !== last?.resources || kept.allImports !== last.allImports;

function count(counts: Map<string, number>, before: readonly string[] = [], after: readonly string[]): void {
  for (const type of before) counts.set(type, (counts.get(type) ?? 0) - 1);
  for (const type of after) counts.set(type, (counts.get(type) ?? 0) + 1);
}
