// Replies as bytes.
import type { RecordSet } from '../../dnswire/data.ts';
import { flagBits } from '../../dnswire/codes.ts';
import { headerBytes } from '../../dnswire/message.ts';
import { encodeName } from '../../dnswire/name.ts';
import { encodeRecord } from '../../dnswire/record.ts';
import type { OwnRecord } from '../../dnswire/writer.ts';
import { MessageWriter } from '../../dnswire/writer.ts';
import type { EdnsSettings } from './edns.ts';
import { ednsBytes, fittingEdns, replyEdns, replyLimit } from './edns.ts';
import type { Query } from './query.ts';
import type { Entry, Reply } from './reply.ts';
import { isRaw } from './reply.ts';

export interface EncodeSettings extends EdnsSettings {
  /** Leave out addresses that were not asked for; false by default. */
  readonly minimal?: boolean;
}

/** What the bytes of a reply depend on besides what it says. */
export interface EncodeContext {
  readonly protocol: 'udp' | 'tcp';
  /** The client may have us ask others, and is told so. */
  readonly recursion: boolean;
  /** Which record of a set comes first: a number below 2³², different for each reply. */
  readonly rotation: number;
  /** The cookie to send. */
  readonly cookie?: Uint8Array | undefined;
}

/** The header's second word: what of the query is repeated, and what the reply says of itself. */
export function replyFlags(
  { header, edns }: Query,
  reply: Pick<Reply, 'rcode' | 'authoritative' | 'authentic'>,
  { recursion }: Pick<EncodeContext, 'recursion'>,
): number {
  const repeated = header.flags & (0x7800 | flagBits.RD | flagBits.CD);
  // RFC 6840 §5.8: who sets AD or DO can read it.
  const wantsAd = (header.flags & flagBits.AD) !== 0 || edns?.dnssecOk === true;
  return (
    flagBits.QR |
    repeated |
    (reply.authoritative ? flagBits.AA : 0) |
    (recursion ? flagBits.RA : 0) |
    (reply.authentic === true && wantsAd ? flagBits.AD : 0) |
    (reply.rcode & 0xf)
  );
}

/** The reply to a query; with TC where something of it does not fit. Additional records are left out silently. */
export function encode(query: Query, reply: Reply, context: EncodeContext, settings: EncodeSettings = {}): Uint8Array {
  const { rcode, error } = reply;
  const limit = replyLimit(query.edns, context.protocol, settings);
  const all = replyEdns(query.edns, { protocol: context.protocol, cookie: context.cookie, rcode, error }, settings);
  const edns = fittingEdns(all, limit - headerBytes - query.questionBytes.length);
  const writer = new MessageWriter(limit - ednsBytes(edns));
  const header = { id: query.header.id, questions: 1, answers: 0, authorities: 0, additionals: 0 };
  const flags = replyFlags(query, reply, context);
  writer.header({ ...header, flags });
  writer.rawQuestion(query.question.name, query.questionBytes);
  const answers = writeAll(writer, reply.answers, context.rotation);
  const authority = answers.isWhole ? writeAll(writer, reply.authority, 0) : { count: 0, isWhole: false };
  const isWhole = answers.isWhole && authority.isWhole;
  const additional = isWhole && settings.minimal !== true ? writeSets(writer, reply.additional) : 0;
  // Room was kept for it.
  writer.raiseLimit(limit);
  const additionals = additional + (edns !== undefined && writer.opt(edns) ? 1 : 0);
  const counts = { answers: answers.count, authorities: authority.count, additionals };
  writer.header({ ...header, ...counts, flags: isWhole ? flags : flags | flagBits.TC });
  return writer.bytes();
}

/** Writes records one by one as long as they fit. */
function writeAll(
  writer: MessageWriter,
  entries: readonly Entry[],
  rotation: number,
): { readonly count: number; readonly isWhole: boolean } {
  let count = 0;
  for (const entry of entries) {
    if (isRaw(entry)) {
      if (!writer.rawRecord(entry)) return { count, isWhole: false };
      count++;
      continue;
    }
    const { owner, ttl } = entry;
    for (const data of rotated(entry, rotation)) {
      if (writer.record({ owner, ttl, data })) count++;
      // What cannot be sent at all is left out, and is no reason to ask again over TCP.
      else if (canBeSent({ owner, data })) return { count, isWhole: false };
    }
  }
  return { count, isWhole: true };
}

/** Whether a record can be written at all: its names are none too long, its address is one. */
export const canBeSent = ({ owner, data }: Pick<OwnRecord, 'owner' | 'data'>): boolean =>
  encodeName(owner) !== undefined && encodeRecord(data) !== undefined;

/** Writes sets as long as they fit: of a set all records or none, since half of one would be taken for the whole. */
function writeSets(writer: MessageWriter, entries: readonly Entry[]): number {
  let count = 0;
  for (const entry of entries) {
    const mark = writer.mark();
    const { count: written, isWhole } = writeAll(writer, [entry], 0);
    if (!isWhole) {
      writer.rewind(mark);
      break;
    }
    count += written;
  }
  return count;
}

/** Names of an address are in order, the best one first; of all else each has its turn at being first. */
function rotated({ type, data }: RecordSet, rotation: number): RecordSet['data'] {
  if (type === 'PTR') return data;
  const start = Math.floor((rotation / 2 ** 32) * data.length);
  return start === 0 ? data : [...data.slice(start), ...data.slice(0, start)];
}
