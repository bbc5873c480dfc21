// The claims of all objects → the record sets that are to exist, with their owners.
import type { Name } from '../../dnswire/data.ts';
import type { Claim, ClaimedSet, Refusal } from './claim.ts';
import { recordSet } from './record-set.ts';
import type { Properties, RecordSet } from './record-set.ts';
import type { RegistryOptions } from './registry.ts';
import { registryName } from './registry.ts';
import type { DomainFilter } from './zones.ts';
import { isEncodable, passes, zoneOf } from './zones.ts';
import { compareText } from '../../api/order.ts';

/** A set that is to exist. */
export interface DesiredSet {
  readonly set: ClaimedSet;
  /** The object that its registry record names: the oldest that claims the set. */
  readonly resource: string;
  /** All objects that ask for it. */
  readonly resources: readonly string[];
  readonly properties: Properties;
}

/** A refusal and the object that it concerns. */
export interface ObjectRefusal extends Refusal {
  readonly resource: string;
}

/** What is to exist in a zone: name → its sets. A host name precedes the names that belong to it. */
export type DesiredSets = ReadonlyMap<Name, readonly DesiredSet[]>;

/** What is to exist. */
export interface Desired {
  /** Zone → its sets. */
  readonly zones: ReadonlyMap<Name, DesiredSets>;
  readonly refusals: readonly ObjectRefusal[];
  /** Objects as registry records name them: sets of these stay as they are. */
  readonly kept: ReadonlySet<string>;
}

export interface DesiredOptions {
  /** The zones that are written to. */
  readonly zones: readonly Name[];
  readonly filter: DomainFilter;
  readonly registry: RegistryOptions;
}

/** A name while claims are merged. */
interface Entry {
  readonly namespace: string;
  readonly resource: string;
  readonly zone: Name;
  readonly sets: JoinedSet[];
}

/** A set while claims are merged. Any number of objects may share a name, so that joining must not copy what was joined. */
interface JoinedSet {
  /** That of the oldest object. */
  readonly first: DesiredSet;
  readonly resources: string[];
  readonly values: string[];
  ttl: number;
}

/**
 * Merges claims. Objects of one namespace share a name: their targets are joined. A name that an object of another namespace
 * has claimed before is refused, because a tenant must not add targets to the names of another.
 */
export function desiredSets(claims: Iterable<Claim>, options: DesiredOptions): Desired {
  const entries = new Map<Name, Entry>();
  const refusals: ObjectRefusal[] = [];
  const kept = new Set<string>();
  for (const claim of [...claims].toSorted(byAge)) {
    refusals.push(...claim.refusals.map((refusal) => ({ ...refusal, resource: claim.resource })));
    if (claim.isKept) {
      const [, ...key] = claim.resource.split('/');
      // The Service may have been published before it was exported.
      for (const kind of ['service', 'serviceimport']) kept.add([kind, ...key].join('/'));
    }
    const refused = new Set<string>();
    // Records that belong to a host name are published with it: an SRV record must not point to the host of another owner.
    const withheld = new Set<Name>();
    for (const set of claim.sets) {
      if (withheld.has(set.hostname ?? '')) continue;
      const isExcluded = !passes(set.name, options.filter);
      const problem = isExcluded ? undefined : addSet(entries, claim, { set, options });
      if (set.hostname === undefined && (isExcluded || problem !== undefined)) withheld.add(set.name);
      if (problem === undefined || refused.has(problem.message)) continue;
      refused.add(problem.message);
      refusals.push({ ...problem, resource: claim.resource });
    }
  }
  const zones = new Map<Name, Map<Name, readonly DesiredSet[]>>(options.zones.map((zone) => [zone, new Map()]));
  for (const [name, { zone, sets }] of entries) zones.get(zone)?.set(name, sets.map(joined));
  return { zones, refusals, kept };
}

const byAge = (a: Claim, b: Claim): number => compareText(a.since, b.since) || compareText(a.resource, b.resource);

interface Addition {
  readonly set: ClaimedSet;
  readonly options: DesiredOptions;
}

/** Adds a set to its name; returns why it cannot be. */
function addSet(entries: Map<Name, Entry>, claim: Claim, { set, options }: Addition): Refusal | undefined {
  const { name } = set;
  const entry = entries.get(name);
  if (entry !== undefined) return joinSet(entry, claim, set);
  const zone = zoneOf(name, options.zones);
  if (zone === undefined) {
    const zones = options.zones.join(', ') || 'none';
    return { reason: 'HostnameNotInZone', message: `${name} is in no zone of this publisher, which are ${zones}` };
  }
  const problem = nameProblem(set, zone, options.registry);
  if (problem !== undefined) return problem;
  const { namespace, resource } = claim;
  entries.set(name, { namespace, resource, zone, sets: [joining(set, claim)] });
  return undefined;
}

function joining(set: ClaimedSet, { resource, properties }: Claim): JoinedSet {
  const resources = [resource];
  return { first: { set, resource, resources, properties }, resources, values: [...set.values], ttl: set.ttl };
}

const joined = ({ first, resources, values, ttl }: JoinedSet): DesiredSet =>
  resources.length === 1
    ? first
    : { ...first, set: { ...first.set, ...recordSet(first.set.name, first.set.type, { ttl, values }) }, resources };

/** Why a set cannot be in its zone. */
function nameProblem({ name, type }: RecordSet, zone: Name, registry: RegistryOptions): Refusal | undefined {
  if (type === 'CNAME' && name === zone) {
    const message = `${name} is the apex of its zone, which cannot be an alias: use the annotation target with addresses`;
    return { reason: 'ConflictingTargets', message };
  }
  const txt = registryName(name, type, registry);
  if (zoneOf(txt, [zone]) === undefined) {
    const hint = 'pass a --txt-prefix that ends in a dot, such as "%{record_type}-owner."';
    return {
      reason: 'InvalidHostname',
      message: `the registry record of ${name}, ${txt}, is outside zone ${zone}: ${hint}`,
    };
  }
  const tooLong = [name, txt].find((each) => !isEncodable(each));
  if (tooLong === undefined) return undefined;
  return {
    reason: 'InvalidHostname',
    message: `${tooLong} is longer than 253 characters, or has a label longer than 63`,
  };
}

/** Joins a set with those of claims before it. */
function joinSet(entry: Entry, claim: Claim, set: ClaimedSet): Refusal | undefined {
  const { name, type } = set;
  if (entry.namespace !== claim.namespace)
    return { reason: 'HostnameTaken', message: `${name} belongs to ${entry.resource}, which claimed it first` };
  const known = entry.sets.find(({ first }) => first.set.type === type);
  const hasAlias = type === 'CNAME' || entry.sets.some(({ first }) => first.set.type === 'CNAME');
  if (hasAlias && known?.first.set.values.join(' ') !== set.values.join(' ')) {
    const message = `${name} already points to the targets of ${entry.resource}, which an alias cannot join`;
    return { reason: 'ConflictingTargets', message };
  }
  if (known === undefined) {
    entry.sets.push(joining(set, claim));
    return undefined;
  }
  known.ttl = Math.min(known.ttl, set.ttl);
  for (const value of set.values) known.values.push(value);
  known.resources.push(claim.resource);
  return undefined;
}
