// The contract between answer/ and forward/: how the slow path resolves names outside our zones.
import type { Question } from '../dnswire/message.ts';
import type { RawRecord } from '../dnswire/record.ts';
import type { QueryClient } from './prepared.ts';

/** Resolves names outside our zones. Never rejects: a failure is a response code with a `problem`. */
export interface Resolver {
  resolve(question: Question, options: ResolveOptions): Promise<UpstreamAnswer>;
}

export interface ResolveOptions {
  readonly dnssecOk: boolean;
  readonly checkingDisabled: boolean;
  /** The client; absent for queries of the server itself, which follow an alias and have no limits. */
  readonly client?: QueryClient;
  /** The data of the EDNS option `optionCodes.HOPS`, if the query has it. */
  readonly hops?: Uint8Array;
}

/** The result of forwarding a query. */
export interface UpstreamAnswer {
  readonly rcode: number;
  readonly answers: readonly RawRecord[];
  readonly authority: readonly RawRecord[];
  readonly additional: readonly RawRecord[];
  /** The answer is past its TTL and was returned because no upstream answered (RFC 8767). */
  readonly stale?: true;
  /** The upstream validated the answer with DNSSEC. */
  readonly authentic?: true;
  /** The extended error (RFC 8914) of a failure. */
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
