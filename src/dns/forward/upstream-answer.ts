import type { RawRecord } from '../wire/record.ts';

/** What forwarding found for a question. */
export interface UpstreamAnswer {
  readonly rcode: number;
  readonly answers: readonly RawRecord[];
  readonly authority: readonly RawRecord[];
  readonly additional: readonly RawRecord[];
  /** It is older than its TTL allows, given because nothing newer could be had (RFC 8767). */
  readonly stale?: true;
  /** The upstream vouches that DNSSEC proves it. */
  readonly authentic?: true;
  /** Why there is no answer, for an extended error (RFC 8914): its code and a sentence. */
  readonly problem?: Problem;
}

export interface Problem {
  /** One of `extendedErrors`. */
  readonly code: number;
  readonly text: string;
}

/** An answer without records. */
export function emptyAnswer(rcode: number, problem?: Problem): UpstreamAnswer {
  const empty = { rcode, answers: [], authority: [], additional: [] };
  return problem === undefined ? empty : { ...empty, problem };
}
