// The few queries that are not plain: EDNS options (cookies above all), extra records, odd shapes. May allocate.
import type { Cookies } from '../message/cookie.ts';
import { replyEdns, replyLimit } from '../message/edns.ts';
import type { EncodeSettings } from '../message/encode.ts';
import { check } from '../message/protocol.ts';
import type { Query } from '../message/query.ts';
import { rcodes } from '../../dnswire/codes.ts';
import { MessageWriter } from '../../dnswire/writer.ts';
import type { Answerer } from './answerer.ts';
import { ask, silence } from './answerer.ts';

/** What a server says of itself, for those who ask. */
export interface CarefulSettings {
  readonly recursionAvailable: boolean;
  readonly settings: EncodeSettings;
  readonly cookies: Cookies | undefined;
}

/** Answers a query that `Answerer.answer` wants looked at; arguments and result are as there. */
export function answerCarefully(
  answerer: Answerer,
  query: Uint8Array,
  out: Uint8Array,
  at: number,
  from: { readonly address: string; readonly protocol: 'udp' | 'tcp' },
  { recursionAvailable, settings, cookies }: CarefulSettings,
): number {
  const nowSeconds = Math.floor(Date.now() / 1000);
  const verdict = check(query, { ...from, recursion: recursionAvailable, nowSeconds, settings, cookies });
  if (verdict.kind === 'silence') return silence;
  if (verdict.kind === 'reply') {
    answerer.rcode = (verdict.bytes[3] ?? 0) & 0xf;
    out.set(verdict.bytes, at);
    return verdict.bytes.length;
  }
  if (!isPlain(verdict.query)) return ask;
  const { edns } = verdict.query;
  const reply = { protocol: from.protocol, rcode: rcodes.NOERROR, cookie: verdict.cookie };
  const made = replyEdns(edns, reply, settings);
  const writer = new MessageWriter();
  if (made !== undefined) writer.opt(made);
  const limit = replyLimit(edns, from.protocol, settings);
  return answerer.answerChecked(query, out, at, { limit, opt: made === undefined ? undefined : writer.bytes() });
}

/** Nothing but a question and an OPT record: no signature, no SOA of an IXFR. */
const isPlain = ({ header, edns }: Query): boolean =>
  header.answers + header.authorities === 0 && header.additionals === (edns === undefined ? 0 : 1);
