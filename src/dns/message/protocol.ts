// What a message must be to be looked up at all. Knows no zones, so that a worker can decide it alone.
import { classes, opcodes, rcodes } from '../../dnswire/codes.ts';
import { flagBits, optionCodes } from '../../dnswire/codes.ts';
import type { Header } from '../../dnswire/message.ts';
import { headerBytes, isResponse, opcodeOf, readHeader } from '../../dnswire/message.ts';
import { uint16s } from '../../dnswire/record.ts';
import type { Cookies } from './cookie.ts';
import type { EncodeSettings } from './encode.ts';
import { encode } from './encode.ts';
import type { Query } from './query.ts';
import { readQuery } from './query.ts';
import { emptyReply } from './reply.ts';

/** What to do with a message. */
export type Verdict =
  | { readonly kind: 'silence' }
  | { readonly kind: 'reply'; readonly bytes: Uint8Array }
  | { readonly kind: 'query'; readonly query: Query; readonly cookie: Uint8Array | undefined };

/** Where the message came from, and what the server makes of it. */
export interface Reception {
  readonly protocol: 'udp' | 'tcp';
  readonly address: string;
  readonly recursion: boolean;
  readonly nowSeconds: number;
  readonly settings?: EncodeSettings;
  readonly cookies?: Cookies | undefined;
}

const silence: Verdict = { kind: 'silence' };

/** Judges a message: not for us, wrong, or a query in class IN that may be looked up. */
export function check(bytes: Uint8Array, reception: Reception): Verdict {
  const header = readHeader(bytes);
  // An answer to an answer could go on for ever.
  if (header === undefined || isResponse(header)) return silence;
  const opcode = opcodeOf(header);
  // We are nobody's secondary.
  if (opcode === opcodes.NOTIFY) return bare(header, rcodes.NOTAUTH);
  if (opcode !== opcodes.QUERY) return bare(header, rcodes.NOTIMP);
  const { questions, answers, authorities, additionals } = header;
  // RFC 9619: one question. The other bounds leave room for an IXFR's SOA, OPT and TSIG.
  const hasWrongCounts = questions !== 1 || answers > 1 || authorities > 1 || additionals > 2;
  const query = hasWrongCounts ? undefined : readQuery(bytes, header);
  return query === undefined ? bare(header, rcodes.FORMERR) : judge(query, reception);
}

function judge(query: Query, reception: Reception): Verdict {
  if ((query.edns?.version ?? 0) > 0) return refuse(query, rcodes.BADVERS, reception);
  if (query.question.class !== classes.IN) return refuse(query, rcodes.REFUSED, reception);
  const { cookies, protocol, address, nowSeconds } = reception;
  const option = query.edns?.options.find(({ code }) => code === optionCodes.COOKIE);
  if (option === undefined || cookies === undefined) return { kind: 'query', query, cookie: undefined };
  const cookie = cookies.check(option.data, address, nowSeconds);
  if (cookie === undefined) return bare(query.header, rcodes.FORMERR);
  // A TCP connection proves the address as well (RFC 7873 §5.2.3).
  const isRefused = cookies.required && protocol === 'udp' && !cookie.isGood;
  return isRefused
    ? refuse(query, rcodes.BADCOOKIE, reception, cookie.option)
    : { kind: 'query', query, cookie: cookie.option };
}

function refuse(query: Query, rcode: number, reception: Reception, cookie?: Uint8Array): Verdict {
  const { protocol, recursion, settings } = reception;
  const context = { protocol, recursion, rotation: 0, cookie };
  return { kind: 'reply', bytes: encode(query, emptyReply(rcode), context, settings) };
}

/** A header alone, for messages whose question cannot be trusted to be one. */
function bare({ id, flags }: Header, rcode: number): Verdict {
  const repeated = flags & (0x7800 | flagBits.RD | flagBits.CD);
  const bytes = new Uint8Array(headerBytes);
  bytes.set(uint16s(id, flagBits.QR | repeated | rcode));
  return { kind: 'reply', bytes };
}
