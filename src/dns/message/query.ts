// A query that is fit to be answered.
import { types } from '../../dnswire/codes.ts';
import type { Edns, Header, Question } from '../../dnswire/message.ts';
import { headerBytes, readEdns, readQuestion } from '../../dnswire/message.ts';
import { maxLabelBytes } from '../../dnswire/name.ts';
import type { RawRecord } from '../../dnswire/record.ts';
import { readRecord } from '../../dnswire/record.ts';

export interface Query {
  readonly header: Header;
  readonly question: Question;
  /** The question as it was sent: replies repeat its case (RFC 4343 §4.1). */
  readonly questionBytes: Uint8Array;
  /** The record in the authority section: of an IXFR, what the client has (RFC 1995 §3). */
  readonly authority?: RawRecord;
  readonly edns?: Edns;
}

/** Reads what follows a header that says there is one question; undefined if it is broken. */
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
  // Two are one too many (RFC 6891 §6.1.1).
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

/** A question is repeated as it is and pointed into, so it must hold no pointer itself. */
function isPlain(bytes: Uint8Array, end: number): boolean {
  let at = headerBytes;
  while (at < end - 5) {
    const size = bytes[at] ?? 0;
    if (size > maxLabelBytes) return false;
    at += size + 1;
  }
  return at === end - 5;
}
