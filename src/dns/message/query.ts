// Parses queries.
import { types } from '../../dnswire/codes.ts';
import type { Edns, Header, Question } from '../../dnswire/message.ts';
import { headerBytes, readEdns, readQuestion } from '../../dnswire/message.ts';
import { maxLabelBytes } from '../../dnswire/name.ts';
import type { RawRecord } from '../../dnswire/record.ts';
import { readRecord } from '../../dnswire/record.ts';

export interface Query {
  readonly header: Header;
  readonly question: Question;
  /** The question as received: replies repeat its case (RFC 4343 §4.1). */
  readonly questionBytes: Uint8Array;
  /** The first record of the authority section: the client's SOA in an IXFR (RFC 1995 §3). */
  readonly authority?: RawRecord;
  readonly edns?: Edns;
}

/** Parses the message after a header with one question; undefined if it is malformed. */
export function readQuery(bytes: Uint8Array, header: Header): Query | undefined {
  const read = readQuestion(bytes);
  if (read === undefined || !isPlain(bytes, read.end)) return undefined;
  const records: RawRecord[] = [];
  let at = read.end;
  for (let left = header.answers + header.authorities + header.additionals; left > 0; left--) {
    const record = readRecord(bytes, at);
    if (record === undefined) return undefined;
    records.push(record.record);
    at = record.end;
  }
  const firstAdditional = header.answers + header.authorities;
  const opts = records.slice(firstAdditional).filter(({ type }) => type === types.OPT);
  const edns = opts[0] && readEdns(opts[0]);
  // At most one OPT record (RFC 6891 §6.1.1).
  if (opts.length > 1 || (opts.length === 1 && edns === undefined)) return undefined;
  const authority = records[header.answers];
  return {
    header,
    question: read.question,
    questionBytes: bytes.subarray(headerBytes, read.end),
    ...(authority === undefined || header.authorities === 0 ? {} : { authority }),
    ...(edns === undefined ? {} : { edns }),
  };
}

/** Replies copy the question and point into it, so it must not contain pointers itself. */
function isPlain(bytes: Uint8Array, end: number): boolean {
  let at = headerBytes;
  while (at < end - 5) {
    const size = bytes[at] ?? 0;
    if (size > maxLabelBytes) return false;
    at += size + 1;
  }
  return at === end - 5;
}
