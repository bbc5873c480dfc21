// Parses messages. Functions return undefined for malformed bytes and never throw.
import type { Name } from './data.ts';
import { dnssecOkBit, flagBits, types } from './codes.ts';
import { readName } from './name.ts';
import type { RawRecord } from './record.ts';
import { readRecord, readUint16 } from './record.ts';

/** The size of a header; the question begins after it. */
export const headerBytes = 12;

/** The header of a message. */
export interface Header {
  readonly id: number;
  /** The second word: bits of `flagBits`, opcode and response code. */
  readonly flags: number;
  readonly questions: number;
  readonly answers: number;
  readonly authorities: number;
  readonly additionals: number;
}

export interface Question {
  readonly name: Name;
  readonly type: number;
  readonly class: number;
}

/** An option of an OPT record. */
export interface EdnsOption {
  readonly code: number;
  readonly data: Uint8Array;
}

/** A parsed OPT record. */
export interface Edns {
  readonly version: number;
  /** The UDP size that the sender accepts. */
  readonly size: number;
  readonly dnssecOk: boolean;
  /** The upper eight bits of the response code. */
  readonly extendedRcode: number;
  readonly options: readonly EdnsOption[];
}

/** A parsed message. The OPT record is in `edns`, not among the additional records. */
export interface Message {
  readonly header: Header;
  readonly questions: readonly Question[];
  readonly answers: readonly RawRecord[];
  readonly authority: readonly RawRecord[];
  readonly additional: readonly RawRecord[];
  readonly edns?: Edns;
}

/** Parses the header; undefined if the message is too short. */
export function readHeader(bytes: Uint8Array): Header | undefined {
  if (bytes.length < headerBytes) return undefined;
  return {
    id: readUint16(bytes, 0),
    flags: readUint16(bytes, 2),
    questions: readUint16(bytes, 4),
    answers: readUint16(bytes, 6),
    authorities: readUint16(bytes, 8),
    additionals: readUint16(bytes, 10),
  };
}

export const isResponse = ({ flags }: Header): boolean => (flags & flagBits.QR) !== 0;
export const isTruncated = ({ flags }: Header): boolean => (flags & flagBits.TC) !== 0;
export const opcodeOf = ({ flags }: Header): number => (flags >> 11) & 0xf;

/** The response code, including the upper bits of an OPT record. */
export const rcodeOf = ({ header, edns }: Pick<Message, 'header' | 'edns'>): number =>
  ((edns?.extendedRcode ?? 0) << 4) | (header.flags & 0xf);

/** Parses the question at an offset (12 for the first); `end` is the offset after it. */
export function readQuestion(
  bytes: Uint8Array,
  offset: number = headerBytes,
): { readonly question: Question; readonly end: number } | undefined {
  const read = readName(bytes, offset);
  if (read === undefined || read.end + 4 > bytes.length) return undefined;
  const question = { name: read.name, type: readUint16(bytes, read.end), class: readUint16(bytes, read.end + 2) };
  return { question, end: read.end + 4 };
}

/** Parses a message; undefined if any part is malformed or cut off. Trailing bytes are ignored. */
export function readMessage(bytes: Uint8Array): Message | undefined {
  const header = readHeader(bytes);
  if (header === undefined) return undefined;
  const questions: Question[] = [];
  let at = headerBytes;
  for (let count = 0; count < header.questions; count++) {
    const read = readQuestion(bytes, at);
    if (read === undefined) return undefined;
    questions.push(read.question);
    at = read.end;
  }
  const answers = readRecords(bytes, at, header.answers);
  const authority = answers && readRecords(bytes, answers.end, header.authorities);
  const additional = authority && readRecords(bytes, authority.end, header.additionals);
  if (answers === undefined || authority === undefined || additional === undefined) return undefined;
  const message = { header, questions, answers: answers.records, authority: authority.records };
  return withEdns(message, additional.records);
}

function withEdns(message: Omit<Message, 'additional'>, all: readonly RawRecord[]): Message | undefined {
  const additional = all.filter(({ type }) => type !== types.OPT);
  const [opt, second] = all.filter(({ type }) => type === types.OPT);
  if (opt === undefined) return { ...message, additional };
  const edns = second === undefined ? readEdns(opt) : undefined;
  return edns && { ...message, additional, edns };
}

function readRecords(
  bytes: Uint8Array,
  offset: number,
  count: number,
): { readonly records: readonly RawRecord[]; readonly end: number } | undefined {
  const records: RawRecord[] = [];
  let at = offset;
  for (let index = 0; index < count; index++) {
    const read = readRecord(bytes, at);
    if (read === undefined) return undefined;
    records.push(read.record);
    at = read.end;
  }
  return { records, end: at };
}

/** Parses an OPT record; undefined if its owner is not the root or its options are cut off (RFC 6891 §6.1.2). */
export function readEdns(opt: RawRecord): Edns | undefined {
  if (opt.owner !== '') return undefined;
  const options: EdnsOption[] = [];
  for (let at = 0; at < opt.data.length;) {
    const end = at + 4 + readUint16(opt.data, at + 2);
    if (end > opt.data.length) return undefined;
    options.push({ code: readUint16(opt.data, at), data: opt.data.subarray(at + 4, end) });
    at = end;
  }
  return {
    version: (opt.ttl >>> 16) & 0xff,
    size: opt.class,
    dnssecOk: (opt.ttl & dnssecOkBit) !== 0,
    extendedRcode: opt.ttl >>> 24,
    options,
  };
}
