// Encodes replies.
import type { RecordSet } from '../../dnswire/data.ts';
import { flagBits } from '../../dnswire/codes.ts';
import { headerBytes } from '../../dnswire/message.ts';
import { encodeName } from '../../dnswire/name.ts';
import { encodeRecord } from '../../dnswire/record.ts';
import type { OwnRecord } from '../../dnswire/writer.ts';
import { MessageWriter } from '../../dnswire/writer.ts';
import { ednsBytes, fittingEdns, replyEdns, replyLimit } from './edns.ts';
import type { Query } from './query.ts';
import type { Entry, Reply } from './reply.ts';
import { isRaw } from './reply.ts';

/** Properties of the query and the server that affect the encoding. */
export interface EncodeContext {
  readonly protocol: 'udp' | 'tcp';
  /** The client may recurse: the RA flag. */
  readonly recursion: boolean;
  /** Selects the first record of a set: a number below 2³², different for each reply. */
  readonly rotation: number;
  /** The cookie to send. */
  readonly cookie?: Uint8Array | undefined;
}

/** The flags word of the header. */
export function replyFlags(
  { header, edns }: Query,
  reply: Pick<Reply, 'rcode' | 'authoritative' | 'authentic'>,
  { recursion }: Pick<EncodeContext, 'recursion'>,
): number {
  const repeated = header.flags & (0x7800 | flagBits.RD | flagBits.CD);
  // RFC 6840 §5.8: only clients that set AD or DO expect AD.
  const expectsAd = (header.flags & flagBits.AD) !== 0 || edns?.dnssecOk === true;
  return (
    flagBits.QR |
    repeated |
    (reply.authoritative ? flagBits.AA : 0) |
    (recursion ? flagBits.RA : 0) |
    (reply.authentic === true && expectsAd ? flagBits.AD : 0) |
    (reply.rcode & 0xf)
  );
}

/** Encodes a reply; sets TC if answers or authority do not fit. Additional records that do not fit are omitted. */
export function encode(query: Query, reply: Reply, context: EncodeContext): Uint8Array {
  const { rcode, error } = reply;
  const limit = replyLimit(query.edns, context.protocol);
  const all = replyEdns(query.edns, { cookie: context.cookie, rcode, error });
  const edns = fittingEdns(all, limit - headerBytes - query.questionBytes.length);
  const writer = new MessageWriter(limit - ednsBytes(edns));
  const header = { id: query.header.id, questions: 1, answers: 0, authorities: 0, additionals: 0 };
  const flags = replyFlags(query, reply, context);
  writer.header({ ...header, flags });
  writer.rawQuestion(query.question.name, query.questionBytes);
  const answers = writeAll(writer, reply.answers, context.rotation);
  const authority = answers.isWhole ? writeAll(writer, reply.authority, 0) : { count: 0, isWhole: false };
  const isWhole = answers.isWhole && authority.isWhole;
  const additional = isWhole ? writeSets(writer, reply.additional) : 0;
  // Space was reserved for it.
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
      // Records that cannot be encoded are omitted and do not cause a retry over TCP.
      else if (isEncodable({ owner, data })) return { count, isWhole: false };
    }
  }
  return { count, isWhole: true };
}

/** Whether a record can be encoded: the lengths of its names and the form of its address. */
export const isEncodable = ({ owner, data }: Pick<OwnRecord, 'owner' | 'data'>): boolean =>
  encodeName(owner) !== undefined && encodeRecord(data) !== undefined;

/** Writes whole sets as long as they fit: clients would take a partial set for the complete one. */
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

/** Rotates the records of a set, except PTR records, whose order is by preference. */
function rotated({ type, data }: RecordSet, rotation: number): RecordSet['data'] {
  if (type === 'PTR') return data;
  const start = Math.floor((rotation / 2 ** 32) * data.length);
  return start === 0 ? data : [...data.slice(start), ...data.slice(0, start)];
}
