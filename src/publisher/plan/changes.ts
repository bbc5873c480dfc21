// Desired sets × the content of a zone × who owns it → the changes of a name.
import { isDeepStrictEqual } from 'node:util';
import type { Name } from '../../dnswire/data.ts';
import { parentOf } from '../../dnswire/name.ts';
import type { DesiredSet, ObjectRefusal, DesiredSets } from './desired.ts';
import type { Properties, PublishedType, RecordSet, ZoneContent } from './record-set.ts';
import { hasSameValues, publishedTypes, recordSet } from './record-set.ts';
import type { Ownership, RegistryOptions } from './registry.ts';
import { legacyRegistryName, ownershipsIn, printOwnership, registryName } from './registry.ts';

/** What may be done: everything, no deletions, or only creations. */
export type Policy = 'sync' | 'upsert-only' | 'create-only';

/** A change of one set. Equal sets: the set only must still be as it was read. */
export interface SetChange {
  /** As read; undefined: there is none. */
  readonly before: RecordSet | undefined;
  /** undefined: the set is deleted. */
  readonly after: RecordSet | undefined;
  readonly properties?: Properties;
}

/** All changes at one name and of its registry records, which are applied together or not at all. */
export interface NameChange {
  readonly name: Name;
  readonly changes: readonly SetChange[];
  /** Names without any record, which must stay so until the change is applied. */
  readonly unused: readonly Name[];
  /** Names that must not become an alias meanwhile. */
  readonly noAlias: readonly Name[];
  /** The objects that it is for; of a deletion those that the registry names. */
  readonly resources: readonly string[];
  readonly kind: 'create' | 'update' | 'delete';
}

/** What is known of a zone, and what is to be in it. */
export interface ZoneInput {
  readonly zone: Name;
  readonly desired: DesiredSets;
  readonly kept: Kept;
  readonly content: ZoneContent;
  readonly registry: RegistryOptions;
  readonly policy: Policy;
}

/** Objects as registry records name them, whose sets stay as they are. */
export interface Kept {
  readonly resources: ReadonlySet<string>;
  /** All imports: they cannot be read now. */
  readonly allImports: boolean;
}

/** What is to be done at one name. */
export interface NamePlan {
  readonly change?: NameChange;
  readonly refusals: readonly ObjectRefusal[];
  /** The types of the sets that this publisher owns. */
  readonly owned: readonly string[];
  /** The types of the sets that are to exist and belong to another owner. */
  readonly mismatched: readonly string[];
}

const isPublished = (type: string): type is PublishedType => publishedTypes.some((each) => each === type);

/** The registry record of a set, as found. */
interface Registered {
  readonly record: RecordSet;
  readonly ownerships: readonly Ownership[];
}

/** Plans the names of a zone, each for itself. */
export class NamePlanner {
  readonly #input: ZoneInput;

  constructor(input: ZoneInput) {
    this.#input = input;
  }

