// A question as it goes to an upstream, and what counts as a reply to it.
import type { Edns, Message, Question } from '../../dnswire/message.ts';
import { headerBytes, isResponse, isTruncated, opcodeOf, readHeader, readMessage } from '../../dnswire/message.ts';
import { classes, flagBits, opcodes, optionCodes, rcodes, types } from '../../dnswire/codes.ts';
import { MessageWriter } from '../../dnswire/writer.ts';

/** What is asked of an upstream. */
export interface UpstreamQuery {
  readonly question: Question;
  readonly dnssecOk: boolean;
  readonly checkingDisabled: boolean;
  /** The servers it came through, as an EDNS option; see loop.ts. Empty: it is left out. */
  readonly trail: Uint8Array;
}

/** What we can take in one datagram without fragments on any path (DNS flag day 2020). */
const datagramBytes = 1232;

export interface EncodeOptions {
  readonly id: number;
  /** Without EDNS for upstreams too old for it. */
  readonly edns: boolean;
  /** Bytes of chance: one bit of them decides the case of each letter. Absent: all lower case. */
  readonly cases?: Uint8Array;
}

/** The message to send; undefined if the name cannot be sent. */
export function encodeQuery(query: UpstreamQuery, { id, edns, cases }: EncodeOptions): Uint8Array | undefined {
  const { question, dnssecOk, checkingDisabled, trail } = query;
  const writer = new MessageWriter();
  // AD asks for the AD bit in the answer (RFC 6840 §5.7).
  const flags = flagBits.RD | flagBits.AD | (checkingDisabled ? flagBits.CD : 0);
  writer.header({ id, flags, questions: 1, answers: 0, authorities: 0, additionals: edns ? 1 : 0 });
  if (!writer.question(question)) return undefined;
  const options = trail.length === 0 ? [] : [{ code: optionCodes.TRAIL, data: trail }];
  const opt: Edns = { version: 0, size: datagramBytes, dnssecOk, extendedRcode: 0, options };
  if (edns) writer.opt(opt);
  const bytes = writer.bytes();
  if (cases !== undefined) mixCase(bytes, cases);
  return bytes;
}

/** Turns letters of the question to upper case by chance: more for a forger to guess. */
function mixCase(bytes: Uint8Array, cases: Uint8Array): void {
  const end = questionEnd(bytes) - 4;
  for (let at = headerBytes; at < end; at++) {
    const bit = (cases[(at >> 3) % cases.length] ?? 0) & (1 << (at & 7));
    if (bit !== 0 && isLowerCase(bytes[at] ?? 0)) bytes[at] = (bytes[at] ?? 0) - 0x20;
  }
}

const isLowerCase = (byte: number): boolean => byte >= 0x61 && byte <= 0x7a;
const lowerCase = (byte: number): number => (byte >= 0x41 && byte <= 0x5a ? byte + 0x20 : byte);

/** Where the question that we wrote ends; it has no pointers. */
function questionEnd(bytes: Uint8Array): number {
  let at = headerBytes;
  for (let size = bytes[at] ?? 0; size !== 0; size = bytes[at] ?? 0) at += size + 1;
  return at + 5;
}

/** A whole reply; `keepsCase`: it repeats the name in the case that was sent. */
export interface WholeReply {
  readonly truncated: false;
  readonly message: Message;
  readonly keepsCase: boolean;
}

/** A reply: whole, or one that says to ask again over TCP. */
export type Reply = WholeReply | { readonly truncated: true; readonly keepsCase: boolean };

/**
 * The reply that `bytes` is to what was sent; undefined if it is none, or broken: somebody else may have sent it
 * (RFC 5452 §9.1), so that it is to be ignored and the true one still awaited.
 */
export function replyTo(sent: Uint8Array, bytes: Uint8Array): Reply | undefined {
  const header = readHeader(bytes);
  if (header === undefined || !isResponse(header) || opcodeOf(header) !== opcodes.QUERY) return undefined;
  if (bytes[0] !== sent[0] || bytes[1] !== sent[1]) return undefined;
  // A server that did not understand the question may not repeat it.
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
    // Letters only occur in labels: a length is below 64, and type and class are compared as they are.
    if (at >= end - 4 || lowerCase(a) !== lowerCase(b)) return 'different';
    result = 'other case';
  }
  return result;
}

/** Types that ask for something else than records: a transfer, a signature, a part of the protocol. */
const isMetaType = (type: number): boolean => type === types.OPT || (type >= 128 && type <= 254) || type === 0;

/** Whether a question is of the kind that goes to upstreams at all: for records, in the Internet class. */
export const isForwardable = (question: Question): boolean =>
  question.class === classes.IN && !isMetaType(question.type);
