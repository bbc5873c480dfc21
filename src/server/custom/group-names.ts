import type { TakenNames } from '../../api/kinds/apiextensions/customresourcedefinition/plan.ts';
import type { CrdNames } from '../../api/kinds/apiextensions/customresourcedefinition/schema.ts';

/** The names that the definitions of a group have. A question about a name takes the same time for any number of them. */
export class GroupNames {
  /** definition → the names that it has */
  readonly #definitions = new Map<string, CrdNames>();
  /** plural, singular or short name → the number of definitions that have it */
  readonly #resources = new Map<string, number>();
  /** kind or kind of the list → the number of definitions that have it */
  readonly #kinds = new Map<string, number>();
  readonly #waiting = new Set<string>();

  get isEmpty(): boolean {
    return this.#definitions.size === 0;
  }

  /** The definitions that did not get all names that they request. */
  get waiting(): ReadonlySet<string> {
    return this.#waiting;
  }

  namesOf(definition: string): CrdNames | undefined {
    return this.#definitions.get(definition);
  }

  set(definition: string, names: CrdNames, isWaiting: boolean): void {
    this.delete(definition);
    this.#definitions.set(definition, names);
    for (const name of resourcesIn(names)) add(this.#resources, name, 1);
    for (const name of kindsIn(names)) add(this.#kinds, name, 1);
    if (isWaiting) this.#waiting.add(definition);
  }

  /** Returns whether the definition had names. */
  delete(definition: string): boolean {
    const names = this.#definitions.get(definition);
    if (names === undefined) return false;
    for (const name of resourcesIn(names)) add(this.#resources, name, -1);
    for (const name of kindsIn(names)) add(this.#kinds, name, -1);
    this.#waiting.delete(definition);
    return this.#definitions.delete(definition);
  }

  /** The names that other definitions have. */
  takenFor(definition: string): TakenNames {
    const own = this.#definitions.get(definition);
    const [resources, kinds] = own === undefined ? [] : [resourcesIn(own), kindsIn(own)];
    return {
      hasResource: (name) => (this.#resources.get(name) ?? 0) > (resources?.has(name) === true ? 1 : 0),
      hasKind: (name) => (this.#kinds.get(name) ?? 0) > (kinds?.has(name) === true ? 1 : 0),
    };
  }
}

const resourcesIn = ({ plural, singular, shortNames }: CrdNames): ReadonlySet<string> =>
  setOf([plural, singular, ...(shortNames ?? [])]);

const kindsIn = ({ kind, listKind }: CrdNames): ReadonlySet<string> => setOf([kind, listKind]);

const setOf = (names: readonly (string | undefined)[]): ReadonlySet<string> =>
  new Set(names.filter((name) => name !== undefined));

function add(counts: Map<string, number>, name: string, change: 1 | -1): void {
  const count = (counts.get(name) ?? 0) + change;
  if (count === 0) counts.delete(name);
  else counts.set(name, count);
}
