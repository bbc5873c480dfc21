// A reply before encoding.
import type { RecordSet } from '../../dnswire/data.ts';
import type { RawRecord } from '../../dnswire/record.ts';

/** An element of a section: a set of our zones, or a record of an upstream. */
export type Entry = RecordSet | RawRecord;

/** An extended error (RFC 8914). */
export interface ExtendedError {
  readonly code: number;
  readonly text?: string;
}

export interface Reply {
  readonly rcode: number;
  /** The AA flag. */
  readonly authoritative: boolean;
  readonly answers: readonly Entry[];
  readonly authority: readonly Entry[];
  readonly additional: readonly Entry[];
  /** The AD flag: an upstream validated the signatures. */
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

/** Whether an entry is an upstream record. */
export const isRaw = (entry: Entry): entry is RawRecord => entry.data instanceof Uint8Array;
