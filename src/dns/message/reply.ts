// What a reply says, before it is bytes.
import type { RecordSet } from '../../dnswire/data.ts';
import type { RawRecord } from '../../dnswire/record.ts';

/** What stands in a section: a set of our own zones, or a record that came from elsewhere. */
export type Entry = RecordSet | RawRecord;

/** Why an answer is what it is, for those who ask (RFC 8914). */
export interface ExtendedError {
  readonly code: number;
  readonly text?: string;
}

export interface Reply {
  readonly rcode: number;
  /** We answer for the zone of the name that was asked for. */
  readonly authoritative: boolean;
  readonly answers: readonly Entry[];
  readonly authority: readonly Entry[];
  readonly additional: readonly Entry[];
  /** Upstream has checked the signatures. */
  readonly authentic?: boolean;
  readonly error?: ExtendedError;
}

/** A reply without records. */
export const emptyReply = (rcode: number, error?: ExtendedError): Reply => ({
  rcode,
  authoritative: false,
  answers: [],
  authority: [],
  additional: [],
  ...(error === undefined ? {} : { error }),
});

/** Whether an entry is one record from elsewhere. */
export const isRaw = (entry: Entry): entry is RawRecord => entry.data instanceof Uint8Array;