  plan(name: Name): NamePlan {
    const desired = this.#wantedAt(name);
    const published = this.#at(name).filter(({ type }) => isPublished(type));
    const own = published.filter((set) => this.#isOwned(set));
    const plan = { owned: own.map(({ type }) => type), refusals: [], mismatched: [] };
    if (desired.length === 0 && !own.some((set) => !this.#isKept(set))) return plan;
    // What belongs to a host name stays as it is while the host name cannot be changed.
    const hosts = new Set(desired.flatMap(({ set }) => set.hostname ?? []));
    if (hosts.values().some((host) => this.#problem(host, this.#wantedAt(host)) !== undefined)) return plan;
    const problem = this.#problem(name, desired);
    if (problem !== undefined)
      return { ...plan, ...refused(desired, problem), mismatched: desired.map(({ set }) => set.type) };
    const changes: SetChange[] = [];
    for (const type of publishedTypes) {
      const before = own.find((set) => set.type === type);
      const next = desired.find(({ set }) => set.type === type);
      const isReplaced = desired.length > 0 && next === undefined && this.#isReplaced(type, desired);
      changes.push(...this.#changeOf(before, next, isReplaced));
    }
    const isEffective = changes.some(({ before, after }) => before !== after);
    return isEffective ? { ...plan, change: this.#nameChange(name, desired, changes) } : plan;
  }

  /** Whether a set must go because a name cannot be an alias and have other data. */
  #isReplaced(type: string, desired: readonly DesiredSet[]): boolean {
    return desired.some(({ set }) => (set.type === 'CNAME') !== (type === 'CNAME'));
  }

  /** The change of a set and of its registry record. */
  #changeOf(before: RecordSet | undefined, next: DesiredSet | undefined, isReplaced: boolean): readonly SetChange[] {
    const { policy } = this.#input;
    if (next === undefined) {
      if (before === undefined) return [];
      const isAllowed = policy === 'sync' || (policy === 'upsert-only' && isReplaced);
      return isAllowed ? [{ before, after: undefined }, ...this.#unregister(before)] : [];
    }
    if (before !== undefined && policy === 'create-only') return [];
    const properties = Object.keys(next.properties).length === 0 ? {} : { properties: next.properties };
    const isUnchanged = before !== undefined && isAsDesired(before, next);
    const isMigrating = before !== undefined && this.#ownerOf(before) !== this.#input.registry.ownerId;
    const after = isUnchanged ? before : next.set;
    const registered = this.#register(next, { isNew: before === undefined, isMigrating });
    const isRegistered = registered.before === registered.after;
    return isUnchanged && isRegistered
      ? []
      : [
          { before, after, ...properties },
          { ...registered, ...properties },
        ];
  }

  /** The registry record that a set is to have. Its text stays while the owner is the same. */
  #register(
    { set, resource }: DesiredSet,
    { isNew, isMigrating }: { readonly isNew: boolean; readonly isMigrating: boolean },
  ): SetChange {
    const { registry } = this.#input;
    const found = this.#registered(set);
    const name = registryName(set.name, set.type, registry);
    const before = this.#at(name).find(({ type }) => type === 'TXT');
    const isLegacy = found !== undefined && found.record.name !== name;
    if (before !== undefined && !isNew && !isMigrating && !isLegacy) return { before, after: before };
    const [known] = found?.ownerships ?? [];
    const ownership = {
      owner: registry.ownerId,
      resource: isNew ? resource : (known?.resource ?? resource),
      others: isNew ? new Map<string, string>() : (known?.others ?? new Map<string, string>()),
    };
    const after = recordSet(name, 'TXT', { ttl: before?.ttl ?? set.ttl, values: [printOwnership(ownership)] });
    const isSame = before !== undefined && hasSameValues(before, after);
    return { before, after: isSame ? before : after };
  }

  #unregister(set: RecordSet): readonly SetChange[] {
    const found = this.#registered(set);
    // A record in the old format stands for all types of the name: it stays while others may need it.
    const isOwn = found?.record.name === registryName(set.name, set.type, this.#input.registry);
    return found !== undefined && isOwn ? [{ before: found.record, after: undefined }] : [];
  }

  #nameChange(name: Name, desired: readonly DesiredSet[], changes: readonly SetChange[]): NameChange {
    const names = new Set(changes.flatMap(({ before, after }) => [before?.name ?? '', after?.name ?? '']));
    names.delete('');
    const unused = [...names].filter((each) => this.#at(each).length === 0);
    const isNew = changes.every(({ before }) => before === undefined);
    const isGone = changes.every(({ after }) => after === undefined);
    const registered = changes.flatMap(({ before }) => (before?.type === 'TXT' ? ownershipsIn(before) : []));
    const asking = [...new Set(desired.flatMap(({ resources }) => resources))];
    return {
      name,
      changes,
      unused,
      // An alias that another program adds meanwhile would make the server ignore the change without an error.
      noAlias: [...names].filter(
        (each) => !unused.includes(each) && !this.#at(each).some(({ type }) => type === 'CNAME'),
      ),
      resources: asking.length > 0 ? asking : [...new Set(registered.map(({ resource }) => resource))],
      kind: isNew ? 'create' : isGone ? 'delete' : 'update',
    };
  }

  /** Why nothing can be changed at a name. */
  #problem(name: Name, desired: readonly DesiredSet[]): string | undefined {
    const current = this.#at(name);
    const own = current.filter((set) => isPublished(set.type) && this.#isOwned(set));
    for (const { set } of desired) {
      const same = current.find(({ type }) => type === set.type);
      if (same !== undefined && !own.includes(same)) return this.#notOwned(same);
      const isAlias = set.type === 'CNAME';
      const other = current.find(
        (each) => (isAlias ? each.type !== 'CNAME' : each.type === 'CNAME') && !own.includes(each),
      );
      if (other !== undefined) {
        const rule = isAlias ? 'an alias cannot be beside other records' : 'other records cannot be beside an alias';
        return `${this.#notOwned(other)}; ${rule}`;
      }
      const problem = same === undefined ? this.#registryProblem(set) : undefined;
      if (problem !== undefined) return problem;
    }
    return desired.length === 0 ? undefined : this.#delegation(name);
  }

  /** Why the registry record of a new set cannot be written. */
  #registryProblem(set: RecordSet): string | undefined {
    const name = registryName(set.name, set.type, this.#input.registry);
    const alias = this.#at(name).find(({ type }) => type === 'CNAME');
    if (alias !== undefined) return `the registry record ${name} cannot be written: the name is an alias`;
    const text = this.#at(name).find(({ type }) => type === 'TXT');
    if (text === undefined || this.#isOurs(ownershipsIn(text))) return undefined;
    const [other] = ownershipsIn(text);
    if (other !== undefined) return `${set.type} ${set.name} belongs to owner "${other.owner}" (TXT ${name})`;
    return `the registry record ${name} cannot be written: the name has other TXT records; choose a --txt-prefix`;
  }

  #notOwned(set: RecordSet): string {
    const owners = this.#registered(set)?.ownerships.map(({ owner }) => `"${owner}"`) ?? [];
    const whose = owners.length === 0 ? 'has no owner' : `belongs to owner ${owners.join(' and ')}`;
    return `${set.type} ${set.name} exists and ${whose}, so it is not changed`;
  }

  /** A name below a delegation or a DNAME is answered by other servers, whatever the zone has. */
  #delegation(name: Name): string | undefined {
    const { zone } = this.#input;
    for (let each: Name | undefined = name; each !== undefined && each !== zone; each = parentOf(each)) {
      const cut = this.#at(each).find(({ type }) => type === 'NS' || (type === 'DNAME' && each !== name));
      if (cut !== undefined) return `${name} is below ${cut.type} ${each}, so other servers answer for it`;
    }
    return undefined;
  }

  #wantedAt(name: Name): readonly DesiredSet[] {
    return this.#input.desired.get(name) ?? [];
  }

  #at(name: Name): readonly RecordSet[] {
    return this.#input.content.get(name) ?? [];
  }

  /** The registry record of a set: in the format with the type, else in the old one. */
  #registered({ name, type }: RecordSet): Registered | undefined {
    const { registry } = this.#input;
    for (const each of [registryName(name, type, registry), legacyRegistryName(name, registry)]) {
      const record = this.#at(each).find((set) => set.type === 'TXT');
      const ownerships = record === undefined ? [] : ownershipsIn(record);
      if (record !== undefined && ownerships.length > 0) return { record, ownerships };
    }
    return undefined;
  }

  #ownerOf(set: RecordSet): string | undefined {
    return this.#registered(set)?.ownerships[0]?.owner;
  }

