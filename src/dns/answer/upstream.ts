// Combines upstream answers with answers of our zones.
import type { UpstreamAnswer } from '../resolver.ts';
import type { Name } from '../../dnswire/data.ts';
import { classes, extendedErrors, rcodes, types } from '../../dnswire/codes.ts';
import { readName } from '../../dnswire/name.ts';
import type { RawRecord } from '../../dnswire/record.ts';
import { encodeRecord } from '../../dnswire/record.ts';
import type { Lookup, Outcome } from './answer.ts';
import type { ExtendedError, Reply } from '../message/reply.ts';

/** The reply with an upstream answer to a name outside our zones. */
function relayed(upstream: UpstreamAnswer, dnssecOk: boolean): Reply {
  const error = errorOf(upstream);
  // Positive answers need no authority section, except for DNSSEC proofs.
  const isPositive = upstream.rcode === rcodes.NOERROR && upstream.answers.length > 0;
  return {
    rcode: upstream.rcode,
    authoritative: false,
    answers: upstream.answers,
    authority: isPositive && !dnssecOk ? [] : upstream.authority,
    additional: [],
    authentic: upstream.authentic === true,
    ...(error === undefined ? {} : { error }),
  };
}

/** Our aliases and the upstream answer for their target (EXT-4). */
export function joinUpstream(outcome: Outcome, upstream: UpstreamAnswer, dnssecOk: boolean): Reply {
  const reply = relayed(upstream, dnssecOk);
  if (outcome.answers.length === 0) return reply;
  const isAnswer = upstream.rcode === rcodes.NOERROR || upstream.rcode === rcodes.NXDOMAIN;
  return {
    ...reply,
    // RFC 6604: the code of the end of the chain. Any other upstream failure is SERVFAIL.
    rcode: isAnswer ? upstream.rcode : rcodes.SERVFAIL,
    authoritative: outcome.authoritative,
    authentic: false,
    answers: [...outcome.answers, ...upstream.answers],
  };
}

/** The answer without the AD flag. */
export function withoutAd(upstream: UpstreamAnswer): UpstreamAnswer {
  const { authentic: _, ...rest } = upstream;
  return rest;
}

/** An upstream alias into our zones: the records up to it, and its target, for which only our zones count. */
export interface AliasIntoZones {
  readonly name: Name;
  readonly answers: readonly RawRecord[];
}

/** The first alias of an answer into our zones; undefined if there is none or the query is for the alias itself. */
export function aliasIntoZones(zones: Lookup, type: number, { answers }: UpstreamAnswer): AliasIntoZones | undefined {
  if (type === types.CNAME || type === types.ANY) return undefined;
  for (const { owner, type: recordType, data } of answers) {
    const name = recordType === types.CNAME ? readName(data, 0)?.name : undefined;
    if (name === undefined || zones.zoneOf(name) === undefined) continue;
    const end = answers.findLastIndex((record) => record.owner === owner) + 1;
    return { name, answers: answers.slice(0, end) };
  }
  return undefined;
}

function errorOf({ rcode, stale, problem }: UpstreamAnswer): ExtendedError | undefined {
  if (problem !== undefined) return problem;
  if (stale !== true) return undefined;
  return { code: rcode === rcodes.NXDOMAIN ? extendedErrors.STALE_NXDOMAIN : extendedErrors.STALE_ANSWER };
}

/** TTL of the answer that a name has no AAAA records. */
const filteredTtl = 30;

/**
 * The AAAA answer of a name while IPv6 is filtered, derived from its A answer: aliases and existence do not depend on the
 * type, so an existing name is NODATA and a missing one stays NXDOMAIN.
 */
export function withoutAaaa(name: Name, upstream: UpstreamAnswer): UpstreamAnswer {
  if (upstream.rcode !== rcodes.NOERROR) return upstream;
  const answers = upstream.answers.filter(({ type }) => type === types.CNAME || type === types.DNAME);
  const authority = upstream.authority.filter(({ type }) => type === types.SOA);
  const problem = { code: extendedErrors.FILTERED, text: 'AAAA records are filtered' };
  return {
    ...withoutAd(upstream),
    answers,
    authority: authority.length > 0 ? authority : [synthesizedSoa(name)],
    problem,
  };
}

/** Without a SOA the answer could not be cached (RFC 2308 §5). */
function synthesizedSoa(owner: Name): RawRecord {
  const timers = { serial: 1, refresh: 7200, retry: 1800, expire: 86_400, minimum: filteredTtl };
  const data = encodeRecord({ type: 'SOA', primary: '', mailbox: '', ...timers });
  if (data === undefined) throw new Error('bug: a SOA of the root cannot be encoded');
  return { owner, type: types.SOA, class: classes.IN, ttl: filteredTtl, data };
}
