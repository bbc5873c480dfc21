// How the slow path asks for names that are not ours, and what it gets: the contract between answer/ and forward/.
import type { Question } from '../dnswire/message.ts';
import type { RawRecord } from '../dnswire/record.ts';
import type { QueryClient } from './prepared.ts';

/** Finds answers to questions that our zones do not answer. Never rejects: a failure is a response code and a `problem`. */
export interface Resolver {
  resolve(question: Question, options: ResolveOptions): Promise<UpstreamAnswer>;
}

export interface ResolveOptions {
  readonly dnssecOk: boolean;
  readonly checkingDisabled: boolean;
  /** Who asks; absent: we ourselves, to follow an alias, and no limit applies. */
  readonly client?: QueryClient;
  /** The data of the EDNS option `optionCodes.TRAIL`, if the question had it. */
  readonly trail?: Uint8Array;
}

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
