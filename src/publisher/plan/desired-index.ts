// What is to exist, kept up to date: the cost of a change does not depend on the number of objects.
import { isDeepStrictEqual } from 'node:util';
import type { Name } from '../../dnswire/data.ts';
import type { Claim } from './claim.ts';
import type { DesiredOptions, DesiredSet, ObjectRefusal, DesiredSets } from './desired.ts';
import { desiredSets } from './desired.ts';

/** The result of `desiredSets` for claims that change. Claims that share a name are merged again when one of them changes. */
export class DesiredIndex {
  readonly #options: DesiredOptions;
  /** `NS/NAME` → its claim. */
  readonly #claims = new Map<string, Claim>();
  /** Name → the keys of the claims with it. */
  readonly #claimants = new Map<Name, Set<string>>();
  /** Zone → its sets. */
  readonly #zones: ReadonlyMap<Name, Map<Name, readonly DesiredSet[]>>;
  /** Key → what is refused of it. */
  readonly #refusals = new Map<string, readonly ObjectRefusal[]>();
  #kept: ReadonlySet<string> = new Set();

  constructor(options: DesiredOptions) {
    this.#options = options;
    this.#zones = new Map(options.zones.map((zone) => [zone, new Map()]));
  }

  /** The sets of each zone, always the same maps. */
  get zones(): ReadonlyMap<Name, DesiredSets> {
    return this.#zones;
  }

  get refusals(): readonly ObjectRefusal[] {
    return [...this.#refusals.values()].flat();
  }

  /** Another set after each change. */
  get kept(): ReadonlySet<string> {
    return this.#kept;
  }

  /** Takes over claims; undefined: there is none any more. Returns the names of each zone whose sets have changed. */
  update(changes: ReadonlyMap<string, Claim | undefined>): ReadonlyMap<Name, ReadonlySet<Name>> {
    const { keys, names } = this.#replace(changes);
    const claims = [...keys].flatMap((key) => this.#claims.get(key) ?? []);
    const { zones, refusals, kept } = desiredSets(claims, this.#options);
    this.#refuse(keys, refusals);
    this.#keep(keys, kept);
    const changed = new Map<Name, Set<Name>>();
    for (const [zone, all] of this.#zones) {
      const found = [...names].filter((name) => !isDeepStrictEqual(all.get(name), zones.get(zone)?.get(name)));
      if (found.length > 0) changed.set(zone, new Set(found));
      for (const name of found) {
        const next = zones.get(zone)?.get(name);
        if (next === undefined) all.delete(name);
        else all.set(name, next);
      }
    }
    return changed;
  }

  /** Replaces claims; returns all that share names with them, directly or not, and these names. */
  #replace(changes: ReadonlyMap<string, Claim | undefined>): { keys: ReadonlySet<string>; names: ReadonlySet<Name> } {
    const names = new Set<Name>();
    for (const [key, claim] of changes) {
      for (const name of namesOf(this.#claims.get(key))) {
        names.add(name);
        this.#claimants.get(name)?.delete(key);
      }
      if (claim === undefined) this.#claims.delete(key);
      else this.#claims.set(key, claim);
      for (const name of namesOf(claim)) {
        const claimants = this.#claimants.get(name);
        if (claimants === undefined) this.#claimants.set(name, new Set([key]));
        else claimants.add(key);
      }
    }
    const keys = new Set(changes.keys());
    for (const key of keys) for (const name of namesOf(this.#claims.get(key))) names.add(name);
    // Both sets grow while they are walked.
    for (const name of names) {
      const claimants = this.#claimants.get(name) ?? [];
      for (const key of claimants) {
        if (keys.has(key)) continue;
        keys.add(key);
        for (const other of namesOf(this.#claims.get(key))) names.add(other);
      }
      if (this.#claimants.get(name)?.size === 0) this.#claimants.delete(name);
    }
    return { keys, names };
  }

  #refuse(keys: ReadonlySet<string>, refusals: readonly ObjectRefusal[]): void {
    for (const key of keys) this.#refusals.delete(key);
    for (const [key, all] of Map.groupBy(refusals, ({ resource }) => keyOf(resource))) this.#refusals.set(key, all);
  }

  #keep(keys: ReadonlySet<string>, kept: ReadonlySet<string>): void {
    const others = [...this.#kept].filter((resource) => !keys.has(keyOf(resource)));
    const next = new Set([...others, ...kept]);
    if (next.symmetricDifference(this.#kept).size > 0) this.#kept = next;
  }
}

const namesOf = (claim: Claim | undefined): readonly Name[] => claim?.sets.map(({ name }) => name) ?? [];

/** `service/NS/NAME` → `NS/NAME`. */
const keyOf = (resource: string): string => resource.slice(resource.indexOf('/') + 1);
