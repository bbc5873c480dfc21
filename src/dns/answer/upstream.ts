// Answers that others gave, and how they are joined with ours.
import type { UpstreamAnswer } from '../resolver.ts';
import type { Name } from '../../dnswire/data.ts';
import { classes, extendedErrors, rcodes, types } from '../../dnswire/codes.ts';
import { readName } from '../../dnswire/name.ts';
import type { RawRecord } from '../../dnswire/record.ts';
import { encodeRecord } from '../../dnswire/record.ts';
import type { Lookup, Outcome } from './answer.ts';
import type { ExtendedError, Reply } from '../message/reply.ts';

/** The answer to a question that we are not asked about, as the client gets it. */
function relayed(upstream: UpstreamAnswer, dnssecOk: boolean): Reply {
  const error = errorOf(upstream);
  // What is not asked for is left out of positive answers, but for the proofs that a validator needs.
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

/** Our aliases, and what others say about the name that they lead to (EXT-4). */
export function joined(outcome: Outcome, upstream: UpstreamAnswer, dnssecOk: boolean): Reply {
  const reply = relayed(upstream, dnssecOk);
  if (outcome.answers.length === 0) return reply;
  const isAnswer = upstream.rcode === rcodes.NOERROR || upstream.rcode === rcodes.NXDOMAIN;
  return {
    ...reply,
    // RFC 6604: the code of the chain's end. That others refused or failed is our failure to the client.
    rcode: isAnswer ? upstream.rcode : rcodes.SERVFAIL,
    authoritative: outcome.authoritative,
    authentic: false,
    answers: [...outcome.answers, ...upstream.answers],
  };
}

/** The answer without the upstream's word that DNSSEC proves it. */
export function unproven(upstream: UpstreamAnswer): UpstreamAnswer {
  const { authentic: _, ...rest } = upstream;
  return rest;
}

/** Where aliases of an upstream enter our zones: the records up to there, and the name that only we answer for. */
export interface Entry {
  readonly name: Name;
  readonly answers: readonly RawRecord[];
}

/** The first alias in an answer that leads into our zones; undefined if none does, or aliases were asked for. */
export function entryInto(zones: Lookup, type: number, { answers }: UpstreamAnswer): Entry | undefined {
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

/** How long it may be remembered that a name is said to have no IPv6 address. */
const filteredTtl = 30;

/**
 * What is said of AAAA where IPv6 is filtered, made from the answer for A: aliases and existence are the same for all
 * types, so a name that exists has no data and one that does not stays NXDOMAIN.
 */
export function filtered(name: Name, upstream: UpstreamAnswer): UpstreamAnswer {
  if (upstream.rcode !== rcodes.NOERROR) return upstream;
  const answers = upstream.answers.filter(({ type }) => type === types.CNAME || type === types.DNAME);
  const authority = upstream.authority.filter(({ type }) => type === types.SOA);
  const problem = { code: extendedErrors.FILTERED, text: 'AAAA is filtered here' };
  return { ...unproven(upstream), answers, authority: authority.length > 0 ? authority : [inventedSoa(name)], problem };
}

/** Without a SOA the answer would not be remembered at all (RFC 2308 §5). */
function inventedSoa(owner: Name): RawRecord {
  const timers = { serial: 1, refresh: 7200, retry: 1800, expire: 86_400, minimum: filteredTtl };
  const data = encodeRecord({ type: 'SOA', primary: '', mailbox: '', ...timers });
  if (data === undefined) throw new Error('bug: a SOA of the root cannot be written');
  return { owner, type: types.SOA, class: classes.IN, ttl: filteredTtl, data };
}