  #isKept(set: RecordSet): boolean {
    const { resources, allImports } = this.#input.kept;
    const isKept = ({ resource }: Ownership): boolean =>
      resources.has(resource) || (allImports && resource.startsWith('serviceimport/'));
    return this.#registered(set)?.ownerships.some(isKept) === true;
  }

  #isOwned(set: RecordSet): boolean {
    return this.#isOurs(this.#registered(set)?.ownerships ?? []);
  }

  #isOurs(ownerships: readonly Ownership[]): boolean {
    const { ownerId, migrateFrom } = this.#input.registry;
    return ownerships.length > 0 && ownerships.every(({ owner }) => owner === ownerId || owner === migrateFrom);
  }
}

/** Whether a set is as it is to be. A TTL of 0 leaves it to the provider, and not every provider has settings. */
const isAsDesired = (before: RecordSet, { set, properties }: DesiredSet): boolean =>
  hasSameValues(before, set) &&
  (set.ttl === 0 || before.ttl === set.ttl) &&
  (before.properties === undefined || isDeepStrictEqual(before.properties, properties));

/** The rejections of all objects that claim sets. */
const refused = (desired: readonly DesiredSet[], message: string): Pick<NamePlan, 'refusals'> => ({
  refusals: [...new Set(desired.flatMap(({ resources }) => resources))].map((resource) => ({
    reason: 'NotOwned',
    message,
    resource,
  })),
});

/** The names whose sets changes touch. */
export const touchedNames = (changes: readonly NameChange[]): ReadonlySet<Name> =>
  new Set(changes.flatMap((each) => each.changes.flatMap(({ before, after }) => (after ?? before)?.name ?? [])));

/** The content of a zone after changes. */
export function contentAfter(content: ZoneContent, changes: readonly NameChange[]): ZoneContent {
  const after = new Map(content);
  for (const { before, after: next } of changes.flatMap((each) => each.changes)) {
    const changed = next ?? before;
    if (changed === undefined || before === next) continue;
    const { name, type } = changed;
    const others = (after.get(name) ?? []).filter((set) => set.type !== type);
    const sets = next === undefined ? others : [...others, next];
    if (sets.length > 0) after.set(name, sets);
    else after.delete(name);
  }
  return after;
}
