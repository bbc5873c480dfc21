// Encodes queries to upstreams and matches their replies.
import type { Edns, Message, Question } from '../../dnswire/message.ts';
import { headerBytes, isResponse, isTruncated, opcodeOf, readHeader, readMessage } from '../../dnswire/message.ts';
import { classes, flagBits, opcodes, optionCodes, rcodes, types } from '../../dnswire/codes.ts';
import { MessageWriter } from '../../dnswire/writer.ts';

/** A query to an upstream. */
export interface UpstreamQuery {
  readonly question: Question;
  readonly dnssecOk: boolean;
  readonly checkingDisabled: boolean;
  /** The servers that forwarded it, see loop.ts; empty: none. */
  readonly hops: Uint8Array;
}

/** The UDP size that avoids fragmentation on most paths (DNS flag day 2020). */
const datagramBytes = 1232;

export interface EncodeOptions {
  readonly id: number;
  /** False for upstreams without EDNS. */
  readonly edns: boolean;
  /** Random bytes; one bit decides the case of each letter. Absent: lower case. */
  readonly cases?: Uint8Array;
}

/** Encodes a query; undefined if the name is invalid. */
export function encodeQuery(query: UpstreamQuery, { id, edns, cases }: EncodeOptions): Uint8Array | undefined {
  const { question, dnssecOk, checkingDisabled, hops } = query;
  const writer = new MessageWriter();
  // AD requests the AD bit in the answer (RFC 6840 §5.7).
  const flags = flagBits.RD | flagBits.AD | (checkingDisabled ? flagBits.CD : 0);
  writer.header({ id, flags, questions: 1, answers: 0, authorities: 0, additionals: edns ? 1 : 0 });
  if (!writer.question(question)) return undefined;
  const options = hops.length === 0 ? [] : [{ code: optionCodes.HOPS, data: hops }];
  const opt: Edns = { version: 0, size: datagramBytes, dnssecOk, extendedRcode: 0, options };
  if (edns) writer.opt(opt);
  const bytes = writer.bytes();
  if (cases !== undefined) mixCase(bytes, cases);
  return bytes;
}

/** Randomizes the case of the name, which makes replies harder to forge. */
function mixCase(bytes: Uint8Array, cases: Uint8Array): void {
  const end = questionEnd(bytes) - 4;
  for (let at = headerBytes; at < end; at++) {
    const bit = (cases[(at >> 3) % cases.length] ?? 0) & (1 << (at & 7));
    if (bit !== 0 && isLowerCase(bytes[at] ?? 0)) bytes[at] = (bytes[at] ?? 0) - 0x20;
  }
}

const isLowerCase = (byte: number): boolean => byte >= 0x61 && byte <= 0x7a;
const lowerCase = (byte: number): number => (byte >= 0x41 && byte <= 0x5a ? byte + 0x20 : byte);

/** The end of the question of our own message, which has no pointers. */
function questionEnd(bytes: Uint8Array): number {
  let at = headerBytes;
  for (let size = bytes[at] ?? 0; size !== 0; size = bytes[at] ?? 0) at += size + 1;
  return at + 5;
}

/** A complete reply; `keepsCase`: it has the name in the case of the query. */
export interface WholeReply {
  readonly truncated: false;
  readonly message: Message;
  readonly keepsCase: boolean;
}

/** A reply: complete, or truncated, which requires TCP. */
export type Reply = WholeReply | { readonly truncated: true; readonly keepsCase: boolean };

/**
 * Parses `bytes` as the reply to `sent`; undefined if it does not match or is malformed: it may be forged (RFC 5452 §9.1),
 * so that the caller ignores it and keeps waiting.
 */
export function replyTo(sent: Uint8Array, bytes: Uint8Array): Reply | undefined {
  const header = readHeader(bytes);
  if (header === undefined || !isResponse(header) || opcodeOf(header) !== opcodes.QUERY) return undefined;
  if (bytes[0] !== sent[0] || bytes[1] !== sent[1]) return undefined;
  // A FORMERR reply may omit the question.
  const isBare = header.questions === 0 && (header.flags & 0xf) === rcodes.FORMERR;
  const question = isBare ? 'same' : header.questions === 1 ? compareQuestion(sent, bytes) : 'different';
  if (question === 'different') return undefined;
  const keepsCase = question === 'same';
  if (isTruncated(header)) return { truncated: true, keepsCase };
  const message = readMessage(bytes);
  return message && { truncated: false, message, keepsCase };
}

function compareQuestion(sent: Uint8Array, bytes: Uint8Array): 'same' | 'other case' | 'different' {
  const end = questionEnd(sent);
  if (bytes.length < end) return 'different';
  let result: 'same' | 'other case' = 'same';
  for (let at = headerBytes; at < end; at++) {
    const [a, b] = [sent[at] ?? 0, bytes[at] ?? 0];
    if (a === b) continue;
    // Only labels contain letters: lengths are below 64, and type and class must be equal.
    if (at >= end - 4 || lowerCase(a) !== lowerCase(b)) return 'different';
    result = 'other case';
  }
  return result;
}

/** Types of queries for something other than records, such as transfers. */
const isMetaType = (type: number): boolean => type === types.OPT || (type >= 128 && type <= 254) || type === 0;

/** Whether a question may be forwarded: for records in class IN. */
export const isForwardable = (question: Question): boolean =>
  question.class === classes.IN && !isMetaType(question.type);
