// Handles queries that the fast path cannot: EDNS options (mostly cookies), extra records, unusual forms. May allocate.
import type { Cookies } from '../message/cookie.ts';
import { replyEdns, replyLimit } from '../message/edns.ts';
import { check } from '../message/protocol.ts';
import type { Query } from '../message/query.ts';
import { rcodes } from '../../dnswire/codes.ts';
import { MessageWriter } from '../../dnswire/writer.ts';
import type { Answerer } from './answerer.ts';
import { drop, toSlowPath } from './answerer.ts';

/** The server's settings for such queries. */
export interface FullParseSettings {
  readonly recursionAvailable: boolean;
  readonly cookies: Cookies | undefined;
}

/** Answers a query for which `Answerer.answer` returned `needsFullParse`; arguments and result are the same. */
export function answerFullParse(
  answerer: Answerer,
  query: Uint8Array,
  out: Uint8Array,
  at: number,
  from: { readonly address: string; readonly protocol: 'udp' | 'tcp' },
  { recursionAvailable, cookies }: FullParseSettings,
): number {
  const nowSeconds = Math.floor(Date.now() / 1000);
  const verdict = check(query, { ...from, recursion: recursionAvailable, nowSeconds, cookies });
  if (verdict.kind === 'drop') return drop;
  if (verdict.kind === 'reply') {
    answerer.rcode = (verdict.bytes[3] ?? 0) & 0xf;
    out.set(verdict.bytes, at);
    return verdict.bytes.length;
  }
  if (!isPlain(verdict.query)) return toSlowPath;
  const { edns } = verdict.query;
  const made = replyEdns(edns, { rcode: rcodes.NOERROR, cookie: verdict.cookie });
  const writer = new MessageWriter();
  if (made !== undefined) writer.opt(made);
  const limit = replyLimit(edns, from.protocol);
  return answerer.answerChecked(query, out, at, { limit, opt: made === undefined ? undefined : writer.bytes() });
}

/** Whether a query has only a question and an OPT record, without a TSIG or the SOA of an IXFR. */
const isPlain = ({ header, edns }: Query): boolean =>
  header.answers + header.authorities === 0 && header.additionals === (edns === undefined ? 0 : 1);
