// Answers queries from the zones.
import type { Name, RecordSet } from '../../dnswire/data.ts';
import type { Zone, ZoneNode, Zones } from '../records/zones.ts';
import { classes, extendedErrors, rcodes, typeName, types } from '../../dnswire/codes.ts';
import type { RawRecord } from '../../dnswire/record.ts';
import type { Entry, Reply } from '../message/reply.ts';
import { emptyReply } from '../message/reply.ts';

/** The zones, as `answer` reads them. */
export type Lookup = Pick<Zones, 'find' | 'zoneOf'>;

/** The rule that decided the answer, and the name where it did: the end of the alias chain. */
export interface Reason {
  readonly rule: 'records' | 'alias' | 'any' | 'no-data' | 'no-such-name' | 'outside' | 'loop' | 'transfer';
  readonly name: Name;
}

/** An answer. With `chase` it is complete only for clients that may not recurse. */
export interface Outcome extends Reply {
  /**
   * The name to resolve upstream for the type of the query: an alias out of our zones, or a name of a zone with
   * fallthrough.
   */
  readonly chase?: Name;
  readonly reason: Reason;
}

export interface NameAndType {
  readonly name: Name;
  readonly type: number;
}

/** Longer chains are a mistake or an attack. */
const maxAliases = 10;

/** Answers a query in class IN. */
export function answer(zones: Lookup, { name, type }: NameAndType): Outcome {
  // Transfers are not forwarded either.
  if (type === types.AXFR || type === types.IXFR) return refused(name);
  if (zones.zoneOf(name) === undefined) return outside(name);
  const aliases: RecordSet[] = [];
  const seen = new Set<Name>();
  let at = name;
  for (;;) {
    const zone = zones.zoneOf(at);
    if (zone === undefined) return { ...positive('alias', at, aliases), chase: at };
    const node = zones.find(at);
    if (node === undefined) return missing(zone, at, aliases);
    const alias = node.sets.get('CNAME');
    const target = type === types.CNAME || type === types.ANY ? undefined : aliasTarget(alias);
    if (alias === undefined || target === undefined) return final(zones, node, type, aliases);
    seen.add(at);
    aliases.push(alias);
    if (seen.has(target) || aliases.length > maxAliases) return loop(name);
    at = target;
  }
}

const aliasTarget = (alias: RecordSet | undefined): Name | undefined =>
  alias?.data[0]?.type === 'CNAME' ? alias.data[0].target : undefined;

/** The answer at the end of the aliases, at a name that exists. */
function final(zones: Lookup, node: ZoneNode, type: number, aliases: readonly RecordSet[]): Outcome {
  if (type === types.ANY && node.sets.size > 0) {
    // A CNAME answers every type; otherwise RFC 8482 §4.2 keeps the answer small.
    const alias = node.sets.get('CNAME');
    return positive('any', node.name, [...aliases, alias ?? minimalAnyRecord(node.name)]);
  }
  const set = setOf(node, type);
  if (set === undefined)
    return negative({ rcode: rcodes.NOERROR, rule: 'no-data', at: node.name, zone: node.zone }, aliases);
  return { ...positive('records', node.name, [...aliases, set]), additional: addressesFor(zones, set) };
}

function setOf(node: ZoneNode, type: number): RecordSet | undefined {
  const name = typeName(type);
  for (const [key, set] of node.sets) if (key === name) return set.data.length === 0 ? undefined : set;
  return undefined;
}

/** The addresses of the targets of SRV and NS records, as far as our zones have them. */
export function addressesFor(zones: Lookup, set: RecordSet): readonly RecordSet[] {
  if (set.type !== 'SRV' && set.type !== 'NS') return [];
  const targets = new Set<Name>();
  for (const data of set.data) if (data.type === 'SRV' || data.type === 'NS') targets.add(data.target);
  const found: RecordSet[] = [];
  for (const target of targets) {
    const sets = zones.find(target)?.sets;
    for (const type of ['A', 'AAAA'] as const) {
      const addresses = sets?.get(type);
      if (addresses !== undefined && addresses.data.length > 0) found.push(addresses);
    }
  }
  return found;
}

function positive(rule: Reason['rule'], at: Name, answers: readonly Entry[]): Outcome {
  return {
    rcode: rcodes.NOERROR,
    authoritative: true,
    answers,
    authority: [],
    additional: [],
    reason: { rule, name: at },
  };
}

interface NegativeAnswer {
  readonly rcode: number;
  readonly rule: Reason['rule'];
  readonly at: Name;
  readonly zone: Zone;
}

/** The response code is that of the end of the chain (RFC 6604 §3). */
function negative({ rcode, rule, at, zone }: NegativeAnswer, aliases: readonly RecordSet[]): Outcome {
  return { ...positive(rule, at, aliases), rcode, authority: [negativeSoa(zone.soa())] };
}

function missing(zone: Zone, at: Name, aliases: readonly RecordSet[]): Outcome {
  const outcome = negative({ rcode: rcodes.NXDOMAIN, rule: 'no-such-name', at, zone }, aliases);
  return zone.fallthrough ? { ...outcome, chase: at } : outcome;
}

/** The SOA of a negative answer: its TTL is that of the answer (RFC 2308 §3). */
export function negativeSoa(soa: RecordSet): RecordSet {
  const data = soa.data[0];
  return data?.type === 'SOA' ? { ...soa, ttl: Math.min(soa.ttl, data.minimum) } : soa;
}

/** HINFO with the text and TTL of the example in RFC 8482, which clients recognize. */
function minimalAnyRecord(owner: Name): RawRecord {
  const text = Buffer.from('RFC8482');
  const data = Uint8Array.from([text.length, ...text, 0]);
  return { owner, type: types.HINFO, class: classes.IN, ttl: 8482, data };
}

function outside(name: Name): Outcome {
  const error = { code: extendedErrors.NOT_AUTHORITATIVE };
  return { ...emptyReply(rcodes.REFUSED, error), chase: name, reason: { rule: 'outside', name } };
}

function refused(name: Name): Outcome {
  const error = { code: extendedErrors.PROHIBITED };
  return { ...emptyReply(rcodes.REFUSED, error), reason: { rule: 'transfer', name } };
}

function loop(name: Name): Outcome {
  const error = { code: extendedErrors.OTHER, text: 'alias loop' };
  return { ...emptyReply(rcodes.SERVFAIL, error), reason: { rule: 'loop', name } };
}
