// Validates messages before any lookup. It needs no zones, so workers use it too.
import { classes, opcodes, rcodes } from '../../dnswire/codes.ts';
import { flagBits, optionCodes } from '../../dnswire/codes.ts';
import type { Header } from '../../dnswire/message.ts';
import { headerBytes, isResponse, opcodeOf, readHeader } from '../../dnswire/message.ts';
import { uint16s } from '../../dnswire/record.ts';
import type { Cookies } from './cookie.ts';
import { encode } from './encode.ts';
import type { Query } from './query.ts';
import { readQuery } from './query.ts';
import { emptyReply } from './reply.ts';

/** How to process a message. */
export type Verdict =
  | { readonly kind: 'drop' }
  | { readonly kind: 'reply'; readonly bytes: Uint8Array }
  | { readonly kind: 'query'; readonly query: Query; readonly cookie: Uint8Array | undefined };

/** The source of a message, and the server's settings for it. */
export interface MessageContext {
  readonly protocol: 'udp' | 'tcp';
  readonly address: string;
  readonly recursion: boolean;
  readonly nowSeconds: number;
  readonly cookies?: Cookies | undefined;
}

const drop: Verdict = { kind: 'drop' };

/** Validates a message: drop it, reply with an error, or look up a query in class IN. */
export function check(bytes: Uint8Array, context: MessageContext): Verdict {
  const header = readHeader(bytes);
  // Replying to responses could loop forever.
  if (header === undefined || isResponse(header)) return drop;
  const opcode = opcodeOf(header);
  // This server is not a secondary.
  if (opcode === opcodes.NOTIFY) return bare(header, rcodes.NOTAUTH);
  if (opcode !== opcodes.QUERY) return bare(header, rcodes.NOTIMP);
  const { questions, answers, authorities, additionals } = header;
  // RFC 9619: one question. The other bounds leave room for an IXFR's SOA, OPT and TSIG.
  const hasWrongCounts = questions !== 1 || answers > 1 || authorities > 1 || additionals > 2;
  const query = hasWrongCounts ? undefined : readQuery(bytes, header);
  return query === undefined ? bare(header, rcodes.FORMERR) : judge(query, context);
}

function judge(query: Query, context: MessageContext): Verdict {
  if ((query.edns?.version ?? 0) > 0) return refuse(query, rcodes.BADVERS, context);
  if (query.question.class !== classes.IN) return refuse(query, rcodes.REFUSED, context);
  const { cookies, address, nowSeconds } = context;
  const option = query.edns?.options.find(({ code }) => code === optionCodes.COOKIE);
  if (option === undefined || cookies === undefined) return { kind: 'query', query, cookie: undefined };
  const cookie = cookies.check(option.data, address, nowSeconds);
  if (cookie === undefined) return bare(query.header, rcodes.FORMERR);
  return { kind: 'query', query, cookie: cookie.option };
}

function refuse(query: Query, rcode: number, { protocol, recursion }: MessageContext): Verdict {
  const context = { protocol, recursion, rotation: 0 };
  return { kind: 'reply', bytes: encode(query, emptyReply(rcode), context) };
}

/** A reply without a question, for messages whose question may be malformed. */
function bare({ id, flags }: Header, rcode: number): Verdict {
  const repeated = flags & (0x7800 | flagBits.RD | flagBits.CD);
  const bytes = new Uint8Array(headerBytes);
  bytes.set(uint16s(id, flagBits.QR | repeated | rcode));
  return { kind: 'reply', bytes };
}
