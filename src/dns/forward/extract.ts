// Extracts the records that answer a query from an upstream's message. All others are dropped, since they may be forged
// (RFC 5452 §6) and must not enter the cache.
import type { Name } from '../../dnswire/data.ts';
import { flagBits, rcodes, types } from '../../dnswire/codes.ts';
import type { Message, Question } from '../../dnswire/message.ts';
import { rcodeOf } from '../../dnswire/message.ts';
import { isWithin, readName } from '../../dnswire/name.ts';
import type { RawRecord } from '../../dnswire/record.ts';
import { readData } from '../../dnswire/record.ts';
import type { UpstreamAnswer } from '../resolver.ts';

/** An answer with its cacheability. */
export interface Extract {
  readonly answer: UpstreamAnswer;
  /** `failure`: not an answer about the name. */
  readonly kind: 'positive' | 'negative' | 'failure';
  /** TTL in the cache; 0: not cached. */
  readonly ttl: number;
}

/** DNSSEC records, which accompany others. */
const dnssec = { RRSIG: 46, NSEC: 47, NSEC3: 50 } as const;
/** Maximum length of an alias chain. */
const maxLinks = 16;
/** RFC 2181 §8: a TTL with the first bit set is zero. */
const largestTtl = 0x7fff_ffff;

/** Extracts the answer to a question. */
export function extract(question: Question, message: Message): Extract {
  const rcode = rcodeOf(message);
  if (rcode !== rcodes.NOERROR && rcode !== rcodes.NXDOMAIN) {
    return { answer: { rcode, answers: [], authority: [], additional: [] }, kind: 'failure', ttl: 0 };
  }
  const { records, end, isFound } = followChain(question, message.answers);
  const answers = withOneTtlPerSet(records);
  // A name with the requested record exists, whatever the response code.
  const isNegative = !isFound;
  const authority = withOneTtlPerSet(authorityFor(end, message.authority, isNegative));
  const authentic = (message.header.flags & flagBits.AD) === 0 ? {} : { authentic: true as const };
  const answer = { rcode: isNegative ? rcode : rcodes.NOERROR, answers, authority, additional: [], ...authentic };
  const ttl = Math.min(lowestTtl(answers), isNegative ? negativeTtl(authority) : largestTtl);
  return { answer, kind: isNegative ? 'negative' : 'positive', ttl };
}

interface Chain {
  readonly records: readonly RawRecord[];
  /** The end of the alias chain. */
  readonly end: Name;
  /** Whether it has records of the requested type. */
  readonly isFound: boolean;
}

/** Follows aliases from the question and collects the records of the chain. */
function followChain(question: Question, answers: readonly RawRecord[]): Chain {
  const byOwner = Map.groupBy(
    answers.filter((record) => record.class === question.class),
    ({ owner }) => owner,
  );
  const records: RawRecord[] = [];
  const seen = new Set<Name>();
  let name = question.name;
  while (!seen.has(name) && seen.size < maxLinks) {
    seen.add(name);
    const here = byOwner.get(name) ?? [];
    const found = here.filter(({ type }) => type === question.type || question.type === types.ANY);
    if (found.length > 0) {
      records.push(...found, ...signaturesOf(here, question.type));
      return {
        records,
        end: name,
        isFound: found.some(({ type }) => type !== dnssec.RRSIG) || question.type === dnssec.RRSIG,
      };
    }
    const alias = here.find(({ type }) => type === types.CNAME);
    if (alias === undefined) break;
    records.push(...dnameRecords(name, answers), alias, ...signaturesOf(here, types.CNAME));
    const target = readName(alias.data, 0);
    if (target === undefined) break;
    name = target.name;
  }
  return { records, end: name, isFound: false };
}

/** DNAME records from which the alias of a name was synthesized. */
function dnameRecords(name: Name, answers: readonly RawRecord[]): readonly RawRecord[] {
  return answers.filter(
    (record) =>
      isWithin(name, record.owner) &&
      record.owner !== name &&
      (record.type === types.DNAME || (record.type === dnssec.RRSIG && coveredBy(record) === types.DNAME)),
  );
}

function signaturesOf(here: readonly RawRecord[], type: number): readonly RawRecord[] {
  if (type === types.ANY || type === dnssec.RRSIG) return [];
  return here.filter((record) => record.type === dnssec.RRSIG && coveredBy(record) === type);
}

/** The type that a signature covers. */
const coveredBy = ({ data }: RawRecord): number => ((data[0] ?? 0) << 8) | (data[1] ?? 0);

/** The SOA of a negative answer, and DNSSEC proofs. */
function authorityFor(name: Name, authority: readonly RawRecord[], isNegative: boolean): readonly RawRecord[] {
  return authority.filter((record) => {
    const type = record.type === dnssec.RRSIG ? coveredBy(record) : record.type;
    if (type === types.SOA) return isNegative && isWithin(name, record.owner);
    return type === dnssec.NSEC || type === dnssec.NSEC3;
  });
}

/** RFC 2308 §5: the lower of the SOA's TTL and minimum; 0 without a SOA. */
function negativeTtl(authority: readonly RawRecord[]): number {
  const soa = authority.find(({ type }) => type === types.SOA);
  const data = soa && readData(types.SOA, soa.data);
  return soa !== undefined && data?.type === 'SOA' ? Math.min(soa.ttl, data.minimum) : 0;
}

const lowestTtl = (records: readonly RawRecord[]): number =>
  records.reduce((least, { ttl }) => Math.min(least, ttl), largestTtl);

/** RFC 2181 §5.2: records of an RRset have one TTL, the lowest if they differ. */
function withOneTtlPerSet(records: readonly RawRecord[]): readonly RawRecord[] {
  const least = new Map<string, number>();
  const keyOf = ({ owner, type }: RawRecord): string => `${type} ${owner}`;
  const ttlOf = ({ ttl }: RawRecord): number => (ttl > largestTtl ? 0 : ttl);
  for (const record of records) {
    least.set(keyOf(record), Math.min(least.get(keyOf(record)) ?? largestTtl, ttlOf(record)));
  }
  return records.map((record) => ({ ...record, ttl: least.get(keyOf(record)) ?? 0 }));
}
